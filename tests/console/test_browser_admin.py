"""Can the pages of the admin be used by everybody, and does the browser find nothing forbidden in them?

Every model's list, and one row of each: no grave finding of axe-core, no sideways scrolling, no complaint of the
browser (the content policy of the site allows neither inline scripts nor inline styles).
"""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.console.browsing import EVERYBODY, Door, Site
from tests.console.test_browser_access import ASK, AXE, GRAVE, RULES

pytestmark = pytest.mark.browser
THEMES = ("dark", "light")
ALSO = ("/admin/", "/admin/password_change/", "/admin/auth/user/add/", "/admin/advisor_api/policyversion/import/")
ADDED = (
    *("workloads/cluster", "advisor_api/policyversion", "detectors/sitesignature", "advisor_api/apitoken"),
    *("advisor_api/pause", "advisor_api/exclusion", "auth/group", "advisor_api/notificationroute"),
    *("advisor_api/repairsystem", "detectors/attributionprovider"),
)
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def door(browser: Browser, site: Site) -> Iterator[Door]:
    site.tell("everything")
    made = Door(browser, site)
    made.expect_complaints_about("Password forms should have", "Autofocus processing")  # hints, not the policy
    yield made
    assert made.unexpected() == []


@pytest.fixture(scope="module")
def page(door: Door) -> Page:
    return door(EVERYBODY)


@pytest.fixture(scope="module")
def lists(page: Page) -> list[str]:
    page.goto("/admin/")
    found = sorted(set(re.findall(r'href="(/admin/[a-z_]+/[a-z]+/)"', page.content())))
    assert len(found) >= 36
    return found


def findings(page: Page) -> list[str]:
    """What axe-core calls grave. It does not load sheets again: it would do so by an inline style."""
    page.evaluate(f"() => {{ if (!window.axe) {{ {AXE} }} }}")
    said = page.evaluate(ASK.replace("{runOnly", "{preload: false, runOnly"), RULES)
    grave = [found for found in said["violations"] if found["impact"] in GRAVE]
    return [
        f"{found['id']} at {node['target']}: {node['html'][:120]}" for found in grave for node in found["nodes"]
    ]


def look(page: Page, address: str, theme: str) -> list[str]:
    """What is wrong with a page, in one theme, and as narrow as a phone."""
    answer = page.goto(address, wait_until="domcontentloaded")
    wrong = [] if answer and answer.status == 200 else [f"status {answer and answer.status}"]
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]  # one of THEMES
    expect(page.locator("html")).to_have_attribute("data-theme", theme)
    wrong += [f"{theme}: {one}" for one in findings(page)]
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        wider = page.evaluate(WIDER)
        wrong += [f"{wider} px too wide at {width}"] if wider > 0 else []
    return [f"{address} {one}" for one in wrong]


def test_every_list_and_a_row_of_each(page: Page, lists: list[str]) -> None:
    wrong = []
    for number, address in enumerate(lists):
        wrong += look(page, address, THEMES[number % 2])
        row = page.locator(f'#result_list a[href*="{address}"]').first
        if row.count():
            wrong += look(page, str(row.get_attribute("href")), THEMES[(number + 1) % 2])
    assert wrong == []


def test_forms_and_what_belongs_to_no_model(page: Page) -> None:
    addresses = [*ALSO, *(f"/admin/{one}/add/" for one in ADDED)]
    themes = {address: THEMES[number % 2] for number, address in enumerate(addresses)}
    assert [one for address, theme in themes.items() for one in look(page, address, theme)] == []


def test_the_theme_is_that_of_the_console(page: Page) -> None:
    page.emulate_media(color_scheme="light")
    page.goto("/admin/")
    page.get_by_role("button", name="Dark").click()
    page.get_by_role("link", name="Console").click()
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "dark")
    page.goto("/admin/auth/user/")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Light").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")


def test_a_token_is_made_shown_once_and_revoked(door: Door, page: Page) -> None:
    door.expect_complaints_about("400")  # a question that is answered without a reason
    page.goto("/admin/advisor_api/apitoken/add/")
    page.get_by_label("Name").fill("ctl-demo")
    page.get_by_label("Role").select_option("viewer")
    page.get_by_label("demo", exact=True).check()
    page.get_by_role("button", name="Save", exact=True).click()
    secret = page.get_by_role("group", name="The token").inner_text()
    assert secret.startswith("rekindle_")
    page.get_by_role("link", name="It is copied").click()
    expect(page.locator("#result_list")).to_contain_text("works")
    assert secret not in page.content()
    page.get_by_role("link", name="ctl-demo").click()
    page.get_by_role("link", name="Revoke…").click()
    expect(page.locator("main")).to_contain_text("whoever asks with one of these is refused")
    page.get_by_role("button", name="Revoke").click()
    expect(page.locator(".errors")).to_contain_text("Say why")
    page.get_by_label("Reason").fill("It was only tried")
    page.get_by_role("button", name="Revoke").click()
    expect(page.locator(".messagelist")).to_contain_text("was revoked")
    page.goto("/audit?type=token&cluster=demo")
    expect(page.locator("main")).to_contain_text("It was only tried")


def test_a_cluster_leads_to_its_switch(page: Page) -> None:
    page.goto("/admin/workloads/cluster/")
    page.get_by_role("link", name="demo", exact=True).first.click()
    assert page.locator("[name=mode]").count() == 0
    page.get_by_role("link", name="Switched in the console").click()
    expect(page).to_have_url(re.compile("/clusters/demo/mode$"))

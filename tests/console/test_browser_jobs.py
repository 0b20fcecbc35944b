"""Can a person find jobs, keep a view of them, and hold what comes next, in a real browser and without scripts?"""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.console.browsing import Door, Site

pytestmark = pytest.mark.browser

NAMES = ("/", "/jobs?user=mallory", "/views", "/views/new?user=mallory")


@pytest.fixture(scope="module")
def told(site: Site) -> None:
    """One step that comes by itself."""
    site.tell("to_come")


def steps(page: Page) -> object:
    return page.locator("#panel-coming_steps li", has_text="500-0")


def test_a_slash_leads_to_the_search_and_words_become_chips(enter: Door) -> None:
    page = enter("viewer")
    page.goto("/jobs")
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type("user:mallory probe")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/jobs\?user=mallory&q=probe$"))
    expect(page.locator("#panel-job_table tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Take away the filter text probe").click()
    expect(page).to_have_url(re.compile(r"/jobs\?user=mallory$"))
    page.go_back()
    expect(page.locator("#q")).to_have_value("probe")


def test_a_column_is_sorted_and_turned_round(enter: Door) -> None:
    page = enter("viewer")
    page.goto("/jobs?state=every")
    head = page.locator("th", has_text="Name")
    head.get_by_role("link").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    names = page.locator("td.name").all_inner_texts()
    assert names == sorted(names)
    head.get_by_role("link").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    assert page.locator("td.name").all_inner_texts() == names[::-1]


def test_the_table_is_a_download(enter: Door) -> None:
    page = enter("viewer")
    page.goto("/jobs?user=mallory")
    with page.expect_download() as coming:
        page.get_by_role("link", name="CSV", exact=True).click()
    text = coming.value.path().read_text()
    assert text.splitlines()[0].startswith("cluster,job,attempts")
    assert "mallory" in text and "trainer" not in text


@pytest.mark.parametrize("scripts", [True, False])
def test_a_view_is_kept_renamed_and_deleted(enter: Door, scripts: bool) -> None:
    page = enter("operator", java_script_enabled=scripts)
    page.goto("/jobs?state=failed")
    page.get_by_role("link", name="Save as a view…").click()
    page.get_by_label("Name").fill("<b>night</b>")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("<b>night</b>")
    page.get_by_role("link", name="Manage views").click()
    page.get_by_role("link", name="Rename, share or delete <b>night</b>…").click()
    page.get_by_label("Name").fill("day")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").filter(has_text="The view day is changed.")).to_be_visible()
    page.get_by_role("link", name="Rename, share or delete day…").click()
    page.get_by_role("button", name="Delete the view").click()
    expect(page.get_by_role("status").filter(has_text="The view day is deleted.")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False])
def test_the_next_step_is_held_and_let_go_on(told: None, enter: Door, scripts: bool) -> None:
    page = enter("operator", java_script_enabled=scripts)
    expect(steps(page)).to_contain_text("Put 500-0 back into the queue")
    steps(page).get_by_role("link", name="Hold…").click()
    page.get_by_label("Reason").fill("its owner debugs it")
    page.get_by_role("button", name="Hold it").click()
    expect(page.get_by_role("status").filter(has_text="500-0 is held until")).to_be_visible()
    expect(steps(page)).to_contain_text("operator: its owner debugs it")
    page.get_by_role("link", name="Undo…").click()
    page.get_by_label("Reason").fill("done")
    page.get_by_role("button", name="End the pause").click()
    page.goto("/")
    expect(steps(page)).to_contain_text("Put 500-0 back into the queue")
    expect(steps(page)).not_to_contain_text("its owner debugs it")


def test_the_countdown_counts(told: None, enter: Door) -> None:
    page = enter("viewer")
    place = steps(page).locator(".countdown")
    first = place.inner_text()
    assert re.fullmatch(r"in (\d+ min )?\d+ s|in \d+ min|now", first)
    if first != "now":
        expect(place).not_to_have_text(first)


def test_of_two_operators_the_second_is_told(told: None, enter: Door) -> None:
    enter.expect_complaints_about("409")
    one, two = enter("operator"), enter("admin", java_script_enabled=False)  # with scripts it is told at once
    for page in (one, two):
        steps(page).get_by_role("link", name="Hold…").click()
        page.get_by_label("Reason").fill("hold it")
    one.get_by_role("button", name="Hold it").click()
    expect(one.get_by_role("status").filter(has_text="500-0 is held until")).to_be_visible()
    two.get_by_role("button", name="Hold it").click()
    expect(two.locator(".alert-danger")).to_be_visible()
    expect(two.get_by_role("status").filter(has_text="Held already until")).to_be_visible()
    one.get_by_role("link", name="Undo…").click()
    one.get_by_label("Reason").fill("done")
    one.get_by_role("button", name="End the pause").click()


@pytest.mark.parametrize("width", [1280, 390])
def test_these_pages_fit(told: None, enter: Door, width: int) -> None:
    page = enter("operator", width)
    for address in NAMES:
        page.goto(address)
        too_wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert too_wide <= 0, address
        assert page.locator("h1").count() == 1, address

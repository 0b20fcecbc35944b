"""Can every page be used by everybody: with a screen reader, with weak eyes, in both themes?

The pages are read off `console/urls.py`: one that cannot be opened fails. axe-core looks for what breaks WCAG 2.1
AA.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from benchmarks.console_addresses import LEFT_OUT
from console.urls import urlpatterns
from tests.console.browsing import EVERYBODY, Door, Site

pytestmark = pytest.mark.browser

AXE = (Path(__file__).resolve().parents[1] / "vendor" / "axe-core" / "axe.min.js").read_text()
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
ASK = """(tags) => axe.run(document, {runOnly: tags, resultTypes: ['violations'],
  rules: {'label-content-name-mismatch': {enabled: false}}})"""
"""Without one rule that axe-core itself calls experimental: the letter in a mark of the timeline is a sign."""
GRAVE = {"serious", "critical"}
NO_PAGE = {"panel", "cluster-panel", "job-panel", "node-panel", "job-curves"}  # pieces of pages
NAMES = sorted({str(pattern.name) for pattern in urlpatterns} - set(LEFT_OUT) - NO_PAGE)
THEMES = ("dark", "light")
TOO_WIDE = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const found = [...document.querySelectorAll("main *")].filter((one) =>
    one.getBoundingClientRect().right > width + 1 && !one.closest(".table-responsive, .lanes-scroll, pre"));
  return ["the page", ...found.slice(0, 3).map((one) => one.outerHTML.slice(0, 120))];
}"""


@pytest.fixture(scope="module")
def door(addresses: dict[str, str], browser: Browser, site: Site) -> Iterator[Door]:
    made = Door(browser, site)
    yield made
    assert made.unexpected() == []


@pytest.fixture(scope="module")
def page(door: Door) -> Page:
    """One window for all pages: to sign in costs more than to look."""
    return door(EVERYBODY)


@pytest.fixture(scope="module")
def phone(door: Door) -> Page:
    return door(EVERYBODY, 390)


def findings(page: Page) -> list[str]:
    """What axe-core calls grave: rule, where, and what it saw."""
    page.evaluate(f"() => {{ if (!window.axe) {{ {AXE} }} }}")
    said = page.evaluate(ASK, RULES)
    return [
        f"{found['id']} at {node['target']}: {node['failureSummary']}"
        for found in said["violations"]
        if found["impact"] in GRAVE
        for node in found["nodes"][:3]
    ]


def in_both_themes(page: Page) -> dict[str, list[str]]:
    found = {}
    for theme in THEMES:
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        expect(page.locator("html")).to_have_attribute("data-bs-theme", theme)
        found[theme] = findings(page)
    return {theme: some for theme, some in found.items() if some}


@pytest.mark.parametrize("name", NAMES)
def test_no_grave_finding(name: str, addresses: dict[str, str], page: Page) -> None:
    answer = page.goto(addresses[name], wait_until="domcontentloaded")
    assert answer and answer.status == 200
    page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")
    assert in_both_themes(page) == {}
    too_wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert too_wide <= 0
    assert page.locator("h1").count() == 1


@pytest.mark.parametrize("name", NAMES)
def test_it_fits_on_a_phone(name: str, addresses: dict[str, str], phone: Page) -> None:
    phone.goto(addresses[name], wait_until="domcontentloaded")
    assert phone.evaluate(TOO_WIDE) == []


def test_the_door_and_the_pages_that_say_no(addresses: dict[str, str], enter: Door) -> None:
    enter.expect_complaints_about("404", "410", "403")
    stranger = enter("viewer")
    for address in ("/nothing", addresses["cluster-mode"]):
        stranger.goto(address)
        assert in_both_themes(stranger) == {}, address
    stranger.get_by_role("button", name="Sign out").click()
    for address in ("/sign-in", "/sign-in/once/nonsense"):
        stranger.goto(address)
        assert in_both_themes(stranger) == {}, address


def test_the_list_of_keys(page: Page) -> None:
    page.keyboard.press("?")
    assert in_both_themes(page) == {}


def test_what_is_grave_is_found(page: Page) -> None:
    page.goto("/jobs")
    page.evaluate("document.querySelector('main input').removeAttribute('id')")
    page.evaluate("document.querySelector('main h1').outerHTML = '<img src=data:,>'")
    assert len(findings(page)) >= 2

"""How do people decide in a real browser: two at once, without the right, too late, on a phone, by keys alone?"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.console.browsing import EVERYBODY, Door, Site

pytestmark = pytest.mark.browser

TOO_SMALL = """() => [...document.querySelectorAll(
  "main :is(input:not([type=hidden]), select, textarea, button, a.btn, summary, .page-link)")].filter((one) => {
  const box = one.getBoundingClientRect();
  return box.width && getComputedStyle(one).visibility === "visible" && (box.width < 24 || box.height < 24);
}).map((one) => `${one.outerHTML.slice(0, 90)} ${one.getBoundingClientRect().width}x${
  one.getBoundingClientRect().height}`)"""
PAGES = (
    "approvals", "approval", "approvals-together", "notifications", "notification", "cluster-mode", "step-hold",
    "incident", "incident-join", "incident-split", "silences", "silence-new", "job", "job-log", "log-copy",
)  # fmt: skip


@pytest.fixture(scope="module")
def windows(addresses: dict[str, str], browser: Browser, site: Site) -> Iterator[dict[int, Page]]:
    door = Door(browser, site)
    yield {width: door(EVERYBODY, width) for width in (1280, 390)}
    assert door.unexpected() == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", PAGES)
def test_what_is_clicked_is_24_pixels_wide_and_high(
    name: str, width: int, addresses: dict[str, str], windows: dict[int, Page]
) -> None:
    windows[width].goto(addresses[name])
    assert windows[width].evaluate(TOO_SMALL) == []


def test_of_two_who_decide_at_once_the_second_is_told(addresses: dict[str, str], enter: Door) -> None:
    enter.expect_complaints_about("409")
    one, two = enter("operator"), enter("admin", 390)
    for page in (one, two):
        page.goto("/approvals")
        page.get_by_role("link", name="Decide…").click()
        page.get_by_label("Reason, for the audit trail").fill("seen by me")
    one.get_by_role("button", name="Approve: restart").click()
    expect(one.locator("main")).to_contain_text("You approved the advice on 99-0.")
    two.get_by_role("button", name="Reject: leave it alone").click(force=True)
    expect(two.locator("main .alert-danger, main .stands")).not_to_have_count(0)
    expect(two.locator("main")).not_to_contain_text("You rejected")
    two.goto("/approvals")
    expect(two.locator("main")).to_contain_text("Nothing waits for approval.")


def test_the_mode_is_switched_by_keys_alone_and_the_last_click_says_what_it_does(enter: Door) -> None:
    page = enter("admin", 390)
    page.goto("/clusters/demo-monitor/mode")
    page.get_by_label("approve").focus()
    page.keyboard.press("Space")
    page.get_by_label("Reason, for the audit trail").focus()
    page.keyboard.type("a week was enough")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Switch demo-monitor from monitor to approve?")
    last = page.get_by_role("button", name="Switch to approve mode")
    last.focus()
    assert last.evaluate(
        "(one) => getComputedStyle(one).boxShadow !== 'none' || getComputedStyle(one).outlineStyle"
    )
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("demo-monitor is in approve mode now.")


def test_who_may_not_decide_reads_who_may(enter: Door) -> None:
    enter.expect_complaints_about("403")
    page = enter("viewer", java_script_enabled=False)
    page.goto("/approvals")
    expect(page.get_by_role("link", name="Decide…")).to_have_count(0)
    page.goto("/clusters/demo/mode")
    expect(page.locator("main")).to_contain_text("Ask an administrator of this site")

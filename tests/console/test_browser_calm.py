"""Does a page change without moving what a person is at, and does it miss or double nothing?"""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.console.browsing import Door, Site, live

pytestmark = pytest.mark.browser

JOB = "/jobs/demo/4711/0"
EVENTS = "#panel-newest_events"
HALF_A_ROW = 12.0  # pixels


@pytest.fixture
def overview(enter: Door) -> Page:
    page = enter("viewer")
    live(page)
    page.wait_for_timeout(1500)  # until what was asked for on opening has come
    return page


def top_of(page: Page, row: str) -> float:
    box = page.locator(f"#{row}").bounding_box()
    assert box
    return box["y"]


def first_row(page: Page) -> str:
    return page.locator(f"{EVENTS} li").first.get_attribute("id") or ""


def news(page: Page) -> object:
    return page.locator(".panel", has=page.locator(EVENTS)).locator(".news button")


def test_new_rows_wait_under_the_pointer_and_are_announced(site: Site, overview: Page) -> None:
    row = first_row(overview)
    overview.locator(f"#{row}").hover()
    before = top_of(overview, row)
    for number in range(3):
        site.tell(f"event advice_state Waits under the pointer {number}")
    expect(news(overview)).to_have_text(re.compile(r"3 new events – show"))
    assert abs(top_of(overview, row) - before) < HALF_A_ROW
    expect(overview.locator(EVENTS)).not_to_contain_text("Waits under the pointer")
    news(overview).click()
    for number in range(3):
        expect(overview.locator(EVENTS).get_by_text(f"Waits under the pointer {number}")).to_have_count(1)
    expect(news(overview)).to_have_count(0)


def test_what_stands_there_is_brought_up_to_date_all_the_same(site: Site, enter: Door) -> None:
    page = enter("viewer")
    page.goto(JOB)
    live(page)
    page.locator("#panel-job_summary").hover()
    site.tell("step 4343")
    expect(page.locator("#panel-job_summary")).to_contain_text("4343")


def test_focus_selection_scroll_and_what_was_opened_stay(site: Site, enter: Door) -> None:
    page = enter("viewer")
    page.goto(JOB)
    live(page)
    page.wait_for_timeout(1500)
    page.locator("#rules-1 summary").click()
    row = page.locator("#panel-job_events li").nth(2)
    row.scroll_into_view_if_needed()
    page.evaluate(
        """(row) => { row.tabIndex = -1; row.focus();
           document.getSelection().selectAllChildren(row.querySelector('.sentence')); window.kept = row; }""",
        row.element_handle(),
    )
    chosen = page.evaluate("document.getSelection().toString()")
    assert chosen
    where = page.evaluate("[scrollY, kept.getBoundingClientRect().top]")
    site.tell("event advice_state While something is chosen")
    expect(page.locator(".news button")).to_be_visible()
    assert page.evaluate("[scrollY, kept.getBoundingClientRect().top]") == where
    assert page.evaluate("document.getSelection().toString()") == chosen
    assert page.evaluate("document.activeElement === kept && kept.isConnected")
    page.keyboard.press("n")
    expect(page.locator("#panel-job_events")).to_contain_text("While something is chosen")
    assert page.evaluate("document.getSelection().toString()") == chosen
    assert page.evaluate("kept.isConnected")
    assert page.locator("#rules-1").get_attribute("open") is not None


def test_where_nobody_is_they_come_by_themselves(site: Site, overview: Page) -> None:
    overview.mouse.move(5, 5)
    overview.evaluate("document.activeElement.blur()")
    site.tell("event advice_state Nobody is here")
    expect(overview.locator(EVENTS)).to_contain_text("Nobody is here")
    expect(news(overview)).to_have_count(0)


def test_an_announcement_whose_panel_begins_above_is_in_sight(site: Site, overview: Page) -> None:
    last = overview.locator(f"{EVENTS} li").last
    last.scroll_into_view_if_needed()
    last.hover()
    site.tell("event advice_state Far above")
    expect(news(overview)).to_be_in_viewport()


def test_every_panel_says_of_when_it_is(site: Site, overview: Page) -> None:
    place = overview.locator(".panel", has=overview.locator(EVENTS)).locator(".as-of")
    before = place.inner_text()
    assert re.fullmatch(r"as of \d\d:\d\d:\d\d UTC", before)
    overview.wait_for_timeout(1100)
    site.tell("event advice_state Later")
    expect(place).not_to_have_text(before)
    overview.evaluate(
        "document.querySelectorAll('.as-of').forEach((one) => { one.dataset.at = Date.now() - 100000; })"
    )
    expect(place).to_have_attribute("data-late", "")


@pytest.fixture
def down(site: Site) -> Iterator[Site]:
    yield site
    if not site.up:
        site.start()


def test_a_restarted_server_is_caught_up_with_once(down: Site, enter: Door) -> None:
    enter.expect_complaints_about("ERR_CONNECTION", "WebSocket", "net::")
    page = enter("viewer")
    page.goto(JOB)
    live(page)
    down.stop()
    for number in range(5):
        down.tell(f"event advice_state Said in the dark {number}")
    down.start()
    live(page)
    down.tell("event advice_state Said in the light")
    events = page.locator("#panel-job_events")
    expect(events).to_contain_text("Said in the light")
    for words in ("Said in the light", *(f"Said in the dark {number}" for number in range(5))):
        expect(events.get_by_text(words, exact=True)).to_have_count(1)


def test_a_machine_that_slept_comes_again_by_itself(site: Site, enter: Door) -> None:
    page = enter("viewer")
    page.clock.install()
    page.goto(JOB)
    live(page)
    sockets: list[str] = []
    page.on("websocket", lambda socket: sockets.append(socket.url))
    page.wait_for_timeout(500)
    page.clock.fast_forward("08:00:00")
    live(page)
    page.wait_for_timeout(1000)
    assert len(sockets) == 1
    site.tell("event advice_state After the night")
    expect(page.locator("#panel-job_events")).to_contain_text("After the night")


def test_a_socket_that_says_nothing_is_given_up(site: Site, enter: Door) -> None:
    page = enter("viewer")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/panels?" in request.url else None)
    page.clock.install()
    page.route_web_socket("**/ws/live**", lambda socket: socket.send('{"topics": [], "last": "0", "spread": 0}'))
    page.goto(JOB)
    live(page)
    for _ in range(12):
        page.clock.run_for(10_000)
    expect(page.locator("#live-sign")).to_have_attribute("data-state", "live", timeout=60_000)
    assert len(asked) >= 2


def test_who_is_shown_out_is_led_to_the_door_and_back(site: Site, enter: Door) -> None:
    enter.expect_complaints_about("401")
    page = enter("viewer")
    page.goto(f"{JOB}?x=1")
    live(page)
    site.tell("end")
    live(page, "out")
    page.get_by_role("link", name="sign in again").click()
    page.get_by_label("User name").fill("viewer")
    page.get_by_label("Password").fill("a long password for viewer")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"**{JOB}?x=1")


def test_a_form_sent_after_the_session_has_ended_changes_nothing(site: Site, enter: Door) -> None:
    enter.expect_complaints_about("401")
    page = enter("admin")
    page.goto("/clusters/demo-monitor/mode")
    page.get_by_label("action").check()
    page.get_by_label("Reason").fill("long thought about")
    site.tell("end")
    page.get_by_role("button", name="See what would change").click()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    again = enter("admin")
    again.goto("/clusters/demo-monitor")
    expect(again.locator("#panel-cluster_health .badge").first).to_contain_text("Monitor")

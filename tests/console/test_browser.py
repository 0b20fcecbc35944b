"""Does the console work in a real browser: live, safe, readable, with and without the socket?"""

import pytest
from playwright.sync_api import Route, expect

from tests.console.browsing import Door, Site, live

pytestmark = pytest.mark.browser

JOB = "/jobs/demo/4711/0"
PAGES = (
    "/",
    "/jobs",
    JOB,
    "/jobs/demo-monitor/815/0",
    "/jobs/demo/4712/0",
    "/clusters/demo",
    "/clusters/far-away",
    "/clusters/demo-monitor/mode",
    "/clusters/demo/signals",
    "/approvals",
    "/api",
)


def test_what_happens_shows_on_an_open_page(site: Site, enter: Door) -> None:
    page = enter("viewer")
    page.goto(JOB)
    live(page)
    page.evaluate("window.sameDocument = true")
    page.locator("#rules-1 summary").click()
    marks = page.locator("#panel-job_lanes a.stamp").count()
    site.tell("event training_completed 4711-1 has completed all of its steps")
    expect(page.locator("#panel-job_events")).to_contain_text("4711-1 has completed all of its steps")
    expect(page.locator("#panel-job_lanes a.stamp")).to_have_count(marks + 1)
    site.tell("step 4242")
    expect(page.locator("#panel-job_summary")).to_contain_text("4242")
    assert page.evaluate("window.sameDocument"), "without a reload"
    assert page.locator("#rules-1").get_attribute("open") is not None, "what was opened stays open"


def test_the_overview_of_another_person_hears_of_it_too(site: Site, enter: Door) -> None:
    one, two = enter("viewer"), enter("operator")
    live(one)
    live(two)
    site.tell("event recovery_failed The recovery of 4711 has failed")
    for page in (one, two):
        expect(page.locator("#panel-newest_events")).to_contain_text("The recovery of 4711 has failed")


def test_a_lost_socket_is_said_and_nothing_is_missed(site: Site, enter: Door) -> None:
    enter.expect_complaints_about("ERR_CONNECTION", "WebSocket", "htmx:")
    page = enter("viewer")
    page.goto(JOB)
    live(page)
    site.stop()
    try:
        live(page, "reconnecting")
        site.tell("event advice_state Said while nobody could hear")
        site.tell("step 999")
    finally:
        site.start()
    live(page)
    expect(page.locator("#panel-job_events")).to_contain_text("Said while nobody could hear")
    expect(page.locator("#panel-job_summary")).to_contain_text("999")


def test_without_the_socket_the_panels_poll(site: Site, enter: Door) -> None:
    page = enter("viewer")
    page.route_web_socket("**/ws/live**", lambda socket: socket.close(code=1011))
    page.goto(JOB)
    live(page, "polling")
    site.tell("event advice_state Found by polling")
    expect(page.locator("#panel-job_events")).to_contain_text("Found by polling", timeout=60_000)


def test_who_is_signed_out_elsewhere_is_told(site: Site, enter: Door) -> None:
    enter.expect_complaints_about("401", "htmx:")
    page = enter("viewer")
    live(page)
    page.wait_for_timeout(1500)  # until what was asked for before the end has been answered
    before = page.locator("#panel-clusters").inner_text()
    site.tell("end")
    site.tell("event advice_state Not for strangers")
    live(page, "out")
    assert page.locator("#panel-clusters").inner_text().partition("\n")[0] == before.partition("\n")[0]
    assert "Not for strangers" not in page.content()


@pytest.mark.parametrize("width", [1280, 400])
def test_every_page_fits_and_complains_about_nothing(width: int, site: Site, enter: Door) -> None:
    page = enter("admin", width)
    for address in PAGES:
        page.goto(address)
        too_wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert too_wide <= 0, address
        assert page.locator("h1").count() == 1, address
        assert page.locator("main input:visible:not([id])").count() == 0, address


def test_every_request_goes_to_the_site_itself(site: Site, enter: Door) -> None:
    page = enter("viewer")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for address in PAGES[:3]:
        page.goto(address)
    assert len(asked) > 10
    assert [url for url in asked if not url.startswith((site.address, "data:"))] == []


def test_dark_and_light_follow_the_system_until_the_person_chooses(site: Site, enter: Door) -> None:
    page = enter("viewer", color_scheme="dark")
    root = page.locator("html")
    expect(root).to_have_attribute("data-bs-theme", "dark")
    page.get_by_role("button", name="Switch to light colours").click()
    expect(root).to_have_attribute("data-bs-theme", "light")
    page.goto("/jobs")
    expect(root).to_have_attribute("data-bs-theme", "light")
    page.get_by_role("button", name="Switch to dark colours").click()
    expect(root).to_have_attribute("data-bs-theme", "dark")
    page.emulate_media(color_scheme="light")
    expect(root).to_have_attribute("data-bs-theme", "light")


def test_a_mode_is_switched_by_hand_and_another_page_of_it_is_stale(site: Site, enter: Door) -> None:
    enter.expect_complaints_about("409")
    page, other = enter("admin"), enter("admin", java_script_enabled=False)  # with scripts it would be told at once
    other.goto("/clusters/demo-monitor/mode")
    page.goto("/clusters/demo-monitor")
    page.get_by_role("link", name="Switch mode…").click()
    page.get_by_label("approve").check()
    page.get_by_label("Reason").fill("a week without a wrong advice")
    page.get_by_role("button", name="See what would change").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Switch demo-monitor from monitor to approve?")
    page.get_by_role("button", name="Switch to approve mode").click()
    expect(page.get_by_role("status").filter(has_text="is in approve mode now")).to_be_visible()
    other.get_by_label("action").check()
    other.get_by_label("Reason").fill("did not look")
    other.get_by_role("button", name="See what would change").click()
    expect(other.locator(".alert-danger")).to_contain_text("Nothing was changed by you")


def test_by_keyboard_one_comes_from_the_list_to_the_mark(site: Site, enter: Door) -> None:
    page = enter("viewer")
    page.goto(JOB)
    live(page)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    mark = page.locator("#panel-job_lanes a.stamp").first
    mark.focus()
    page.wait_for_function("scrollY > 0")  # a hurried hand goes on before the page has come to the mark
    page.keyboard.press("Enter")
    anchor = mark.get_attribute("href") or ""
    assert page.url.endswith(anchor)
    expect(page.locator(anchor)).to_be_in_viewport()


def test_without_javascript_everything_can_be_read(site: Site, enter: Door) -> None:
    page = enter("viewer", java_script_enabled=False)
    for address in PAGES[:6]:
        page.goto(address)
        assert page.locator("main .panel").count() >= 1, address
    page.goto(JOB)
    expect(page.locator("#live-sign")).to_contain_text("as of")
    expect(page.locator("#panel-job_events")).to_contain_text("went beyond step 524")


def test_a_look_at_the_sources_shows_that_it_goes_on_and_then_its_report(site: Site, enter: Door) -> None:
    page = enter("viewer")
    page.goto("/clusters/demo")
    held: list[Route] = []
    page.route("**/signals/report", lambda route: held.append(route))  # noqa: PLW0108  # it must be a plain function
    page.get_by_role("link", name="Check what they give the detectors").click()
    expect(page.locator("#signals")).to_contain_text("Looking at the sources")
    for _tick in range(1000):
        if held:
            break
        page.wait_for_timeout(50)
    held[0].continue_()
    expect(page.locator("#signals .panel").first).to_contain_text("scheduler", timeout=60_000)
    expect(page.locator("#signals")).not_to_contain_text("Looking at the sources")
    expect(page.get_by_role("link", name="4711-1")).to_be_visible()


@pytest.mark.parametrize("fails", ["abort", "500"])
def test_a_report_that_does_not_come_says_so(site: Site, enter: Door, fails: str) -> None:
    enter.expect_complaints_about("500", "ERR_FAILED", "htmx")
    page = enter("viewer")
    page.route(
        "**/signals/report",
        lambda route: route.abort() if fails == "abort" else route.fulfill(status=500, body="<b>no</b>"),
    )
    page.goto("/clusters/demo/signals")
    expect(page.locator("#signals")).to_contain_text("The report did not come")
    page.unroute("**/signals/report")
    page.get_by_role("link", name="Look again").click()
    expect(page.locator("#signals .panel").first).to_be_visible(timeout=60_000)


def test_without_javascript_the_report_is_one_link_away(site: Site, enter: Door) -> None:
    page = enter("viewer", java_script_enabled=False)
    page.goto("/clusters/demo/signals")
    page.get_by_role("link", name="wait for the report").click()
    expect(page.locator("#signals .panel").first).to_contain_text("scheduler")

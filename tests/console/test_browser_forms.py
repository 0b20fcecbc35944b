"""Is a person told at an open form, in a real browser, that somebody else was first, and stays what was typed?"""

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.console.browsing import EVERYBODY, Door, Site, live

pytestmark = pytest.mark.browser
POLLED = 60_000  # a page without a socket asks every 15 s
SWITCH = re.compile("Switch to .* mode")
REASON = "Reason, for the audit trail"

NOTED = """() => {
  const place = document.querySelector(".stands");
  new MutationObserver(() => sessionStorage.setItem("seen", place.textContent)).observe(place, {childList: true});
}"""


def said(page: Page) -> Locator:
    return page.locator(".stands", has_text="after you opened this page")


def send(page: Page, button: str, reason: str = "ticket 1") -> None:
    page.get_by_label(REASON).fill(reason)
    page.get_by_role("button", name=button).click()


def open_at(page: Page, address: str) -> Page:
    """The form, whose page has told that it hears."""
    with page.expect_response(lambda answer: "/forms/still" in answer.url and answer.status == 204):
        page.goto(address)
    expect(page.locator(".stands").first).to_have_text("")
    return page


def pause(page: Page, user: str) -> None:
    page.goto("/clusters/demo-monitor/pause")
    page.get_by_label("What", exact=True).select_option("user")
    page.get_by_label("Its name, or the job's number").fill(user)
    send(page, "See what that means")
    page.get_by_role("button", name="Pause it").click()
    expect(page.locator("main")).to_contain_text("Paused until")


def switch(page: Page) -> None:
    page.goto("/clusters/demo-monitor/mode")
    page.locator("input[name=mode]:enabled").first.check()
    send(page, "See what would change")
    page.get_by_role("button", name=SWITCH).click()
    expect(page.locator("main")).to_contain_text("mode now")


def leave_out(node: str) -> Callable[[Page], None]:
    def do(page: Page) -> None:
        page.goto(f"/clusters/demo-monitor/exclude/{node}")
        if page.locator("#understood").count():
            page.locator("#understood").check()
        send(page, f"Leave {node} out")
        expect(page.locator("main")).to_contain_text("is left out")

    return do


def acknowledge(page: Page) -> None:
    page.goto("/incidents")
    page.get_by_role("link", name="Storage home is in trouble").click()
    page.get_by_role("link", name="I am at it…").click()
    send(page, "I am at it")
    expect(page.locator("main")).to_contain_text("You are at it")


def test_two_at_one_mode_the_second_is_told_and_loses_nothing(
    addresses: dict[str, str], site: Site, enter: Door
) -> None:
    one, two = enter(EVERYBODY), enter("admin")
    open_at(one, "/clusters/demo-monitor/mode")
    one.get_by_label(REASON).fill("a week's worth of advice was right")
    one.locator("input[name=mode]:enabled").first.check()
    switch(two)
    expect(said(one)).to_contain_text("The mode of demo-monitor was switched by admin at ")
    expect(said(one)).to_have_role("alert")
    button = one.get_by_role("button", name="See what would change")
    expect(button).to_have_attribute("aria-disabled", "true")
    one.get_by_label(REASON).press("Enter")
    assert one.evaluate("document.activeElement.textContent") == "Open it again"
    one.keyboard.press("Enter")
    expect(one.locator(".stands")).to_have_text("")
    expect(one.get_by_label(REASON)).to_have_value("a week's worth of advice was right")
    one.locator("input[name=mode]:enabled").first.check()
    one.get_by_role("button", name="See what would change").click()
    one.get_by_role("button", name=SWITCH).click()
    expect(one.locator("main")).to_contain_text("mode now")


def test_whoever_would_approve_is_told_of_a_pause_and_may_still_reject(
    addresses: dict[str, str], enter: Door
) -> None:
    one, two = enter(EVERYBODY), enter("admin")
    enter.expect_complaints_about("409")  # what is refused
    open_at(one, addresses["approval"])
    one.get_by_label(REASON).fill("f02 is really gone")
    two.goto("/clusters/far-away/pause")
    send(two, "See what that means", "storage moves")
    two.get_by_role("button", name="Pause it").click()
    expect(said(one)).to_contain_text("Rekindle was paused on all of far-away by admin at ")
    expect(said(one)).to_contain_text("A yes on 99-0 would be refused now: far-away is paused until")
    one.get_by_role("button", name="Approve: restart").click()
    expect(one.locator("main")).to_contain_text("A yes would do nothing: far-away is paused until")
    expect(one.locator("main")).to_contain_text("You cannot approve it now")
    expect(one.get_by_label(REASON)).to_have_value("f02 is really gone")
    two.get_by_role("link", name="End it…").first.click()
    send(two, "End the pause")
    expect(two.locator("main")).not_to_contain_text("Paused until")


def test_a_confirmation_is_told_too_and_leads_back_with_what_was_typed(
    addresses: dict[str, str], enter: Door
) -> None:
    one, two = enter(EVERYBODY), enter("admin")
    one.goto("/clusters/demo-monitor/pause")
    one.get_by_label("What", exact=True).select_option("user")
    one.get_by_label("Its name, or the job's number").fill("bob")
    send(one, "See what that means", "the storage is moved tonight")
    expect(one.get_by_role("button", name="Pause it")).to_be_visible()
    pause(two, "carol")
    expect(said(one)).to_contain_text("demo-monitor has another pause by admin at ")
    one.get_by_role("link", name="Open it again").click()
    expect(one.get_by_label(REASON)).to_have_value("the storage is moved tonight")
    expect(one.get_by_label("Its name, or the job's number")).to_have_value("bob")
    send(one, "See what that means", "the storage is moved tonight")
    one.get_by_role("button", name="Pause it").click()
    expect(one.locator("main")).to_contain_text("Paused until")


def test_a_node_and_an_incident_are_told_and_other_forms_are_not(
    addresses: dict[str, str], site: Site, enter: Door
) -> None:
    site.tell("incidents")
    one, two = enter(EVERYBODY), enter("admin")
    windows = [one, one.context.new_page(), one.context.new_page()]
    node, incident, mode = windows
    open_at(node, "/clusters/demo-monitor/exclude/m01")
    one.context.new_page().close()
    incident.goto("/incidents")
    incident.get_by_role("link", name="Storage home is in trouble").click()
    open_at(incident, f"{incident.url}/acknowledge")
    open_at(mode, "/clusters/demo-monitor/mode")
    leave_out("m01")(two)
    expect(said(node)).to_contain_text("m01 was left out by admin at ")
    acknowledge(two)
    expect(said(incident)).to_contain_text("The incident was changed by admin at ")
    pause(two, "dora")
    mode.wait_for_timeout(1500)
    expect(mode.locator(".stands")).to_have_text("")
    expect(mode.get_by_role("button", name="See what would change")).not_to_have_attribute("aria-disabled", "true")


def test_what_one_does_oneself_is_not_told(addresses: dict[str, str], enter: Door) -> None:
    one = enter(EVERYBODY)
    open_at(one, "/clusters/demo-monitor/mode")
    one.evaluate(NOTED)
    switch(one)
    assert one.evaluate("sessionStorage.getItem('seen')") is None


def test_a_form_that_was_cut_off_is_told_when_it_comes_back(addresses: dict[str, str], enter: Door) -> None:
    enter.expect_complaints_about("net::ERR_INTERNET_DISCONNECTED", "WebSocket")
    one, two = enter(EVERYBODY), enter("admin")
    open_at(one, "/clusters/demo-monitor/mode")
    one.get_by_label(REASON).fill("typed before")
    one.context.set_offline(True)
    switch(two)
    one.wait_for_timeout(500)
    expect(one.locator(".stands")).to_have_text("")
    one.context.set_offline(False)
    expect(said(one)).to_contain_text("was switched by admin")


def test_without_a_socket_it_is_told_by_the_next_question(addresses: dict[str, str], enter: Door) -> None:
    one, two = enter(EVERYBODY), enter("admin")
    one.route_web_socket("**/ws/live**", lambda socket: socket.close(code=4400))
    one.clock.install()
    one.goto("/clusters/demo-monitor/mode")
    switch(two)
    expect(one.locator(".stands")).to_have_text("")
    one.clock.run_for(16000)
    expect(said(one)).to_contain_text("was switched by admin")


def test_where_nothing_can_be_asked_the_form_stays_of_use(addresses: dict[str, str], enter: Door) -> None:
    enter.expect_complaints_about("503")

    def refuse(route: Route) -> None:
        route.fulfill(status=503)

    one = enter(EVERYBODY)
    one.route("**/forms/still**", refuse)
    switch(one)


def test_a_right_that_is_taken_away_is_told_on_the_page_and_at_the_form(
    addresses: dict[str, str], site: Site, enter: Door
) -> None:
    enter.expect_complaints_about("403")
    site.tell("allow operator")
    page = enter("operator")
    page.goto("/clusters/demo-monitor")
    live(page)
    panel = page.locator("#panel-cluster_health")
    expect(panel).to_contain_text("Switch")
    form = open_at(page.context.new_page(), "/clusters/demo-monitor/mode")
    site.tell("deny operator")
    expect(page.locator("#rights-news")).to_contain_text("What you may see and do here was changed")
    expect(panel.get_by_role("link", name="Switch")).to_have_count(0)
    expect(form.locator(".stands")).to_contain_text("You may no longer do this")
    expect(form.get_by_role("button", name="See what would change")).to_have_attribute("aria-disabled", "true")
    site.tell("allow operator")
    expect(panel).to_contain_text("Switch")
    expect(form.locator(".stands")).to_have_text("")


def test_the_form_of_a_policy_is_told_in_the_admin(addresses: dict[str, str], enter: Door) -> None:
    one = enter(EVERYBODY)
    two = one.context.new_page()
    number = parse_qs(urlsplit(addresses["policy-compare"]).query)["b"][0]
    address = f"/admin/advisor_api/policyversion/{number}/activate/"
    for page in (one, two):
        open_at(page, address)
    one.get_by_label("Reason, for the trail").fill("mine")
    two.get_by_label("Reason, for the trail").fill("theirs")
    two.get_by_role("button", name="Activate").click()
    expect(two.locator("#container")).to_contain_text("is active now")
    expect(said(one)).to_contain_text("was changed by you, in another window at ")
    one.get_by_role("link", name="Open it again").click()
    expect(one.get_by_label("Reason, for the trail")).to_have_value("mine")


@pytest.mark.parametrize("width", [1280, 390])
def test_what_is_told_fits_and_can_be_read(width: int, addresses: dict[str, str], enter: Door) -> None:
    one, two = enter(EVERYBODY, width), enter("admin")
    open_at(one, "/clusters/demo-monitor/mode")
    switch(two)
    expect(said(one)).to_be_visible()
    too_wide = one.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert too_wide <= 0


def test_a_page_that_sends_much_is_cut_off_at_the_door(addresses: dict[str, str], enter: Door) -> None:
    code = enter(EVERYBODY).evaluate(
        """() => new Promise((done) => {
          const socket = new WebSocket(`ws://${location.host}/ws/live?topic=overview`);
          socket.addEventListener("message", () => socket.send("x".repeat(5000000)), {once: true});
          socket.addEventListener("close", (event) => done(event.code));
        })"""
    )
    assert code == 1009


@pytest.mark.parametrize("with_socket", [True, False], ids=["with its socket", "by polling"])
def test_a_cluster_that_is_hidden_leaves_an_open_page_and_comes_back(
    site: Site, enter: Door, with_socket: bool
) -> None:
    enter.expect_complaints_about("404")
    page = enter("viewer")
    if not with_socket:
        page.add_init_script("window.WebSocket = function () { throw new Error('none'); };")
    page.goto("/jobs/demo/4711/0")
    if with_socket:
        live(page)
    panels = page.locator(".panel [data-address]")
    expect(page.locator("#panel-job_summary")).to_contain_text("4711")
    expect(page.locator(".curves-live")).to_be_visible()
    site.tell("hide")
    try:
        expect(page.locator("#rights-news")).to_contain_text("What you may see", timeout=POLLED)
        for panel in panels.all():
            expect(panel).to_have_text("This is not there any more, or no longer for you to see.", timeout=POLLED)
        expect(page.locator(".curves-live")).to_be_hidden()
        anew = page.context.new_page().goto("/jobs/demo/4711/0")
        assert anew and anew.status == 404
    finally:
        site.tell("show")
    expect(page.locator("#panel-job_summary")).to_contain_text("4711", timeout=POLLED)
    expect(page.locator(".curves-live")).to_be_visible(timeout=POLLED)

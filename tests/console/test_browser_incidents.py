"""Do incidents work in a real browser: acted on without a script, seen live, refused when somebody was first?"""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.console.browsing import Door, Site, live

pytestmark = pytest.mark.browser


@pytest.fixture
def open_ones(site: Site) -> None:
    site.tell("incidents")


def go_to(page: Page, name: str) -> None:
    page.goto("/incidents")
    page.get_by_role("link", name=f"Storage {name} is in trouble").click()


def say(page: Page, button: str, reason: str = "ticket 813") -> None:
    page.get_by_label("Reason, for the audit trail").fill(reason)
    page.get_by_role("button", name=button).click()


def test_without_a_script_an_incident_is_answered_joined_split_and_silenced(
    open_ones: None, site: Site, enter: Door
) -> None:
    page = enter("operator", java_script_enabled=False)
    go_to(page, "home")
    page.get_by_role("link", name="I am at it…").click()
    say(page, "I am at it")
    expect(page.locator("main")).to_contain_text("by operator")
    page.get_by_role("link", name="Remark…").click()
    page.get_by_label("Your remark").fill("Looking at the <b>rack</b>.")
    page.get_by_role("button", name="Add the remark").click()
    expect(page.locator("#panel-incident_notes")).to_contain_text("Looking at the <b>rack</b>.")
    page.get_by_role("link", name="Join into another…").click()
    page.get_by_label("Storage scratch is in trouble").check()
    say(page, "See what that means")
    expect(page.locator(".confirm")).to_contain_text("goes on, with 7 attempts: its own 3, and 4 from here.")
    page.get_by_role("button", name="Join them").click()
    expect(page.locator("h1")).to_have_text("Storage scratch is in trouble")
    page.get_by_role("link", name="Split…").click()
    page.get_by_label("Stale file handle stale").first.check()
    say(page, "See what that means")
    page.get_by_role("button", name="Split it").click()
    expect(page.locator("h1")).to_have_text("Stale file handle stale")
    page.get_by_role("link", name="Take it back…").click()
    say(page, "Take it back")
    expect(page.locator("h1")).to_have_text("Storage scratch is in trouble")
    page.get_by_role("link", name="Silence…").click()
    say(page, "See what that covers")
    page.get_by_role("button", name="Silence it").click()
    expect(page.locator("main")).to_contain_text("Nobody is told of fingerprint scratch on demo")


def test_of_two_operators_the_second_sees_who_was_first(open_ones: None, enter: Door) -> None:
    enter.expect_complaints_about("409")
    one, two = enter("operator"), enter("admin")
    for page in (one, two):
        go_to(page, "home")
    live(two)
    one.get_by_role("link", name="I am at it…").click()
    stale = enter("admin", java_script_enabled=False)  # with scripts it would be told at once
    stale.goto(two.url)
    stale.get_by_role("link", name="I am at it…").click()
    say(one, "I am at it")
    expect(two.locator("#panel-incident_summary")).to_contain_text("by operator")
    say(stale, "I am at it")
    expect(stale.locator("main")).to_contain_text("operator has acknowledged it meanwhile")


@pytest.mark.parametrize("width", [1280, 390])
def test_its_pages_fit(width: int, open_ones: None, enter: Door) -> None:
    page = enter("operator", width)
    go_to(page, "home")
    here = page.url
    own = ["", "/acknowledge", "/remark", "/join", "/split"]
    places = ["/incidents", "/silences", "/silences/new", "/incidents?state=over", *(here + tail for tail in own)]
    for place in places:
        page.goto(place)
        too_wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert too_wide <= 0, place
        assert page.locator("h1").count() == 1, place
        assert re.search(r"\S", page.locator("h1").inner_text())

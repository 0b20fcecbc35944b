"""Do nodes, pauses, the trail and policies work in a real browser: without a script, live, and with an old page?"""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.console.browsing import Door, live

pytestmark = pytest.mark.browser
NARROW = (
    "/nodes",
    "/nodes/demo/n03",
    "/clusters/demo/exclude/n05",
    "/clusters",
    "/clusters/demo",
    "/clusters/demo/pause",
    "/audit",
    "/policy",
)


def say(page: Page, button: str, reason: str = "ticket 812") -> None:
    page.get_by_label("Reason, for the audit trail").fill(reason)
    page.get_by_role("button", name=button).click()


def test_without_a_script_a_node_is_left_out_given_back_and_that_is_taken_back(enter: Door) -> None:
    page = enter("operator", java_script_enabled=False)
    page.get_by_role("link", name="Nodes", exact=True).first.click()
    page.get_by_label("Part of the name").fill("n05")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("link", name="n05", exact=True).click()
    page.get_by_role("link", name="Leave out…").click()
    expect(page.locator(".changes")).to_contain_text("The scheduler itself is told nothing")
    page.get_by_label("For how long").select_option("2h")
    say(page, "Leave n05 out")
    expect(page.locator("#panel-node_standing")).to_contain_text("Left out of restarts until")
    page.get_by_role("link", name="Give back…").click()
    say(page, "Give n05 back")
    expect(page.locator(".alert-success")).to_contain_text("n05 may be used again.")
    page.get_by_role("link", name="Undo…", exact=True).click()
    say(page, "Take it back")
    expect(page.locator("#panel-node_standing")).to_contain_text("by operator: ticket 812")
    page.get_by_role("link", name="All that the trail says of it").click()
    expect(page.locator(".trail tbody tr")).to_have_count(3)
    page.locator(".trail th a").first.click()
    expect(page.locator("h1")).to_contain_text("n05 is excluded")
    page.get_by_role("link", name="n05", exact=True).click()
    expect(page.locator("h1")).to_have_text("Node n05")


def test_what_one_does_to_a_node_shows_on_the_page_of_another_and_old_pages_are_refused(enter: Door) -> None:
    enter.expect_complaints_about("409")
    one, two = enter("operator"), enter("admin")
    two.goto("/nodes/demo/n06")
    live(two)
    old = enter("admin", java_script_enabled=False)  # with scripts it would be told at once
    for page in (one, old):
        page.goto("/clusters/demo/exclude/n06")
    say(one, "Leave n06 out", "fan is loud")
    expect(one.locator("#panel-node_standing")).to_contain_text("by operator: fan is loud")
    expect(two.locator("#panel-node_standing")).to_contain_text("by operator: fan is loud")
    say(old, "Leave n06 out", "too late")
    expect(old.locator(".alert-danger")).to_contain_text("has changed since you looked")
    say(old, "Leave n06 out", "all the same")
    expect(old.locator("#panel-node_exclusions tbody tr")).to_have_count(2)


def test_a_partition_is_left_alone_for_two_hours_in_three_steps_from_the_overview(enter: Door) -> None:
    page = enter("operator")
    page.locator("#panel-clusters").get_by_role("link", name="demo", exact=True).click()  # 1
    page.get_by_role("link", name="Pause…").click()  # 2
    page.get_by_label("What", exact=True).select_option("partition")
    page.get_by_label("Its name, or the job's number").fill("main")
    page.get_by_label("For how long").select_option("2h")
    say(page, "See what that means", "the switch is swapped")  # 3
    expect(page.locator(".changes")).to_contain_text("Rekindle begins nothing on partition main of demo until")
    page.get_by_role("button", name="Pause it").click()
    for address in ("/", "/clusters", "/clusters/demo", "/jobs/demo/4711/0", "/nodes/demo/n02"):
        page.goto(address)
        expect(page.locator("main")).to_contain_text(re.compile("paused", re.IGNORECASE))
    page.goto("/clusters/demo")
    page.get_by_role("link", name="End it…").click()
    say(page, "End the pause", "it is in")
    expect(page.locator(".alert-success")).to_contain_text("No longer paused")


def test_the_trail_is_searched_and_verified(enter: Door) -> None:
    page = enter("operator")
    page.goto("/audit")
    page.get_by_label("What happened").select_option("verdict")
    page.get_by_label("Cluster", exact=True).select_option("demo")
    page.get_by_role("button", name="Search").click()
    expect(page).to_have_url(re.compile("type=verdict"))
    expect(page.locator(".trail tbody tr").first).to_contain_text("GPU 2 of n03 lost data")
    with page.expect_download() as file:
        page.get_by_role("button", name="JSON Lines").click()
    assert file.value.suggested_filename.endswith(".jsonl")


def test_a_switch_of_the_mode_shows_how_people_acted(enter: Door) -> None:
    page = enter("admin")
    page.goto("/clusters/demo/mode")
    page.get_by_label(re.compile("^approve")).check()
    say(page, "See what would change")
    expect(page.locator(".agreement")).to_contain_text("Rekindle did it")
    expect(page.locator(".agreement")).to_contain_text("Has the node a hardware witness?")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_a_phone(scheme: str, enter: Door) -> None:
    page = enter("operator", width=390, color_scheme=scheme)
    for address in NARROW:
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, address

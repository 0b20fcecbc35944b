"""What an operator wants to know or do at night: is it three interactions from the overview, at most?

An interaction is a click or a search that is sent. What is to be known must then be in sight; for what is to be
done a form must stand there that says what will happen, whose reason and confirmation do not count.
"""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.console.browsing import EVERYBODY, Door, Site

pytestmark = pytest.mark.browser

AT_MOST = 3
REASON = "An exercise of the night shift"


class Operator:
    """Somebody who stands before the overview, and whose interactions are counted."""

    def __init__(self, page: Page) -> None:
        self.page, self.count = page, 0

    def click(self, target: Locator) -> None:
        """One interaction."""
        self.count += 1
        target.click()
        self.page.wait_for_load_state()

    def menu(self, name: str) -> None:
        """One interaction: a page by the menu."""
        self.click(self.page.locator("#menu").get_by_role("link", name=name, exact=True))

    def search(self, text: str) -> None:
        """One interaction: the search of the page, by its key."""
        self.count += 1
        self.page.keyboard.press("/")
        self.page.keyboard.type(text)
        self.page.keyboard.press("Enter")

    def sees(self, *words: str) -> None:
        """It is in sight by now."""
        for text in words:
            expect(self.page.locator("main")).to_contain_text(text)
        assert self.count <= AT_MOST

    def gives_reason(self) -> None:
        """In the form that stands there."""
        assert self.count <= AT_MOST
        self.page.get_by_label("Reason, for the audit trail").fill(REASON)


@pytest.fixture(scope="module")
def window(site: Site, browser: Browser) -> Iterator[Page]:
    site.tell("everything")
    door = Door(browser, site)
    yield door(EVERYBODY)
    assert door.unexpected() == []


@pytest.fixture
def operator(window: Page) -> Operator:
    window.set_default_timeout(60_000)
    window.goto("/")
    return Operator(window)


def test_which_node_killed_the_job(operator: Operator) -> None:
    operator.menu("Jobs")
    operator.search("4711")
    operator.click(operator.page.get_by_role("rowheader").get_by_role("link", name="4711"))
    operator.sees("GPU 2 of n03 lost data", "node n03")


def test_do_not_touch_a_partition_for_two_hours(operator: Operator) -> None:
    page = operator.page
    operator.click(page.locator("#cluster-demo-monitor").get_by_role("link", name="demo-monitor", exact=True))
    operator.click(page.get_by_role("link", name="Pause…"))
    page.get_by_label("What", exact=True).select_option("partition")
    page.get_by_label("Its name").fill("main")
    page.get_by_label("For how long").select_option(label="2 hours")
    operator.gives_reason()
    page.get_by_role("button", name="See what that means").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("main")
    page.get_by_role("button", name="Pause it").click()
    expect(page.locator("main")).to_contain_text(REASON)


def test_what_did_the_system_do_last_night(operator: Operator) -> None:
    operator.menu("Audit")
    page = operator.page
    page.get_by_label("Since, UTC").fill("12h")
    page.get_by_label("What happened").select_option(label="Action done")
    operator.click(page.get_by_role("button", name="Search"))
    operator.sees("Requeued and held 4711", "Left out n03 from 4711", "Released 4711")
    expect(page.locator("main tbody")).not_to_contain_text("signed in")


def test_which_nodes_are_left_out_and_why_and_give_one_back(operator: Operator) -> None:
    page = operator.page
    operator.menu("Nodes")
    operator.sees("Fell off the bus twice", "An uncorrectable ECC error on GPU 2")
    operator.click(page.get_by_role("rowheader").get_by_role("link", name="n02"))
    operator.click(page.get_by_role("link", name="Give back…"))
    operator.gives_reason()
    page.locator("main form button[type=submit]").click()
    expect(page.locator("main")).to_contain_text("given back")


def test_who_left_a_node_out_and_until_when_and_a_list_for_those_who_repair(operator: Operator) -> None:
    page = operator.page
    operator.menu("Nodes")
    left_out = page.get_by_role("row", name="An uncorrectable ECC error on GPU 2")
    expect(left_out).to_contain_text(re.compile(r"until .* UTC .* by policy"))
    with page.expect_download() as taken:
        operator.click(page.get_by_role("link", name="CSV"))
    assert taken.value.suggested_filename.startswith("nodes-")
    assert operator.count <= AT_MOST


def test_what_did_the_last_operator_do(operator: Operator) -> None:
    operator.menu("Audit")
    operator.page.get_by_label("Kind of actor").select_option(label="A person")
    operator.click(operator.page.get_by_role("button", name="Search"))
    operator.sees(f"{EVERYBODY} signed in with a one-time link.")
    expect(operator.page.locator("main tbody")).not_to_contain_text("The controller")


def test_why_was_it_not_restarted_and_approve_it(operator: Operator) -> None:
    page = operator.page
    operator.menu("Jobs")
    operator.search("99")
    operator.click(page.get_by_role("rowheader").get_by_role("link", name="99", exact=True))
    operator.sees("Not acted on: waits for approval")
    page.goto("/")  # the next task: that there was a yes would be the answer to the first one
    operator = Operator(page)
    operator.click(page.get_by_role("link", name="Decide…").first)
    operator.sees("If you approve:", "If you reject:")
    operator.gives_reason()
    page.get_by_role("button", name="Approve: restart").click()
    expect(page.get_by_role("status").first).to_be_visible()
    page.goto("/approvals")
    expect(page.locator("main")).not_to_contain_text("Restart 99-0 without f02, because")


def test_who_switched_the_mode(operator: Operator) -> None:
    page = operator.page
    page.goto("/clusters/demo-monitor/mode")
    page.get_by_label("approve").check()
    page.get_by_label("Reason").fill(REASON)
    page.get_by_role("button", name="See what would change").click()
    page.get_by_role("button", name="Switch to approve mode").click()
    expect(page.get_by_role("status").filter(has_text="approve mode now")).to_be_visible()
    page.goto("/")
    operator.menu("Audit")
    page.get_by_label("What happened").select_option(label="Mode changed")
    operator.click(page.get_by_role("button", name="Search"))
    operator.sees("demo-monitor", "approve", EVERYBODY)


def test_is_anything_blind(operator: Operator) -> None:
    operator.click(operator.page.locator(".glance").get_by_role("link", name="blind"))
    operator.sees("4712", "Blind")
    expect(operator.page.locator("main tbody tr")).to_have_count(1)


def test_hold_the_next_step(operator: Operator) -> None:
    page = operator.page
    operator.click(page.get_by_role("link", name="Hold…").first)
    operator.sees("While you hold it:")
    operator.gives_reason()
    page.get_by_role("button", name="Hold it").click()
    page.wait_for_load_state()
    page.goto("/")
    expect(page.locator("#panel-coming_steps")).to_contain_text("Let it go on…")


def test_all_jobs_of_a_user_that_died_of_one_cause(operator: Operator) -> None:
    operator.menu("Jobs")
    operator.search("user:trainer pattern:gpu.ecc state:every")
    operator.sees("4711")
    expect(operator.page.locator("main tbody tr")).to_have_count(1)

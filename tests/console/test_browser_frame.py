"""Do menu and keys lead everywhere, and are they quiet where somebody types?"""

import pytest
from playwright.sync_api import Page, expect

from console.navigation import MORE, PLACES
from tests.console.browsing import Door

pytestmark = pytest.mark.browser


def focused(page: Page) -> str:
    return str(page.evaluate("(document.activeElement.closest('tr, li') || document.activeElement).id"))


def test_the_menu_leads_to_every_page_and_says_where_one_is(enter: Door) -> None:
    page = enter("admin")
    links = page.locator("nav [data-key]")
    assert links.count() == len(PLACES) + len(MORE)
    for address in [link.get_attribute("href") or "" for link in links.all()]:
        page.goto(address)
        here = page.locator("nav [data-key][aria-current]")
        assert [link.get_attribute("href") for link in here.all()] == [address]


def test_g_and_a_letter_go_to_a_page(enter: Door) -> None:
    page = enter("viewer")
    for place in (*PLACES, *MORE):
        address = page.locator(f'nav [data-key="{place.key}"]').get_attribute("href")
        page.keyboard.press("g")
        page.keyboard.press(place.key)
        page.wait_for_url(f"**{address}")


def test_a_letter_long_after_g_is_only_a_letter(enter: Door) -> None:
    page = enter("viewer")
    page.keyboard.press("g")
    page.wait_for_timeout(1700)
    page.keyboard.press("a")
    page.wait_for_timeout(300)
    assert page.url.endswith("/")


def test_the_keys_are_listed_and_can_be_turned_off(enter: Door) -> None:
    page = enter("viewer")
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_be_visible()
    expect(keys).to_contain_text("Approvals")
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    page.get_by_role("button", name="Keys").click()
    keys.get_by_label("These keys are on").uncheck()
    keys.get_by_role("button", name="Close").click()
    page.goto("/jobs")
    page.keyboard.press("/")
    expect(page.locator("main input[type=search]").first).not_to_be_focused()
    page.keyboard.press("?")
    expect(keys).to_be_hidden()


def test_the_slash_searches_and_escape_leaves_the_field(enter: Door) -> None:
    page = enter("viewer")
    page.goto("/jobs")
    field = page.locator("main input[type=search]").first
    page.keyboard.press("/")
    expect(field).to_be_focused()
    page.keyboard.type("gj?/k")
    expect(field).to_have_value("gj?/k")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(field).not_to_be_focused()


def test_j_and_k_go_through_the_rows_and_enter_opens_one(enter: Door) -> None:
    page = enter("viewer")
    page.goto("/jobs?state=every")
    rows = [row.get_attribute("id") for row in page.locator("main tbody tr").all()]
    assert len(rows) >= 3
    page.keyboard.press("j")
    first = rows.index(focused(page))
    page.keyboard.press("j")
    assert focused(page) == rows[first + 1]
    page.keyboard.press("k")
    assert focused(page) == rows[first]
    address = page.evaluate("document.activeElement.href")
    page.keyboard.press("Enter")
    page.wait_for_url(address)


def test_more_opens_by_keyboard_and_closes_by_escape_and_by_a_click_beside_it(enter: Door) -> None:
    page = enter("admin")
    more = page.locator("details.more")
    summary = more.locator("summary")
    summary.focus()
    page.keyboard.press("Enter")
    expect(more.get_by_role("link", name="Admin")).to_be_visible()
    page.keyboard.press("Escape")
    expect(more.get_by_role("link", name="Admin")).to_be_hidden()
    expect(summary).to_be_focused()
    summary.click()
    page.mouse.click(600, 700)
    expect(more.get_by_role("link", name="Admin")).to_be_hidden()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_on_a_phone_every_page_is_reached(enter: Door, scripts: bool) -> None:
    page = enter("admin", 390, java_script_enabled=scripts)
    if scripts:
        page.get_by_role("button", name="Menu").click()
    page.locator("details.more summary").click()
    for link in page.locator("nav [data-key]").all():
        expect(link).to_be_visible()
        box = link.bounding_box()
        assert box and box["height"] >= 24 and box["x"] + box["width"] <= 390
    page.get_by_role("link", name="Approvals").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Approvals")


def test_signing_out_and_coming_back_to_where_one_was(enter: Door) -> None:
    enter.expect_complaints_about("401")  # of panels that were just asked for when the session ended
    page = enter("viewer")
    page.get_by_role("button", name="Sign out").click()
    page.goto("/jobs?state=every")
    expect(page.get_by_role("heading", level=1)).to_have_text("Recovery Console")
    page.get_by_label("User name").fill("viewer")
    page.get_by_label("Password").fill("a long password for viewer")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/jobs?state=every")


@pytest.mark.parametrize(
    ("address", "says"),
    [("/nothing/here", "Nothing is here"), ("/clusters/demo-monitor/mode", "This is not yours to do")],
)
def test_what_cannot_be_shown_says_what_to_do(enter: Door, address: str, says: str) -> None:
    enter.expect_complaints_about("404", "403")
    page = enter("viewer")
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_have_text(says)
    page.locator("main").get_by_role("link", name="overview").click()
    page.wait_for_url("**/")

"""Can somebody read a job's page in a real browser: zoom, keyboard, both themes, and a log that wants to act?"""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.console.browsing import Door, Site, live

pytestmark = pytest.mark.browser

JOB = "/jobs/demo/4711/0"


def drawn(page: Page, address: str = JOB) -> None:
    page.goto(address)
    expect(page.locator(".curves-live canvas")).to_have_count(2, timeout=60_000)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_curves_are_drawn_and_the_still_picture_steps_aside(theme: str, site: Site, enter: Door) -> None:
    page = enter("viewer", color_scheme=theme)
    drawn(page)
    expect(page.locator(".curves-still")).to_be_hidden()
    ink = "[...document.querySelectorAll('.curves-live canvas')].map((one) => one.getContext('2d')"
    ink += ".getImageData(0, 0, one.width, one.height).data.filter((_v, at) => at % 4 === 3).some((v) => v > 0))"
    assert page.evaluate(ink) == [True, True]
    page.get_by_text("The same in numbers").click()
    expect(page.locator("#curves-in-numbers table")).to_contain_text("121, 750 to 870")


def test_a_zoom_by_button_moves_timeline_events_and_address_and_survives_new_steps(site: Site, enter: Door) -> None:
    page = enter("viewer")
    drawn(page)
    live(page)
    page.get_by_role("button", name="Zoom in").click()
    expect(page).to_have_url(re.compile(r"\?from=.*&to="))
    expect(page.locator("#panel-job_events")).to_contain_text("Only what happened in the stretch")
    address = page.url
    site.tell("step 5151")
    expect(page.locator("#panel-job_summary")).to_contain_text("5151", timeout=60_000)
    assert page.url == address
    expect(page.locator("#panel-job_lanes .stretches [aria-current]")).to_have_text("A stretch that you chose")
    page.get_by_role("button", name="Whole job", exact=True).click()
    expect(page).to_have_url(re.compile(r"/4711/0$"))
    page.go_back()
    expect(page.locator("#panel-job_events")).to_contain_text("Only what happened in the stretch")


def test_a_stretch_is_one_address_for_everybody(enter: Door) -> None:
    page = enter("viewer")
    drawn(page)
    page.get_by_role("link", name="Newest recovery").click()
    expect(page.locator("#panel-job_lanes .stretches [aria-current]")).to_have_text("Newest recovery")
    other = enter("operator", java_script_enabled=False)
    other.goto(page.url)
    expect(other.locator("#panel-job_lanes .stretches [aria-current]")).to_have_text("Newest recovery")
    expect(other.locator("#panel-job_events")).to_contain_text("Requeued and held 4711")
    expect(other.locator(".curves-live")).to_have_count(0)


def test_marks_and_points_are_reached_by_the_keyboard(enter: Door) -> None:
    page = enter("viewer")
    drawn(page)
    marks = page.locator("#panel-job_lanes a.stamp")
    assert page.locator("#panel-job_lanes a.stamp[tabindex='0']").count() == 1, "one stop for the tab key"
    marks.first.focus()
    before = page.evaluate("document.activeElement.getAttribute('href')")
    page.keyboard.press("ArrowRight")
    after = page.evaluate("document.activeElement.getAttribute('href')")
    assert after != before and after.startswith("#event-")
    page.keyboard.press("ArrowDown")
    anchor = page.evaluate("document.activeElement.getAttribute('href')")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(re.escape(anchor) + "$"))
    expect(page.locator(anchor)).to_be_in_viewport(timeout=60_000)
    ground = page.locator(".ground").first
    ground.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".readout")).to_contain_text(re.compile(r"attempt 1, step \d+ · step time: [\d.]+ s$"))
    told = page.locator(".readout").inner_text()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".readout")).not_to_have_text(told)
    page.keyboard.press("+")
    expect(page).to_have_url(re.compile(r"\?from="))


def test_evidence_leads_to_its_line_and_nothing_in_the_log_acts(enter: Door) -> None:
    page = enter("viewer")
    page.goto(JOB)
    page.locator("#panel-job_recovery .quote a").first.click()
    expect(page.locator("li.asked")).to_be_in_viewport()
    expect(page.locator("li.asked")).to_contain_text("uncorrectable ECC error")
    page.get_by_label("Search in the lines below").fill("<script>")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".log-lines mark")).to_have_text("<script>")
    assert page.locator(".log-lines script").count() == 0
    expect(page.locator(".log-lines")).to_contain_text("⟨ESC⟩[31mERROR")

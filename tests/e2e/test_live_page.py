"""Does an open page show a failure and its recovery by itself, without a reload?"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from lab.parts.running import Running, until
from tests.chromium import CHROMIUM, FLAGS

pytestmark = [pytest.mark.browser, pytest.mark.e2e]


@pytest.fixture
def demo() -> Iterator[Running]:
    running = Running(["./run", "demo"], {"REKINDLE_LISTEN": "127.0.0.1:0"})
    yield running
    running.end()


@pytest.fixture
def page(demo: Running) -> Iterator[Page]:
    """A signed-in page on a wide dark screen; complaints of the browser fail the test."""
    link = demo.said(r"sign in once with\s+(http\S+)", 180)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="dark").new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(link)
        page.click("main button[type=submit]")
        page.wait_for_url("**/")
        yield page
        browser.close()
        assert complaints == []


def test_the_failure_and_the_recovery_appear_without_a_reload(demo: Running, page: Page) -> None:
    address = page.url.rstrip("/")
    page.goto(f"{address}/jobs/demo/1")
    page.evaluate("window.neverReloaded = true")
    body = page.locator("body")
    expect(body).to_contain_text("Running", timeout=60_000)
    expect(body).not_to_contain_text("Verdict")
    for words in ("double-bit ECC", "Restart 1-0 without n03", "Job 1 runs again", "Job 1 made a step beyond"):
        expect(body).to_contain_text(words, timeout=300_000)
    expect(body).to_contain_text("Job 1 completed", timeout=300_000)
    assert page.evaluate("window.neverReloaded") is True
    until(lambda: "Completed" in page.inner_text("main"), 180, "the job is shown as completed")

"""A console in a process of its own, and people who look at it in a real browser."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, expect

from lab.parts.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
EVERYBODY = "root"
"""The account of `everything` that may see and do all."""
SOON = 12_000
"""Milliseconds in which a page shows what it is told: a tenth is enough when quiet. One that asks does so later."""
expect.set_options(timeout=SOON)
SERVER = ["--lifespan", "off", "--log-level", "warning", "--ws", "websockets-sansio", "--ws-max-size", "1024"]


class Site:
    """A console that runs in a process of its own, and another process that writes into its database."""

    def __init__(self, folder: Path) -> None:
        own = {name: value for name, value in os.environ.items() if not name.startswith("REKINDLE_")}
        self._env = own | {"REKINDLE_STATE_DIR": str(folder), "REKINDLE_LOG_LEVEL": "WARNING"}
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self._teller = subprocess.Popen(
            [sys.executable, "-m", "tests.console.teller"],
            cwd=ROOT,
            env=self._env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._teller.stdout
        assert self._teller.stdout.readline().strip() == "ready"
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def up(self) -> bool:
        """Whether the server runs."""
        return self._server is not None and self._server.poll() is None

    def start(self) -> None:
        """Start the server and wait until it answers."""
        arguments = [*SERVER, "--timeout-graceful-shutdown", "1", "--port", str(self.port)]
        self._server = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "recovery_site.asgi:application", *arguments],
            cwd=ROOT,
            env=self._env,
        )
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            time.sleep(0.1)
        raise TimeoutError("the console does not answer")

    def stop(self) -> None:
        """Stop the server."""
        if self._server:
            self._server.terminate()
            self._server.wait(60)

    def tell(self, command: str) -> str:
        """Have the other process write something."""
        assert self._teller.stdin
        assert self._teller.stdout
        self._teller.stdin.write(command + "\n")
        self._teller.stdin.flush()
        return self._teller.stdout.readline().strip()

    def end(self) -> None:
        """Stop both."""
        self.stop()
        self._teller.communicate(timeout=60)


class Door:
    """Lets people in, and remembers what the browser complained about."""

    def __init__(self, browser: Browser, site: Site) -> None:
        self._browser, self._site = browser, site
        self._contexts: list[BrowserContext] = []
        self._complaints: list[str] = []
        self._expected: list[str] = []

    def __call__(self, who: str = "admin", width: int = 1280, **options: object) -> Page:
        """A window of a person who has just signed in."""
        context = self._browser.new_context(
            viewport={"width": width, "height": 900}, base_url=self._site.address, **options
        )
        self._contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: self._complain(page, message.text))
        page.on("pageerror", lambda error: self._complain(page, str(error)))
        page.on("dialog", lambda dialog: self._complain(page, f"a dialog said {dialog.message}"))
        page.goto(self._site.tell(f"link {who}"))
        page.get_by_role("button", name=f"Sign in as {who}").click()
        expect(page).to_have_url(f"{self._site.address}/")
        page.wait_for_load_state()  # its scripts hear the first key
        return page

    def expect_complaints_about(self, *words: str) -> None:
        """What the test itself brings about."""
        self._expected += words

    def unexpected(self) -> list[str]:
        """Close all windows; the complaints that nobody expected."""
        for context in self._contexts:
            context.close()
        return [text for text in self._complaints if not any(word in text for word in self._expected)]

    def _complain(self, page: Page, text: str) -> None:
        self._complaints.append(f"{page.url}: {text}")


def live(page: Page, state: str = "live") -> None:
    """Wait until the page says that."""
    expect(page.locator("#live-sign")).to_have_attribute("data-state", state, timeout=60_000)

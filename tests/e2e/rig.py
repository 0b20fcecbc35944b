"""How does a test start the product as a user does, and read what a user reads?"""

import http.cookiejar
import json
import os
import re
import signal
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parents[2]
Found = TypeVar("Found")


def until(
    question: Callable[[], Found | None], seconds: float, what: str | Callable[[], str], pause: float = 0.3
) -> Found:
    """The first answer that is true, asked again and again; fails with `what` was waited for."""
    deadline = time.monotonic() + seconds
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:.0f} s: {what if isinstance(what, str) else what()}")
        time.sleep(pause)


class Running:
    """A process whose output is kept, line by line."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            list(command),
            cwd=ROOT,
            env=clean_environment() | dict(environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def said(self, pattern: str, seconds: float) -> str:
        """The first group of the first line that matches."""

        def search() -> re.Match[str] | None:
            assert self.process.poll() is None or self._reader.is_alive() or self._any(pattern), self.text()
            return self._any(pattern)

        return until(search, seconds, f"{pattern} in the output:\n{self.text()}").group(1)

    def _any(self, pattern: str) -> re.Match[str] | None:
        return next((match for line in list(self.lines) if (match := re.search(pattern, line))), None)

    def text(self) -> str:
        """Everything it printed so far."""
        return "\n".join(self.lines)

    def end(self, number: signal.Signals = signal.SIGINT, seconds: float = 30) -> int:
        """Send the signal and wait; the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(5)
            raise
        finally:
            self._reader.join(5)
            if self.process.stdout:
                self.process.stdout.close()


def clean_environment() -> dict[str, str]:
    """The caller's environment without any setting of ours."""
    return {
        name: value for name, value in os.environ.items() if not name.startswith(("REKINDLE_", "DJANGO_", "SLURM"))
    }


class Person:
    """Somebody signed in to the console with a browser's cookies."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.cookies = http.cookiejar.CookieJar()
        self._open = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies)).open

    def sign_in_once(self, path: str) -> None:
        """Use the one-time link: look at its page, post its form."""
        page = self.get(path)
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert token, page
        self.post(path, {"csrfmiddlewaretoken": token.group(1)})
        assert any(cookie.name == "sessionid" for cookie in self.cookies)

    def get(self, path: str) -> str:
        """A page as text."""
        with self._open(self.address + path, timeout=20) as answer:
            return str(answer.read().decode())

    def post(self, path: str, form: Mapping[str, str]) -> str:
        """A form's answer as text."""
        body = urllib.parse.urlencode(dict(form)).encode()
        request = urllib.request.Request(self.address + path, body, {"Referer": self.address + path})
        with self._open(request, timeout=20) as answer:
            return str(answer.read().decode())

    def ask(self, path: str, **query: object) -> dict[str, Any]:
        """An answer of the Advisor API."""
        encoded = urllib.parse.urlencode(query, doseq=True)
        return dict(json.loads(self.get(f"{path}?{encoded}")))

    def attempts(self, cluster: str, number: object) -> list[dict[str, Any]]:
        """All attempts of a job number, by index."""
        jobs = self.ask(f"/v1/jobs/by-scheduler-id/{number}", cluster=cluster)["jobs"]
        return sorted(jobs, key=lambda job: int(job["attemptIndex"]))

    def trail(self, cluster: str, number: object) -> list[dict[str, Any]]:
        """All events of a job number, oldest first."""
        items: list[dict[str, Any]] = []
        cursor = ""
        while True:
            page = self.ask(
                "/v1/audit/events",
                cluster=cluster,
                jobId=number,
                sortBy="event_produced_at:asc",
                limit=100,
                **({"cursor": cursor} if cursor else {}),
            )
            items += page["items"]
            cursor = page.get("cursor", "")
            if not cursor or not page["items"]:
                return items


def told(trail: Sequence[Mapping[str, Any]]) -> str:
    """A trail as text, for a failing test."""
    return "\n".join(f"{event['attemptIndex']} {event['eventType']}: {event['sentence']}" for event in trail)


def types(trail: Sequence[Mapping[str, Any]]) -> list[str]:
    """The types of a trail's events, in order."""
    return [event["eventType"] for event in trail]

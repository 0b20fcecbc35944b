"""What do so many open consoles cost? One run, with the stores in the environment; prints one JSON object.

`python -m benchmarks.consoles_site '{"consoles": 500, …}'`, started by `benchmarks.consoles`.
"""

import asyncio
import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import Any
from urllib.parse import urlsplit

import psutil
from asgiref.sync import sync_to_async
from django.apps import apps
from django.contrib.auth import get_user_model
from django.test import Client

from benchmarks.fresh_site import prepare
from benchmarks.open_pages import OpenPage, Seen, sentence_of
from benchmarks.stations import percentile

REST_SECONDS = 15.0  # in which nothing happens
SETTLE_SECONDS = 5.0
PEOPLE = 20  # accounts; every console has a session of its own
OPENING = 25  # pages that are opened at the same time
GUNICORN = ["-m", "gunicorn", "recovery_site.wsgi", "--workers", "2", "--threads", "4", "--graceful-timeout", "3"]
UVICORN = [
    *("-m", "uvicorn", "recovery_site.asgi:application", "--lifespan", "off", "--no-proxy-headers"),
    *("--timeout-graceful-shutdown", "2", "--log-level", "warning"),
]
GOAL = 2.0  # seconds within which 95 % are up to date
PAGES = {"overview": "/", "job": "/jobs/demo/4711/0"}


@dataclass
class Part:
    """Processor seconds of a process and all that it started, dead ones not counted."""

    process: psutil.Process
    alone: bool = False  # without what it started

    def seconds(self) -> float:
        """User and system, since they began."""
        return sum(sum(one.cpu_times()[:2]) for one in self._all())

    def resident(self) -> float:
        """MB."""
        return sum(one.memory_info().rss for one in self._all()) / 1e6

    def _all(self) -> list[psutil.Process]:
        return [self.process, *([] if self.alone else self.process.children(recursive=True))]


def free_port() -> int:
    """A port of the loopback that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def started(arguments: list[str], port: int) -> Iterator[Part]:
    """A process that listens at the port, ended afterwards."""
    process = subprocess.Popen([sys.executable, *arguments], stdout=sys.stderr)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            time.sleep(0.1)
        yield Part(psutil.Process(process.pid))
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def store(name: str, variable: str) -> Part:
    """The store that a variable of the environment leads to."""
    port = urlsplit(os.environ[variable]).port or 0
    named = [one for one in psutil.process_iter(["name"]) if one.info["name"].startswith(name)]
    return Part(next(one for one in named if _listens(one, port)))


def _listens(process: psutil.Process, port: int) -> bool:
    try:
        return any(each.laddr.port == port for each in process.net_connections("tcp") if each.status == "LISTEN")
    except psutil.Error:
        return False


def cookies(count: int) -> list[str]:
    """So many sessions, of a few accounts."""
    people = [get_user_model().objects.create_user(f"person-{number}") for number in range(PEOPLE)]
    made = []
    for number in range(count):
        client = Client()
        client.force_login(people[number % PEOPLE])
        made.append("; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items()))
    return made


def pages(asked: dict[str, Any], web: int, sockets: int, seen: Seen) -> list[OpenPage]:
    """The consoles, as one rendered page says what it subscribes to."""
    sessions = cookies(asked["consoles"])
    client = Client()
    html = client.get(PAGES[asked["page"]], headers={"cookie": sessions[0], "host": "127.0.0.1"}).text
    topics = tuple(re.search(r'data-live-topics="([^"]*)"', html)[1].split())  # type: ignore[index]
    since = int(re.search(r'data-live-since="(\d+)"', html)[1])  # type: ignore[index]
    panels = tuple(unescape(address) for address in re.findall(r'data-address="([^"]+)"', html))
    return [OpenPage(web, sockets, cookie, topics, panels, since, seen) for cookie in sessions]


class Teller:
    """Another process that writes into the database, as a worker does."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.console.teller"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._read()

    def happen(self, number: int) -> tuple[int, float]:
        """One event about the job; its id, and when it was handed over to be stored."""
        began = time.time()
        print(f"event verdict {sentence_of(number)}", file=self._process.stdin, flush=True)
        self._read()
        newest = apps.get_model("audit", "AuditEvent").objects.order_by("-id").values_list("pk", flat=True)[0]
        return int(newest), began

    def end(self) -> None:
        """Let it go."""
        self._process.communicate(timeout=20)

    def _read(self) -> None:
        if not self._process.stdout or not self._process.stdout.readline():
            raise RuntimeError("the process that writes has ended")


async def measure(
    asked: dict[str, Any], pages: list[OpenPage], parts: dict[str, Part], teller: Teller
) -> dict[str, Any]:
    """Open all, rest, let things happen; what was seen."""
    began, tasks, seen = time.time(), [], pages[0].seen
    for first in range(0, len(pages), OPENING):
        tasks += [asyncio.create_task(page.live()) for page in pages[first : first + OPENING]]
        while seen.open < len(tasks):
            await asyncio.sleep(0.02)
            if any(task.done() for task in tasks):
                raise RuntimeError("a page could not be opened") from next(t for t in tasks if t.done()).exception()
    opening = time.time() - began
    await asyncio.sleep(SETTLE_SECONDS)
    resting = spent(parts)
    await asyncio.sleep(REST_SECONDS)
    resting = {name: spent(parts)[name] - before for name, before in resting.items()}
    before, happened = spent(parts), {}
    for number in range(asked["events"]):
        seen.shown[number] = []
        happened[number] = await sync_to_async(teller.happen)(number)
        await asyncio.sleep(asked["gap"])
    await asyncio.sleep(SETTLE_SECONDS)
    busy = {name: after - before[name] for name, after in spent(parts).items()}
    resident = {name: round(part.resident()) for name, part in parts.items()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    window = asked["events"] * asked["gap"] + SETTLE_SECONDS
    return {
        **latencies(happened, pages, seen),
        "opening": round(opening, 1),
        "asked": seen.asked,
        "same": seen.same,
        "failed": seen.failed,
        "ms of a processor per event": {
            name: round(1000 * (busy[name] - resting[name] * window / REST_SECONDS) / asked["events"])
            for name in parts
        },
        "of a processor at rest": {name: round(used / REST_SECONDS, 3) for name, used in resting.items()},
        "resident MB": resident,
    }


def spent(parts: dict[str, Part]) -> dict[str, float]:
    """Processor seconds of each part until now."""
    return {name: part.seconds() for name, part in parts.items()}


def latencies(happened: dict[int, tuple[int, float]], pages: list[OpenPage], seen: Seen) -> dict[str, Any]:
    """From the commit to the frame and to the page that shows it; a page that never showed it is missed."""
    frames = [
        at - committed
        for key, committed in happened.values()
        for page in pages
        for at in [next((at for last, at in page.frames if last >= key), None)]
        if at is not None
    ]
    shown = [at - happened[number][1] for number, times in seen.shown.items() for at in times]
    due = len(happened) * len(pages)
    return {
        "spans": {"the frame at the page": _row(frames), "**the page up to date**": _row(shown)},
        "within": sum(span <= GOAL for span in shown) / due,
        "due": due,
        "missed": due - len(shown),
    }


def _row(spans: list[float]) -> list[float]:
    return [len(spans), *(round(percentile(spans, p), 2) for p in (50, 95, 99)), round(max(spans), 2)]


def main() -> None:
    """One run."""
    asked = json.loads(sys.argv[1])
    prepare()
    teller = Teller()
    web, sockets, seen = free_port(), free_port(), Seen()
    with (
        started([*GUNICORN, "--bind", f"127.0.0.1:{web}"], web) as page_part,
        started([*UVICORN, "--port", str(sockets)], sockets) as socket_part,
    ):
        parts = {
            "pages": page_part,
            "sockets": socket_part,
            "database": store("mariadb", "REKINDLE_DATABASE_URL"),
            "redis": store("redis", "REKINDLE_CHANNEL_URL"),
            "consoles": Part(psutil.Process()),
        }
        parts["consoles"].alone = True
        opened = pages(asked, web, sockets, seen)
        print(json.dumps(asyncio.run(measure(asked, opened, parts, teller))))
        teller.end()


if __name__ == "__main__":
    main()

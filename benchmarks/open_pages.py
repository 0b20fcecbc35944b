"""How does an open page of the console behave, without a browser?"""

import asyncio
import json
import random
import time
from dataclasses import dataclass, field
from urllib.parse import urlencode

from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

ANSWER_SECONDS = 30.0


def sentence_of(event: int) -> str:
    """What the event of that number says."""
    return f"Benchmark event {event} has happened."


@dataclass
class Seen:
    """What all pages saw. `shown`: seconds since 1970 by the number of the event, one for each page."""

    shown: dict[int, list[float]] = field(default_factory=dict)
    asked: int = 0
    same: int = 0
    failed: int = 0
    open: int = 0


@dataclass
class OpenPage:
    """One page with its socket. `panels`: addresses, `topics` of all of them; `cookie`: its person."""

    web: int
    sockets: int
    cookie: str
    topics: tuple[str, ...]
    panels: tuple[str, ...]
    since: int
    seen: Seen
    tags: dict[str, str] = field(default_factory=dict)
    frames: list[tuple[int, float]] = field(default_factory=list)
    shows: set[int] = field(default_factory=set)
    asking: asyncio.Task[None] | None = None
    stale: bool = False
    after: float = 0.0

    async def live(self) -> None:
        """Stay open until cancelled."""
        query = urlencode([("topic", topic) for topic in self.topics] + [("since", str(self.since))])
        headers = {"Cookie": self.cookie, "Origin": f"http://127.0.0.1:{self.web}"}
        await self.ask()
        address = f"ws://127.0.0.1:{self.sockets}/ws/live?{query}"
        async with connect(address, additional_headers=headers, open_timeout=60) as socket:
            self.seen.open += 1
            try:
                async for text in socket:
                    self.hear(json.loads(text), time.time())
            except WebSocketException:
                self.seen.failed += 1
            finally:
                self.seen.open -= 1

    def hear(self, frame: dict[str, object], now: float) -> None:
        """A frame: note it, and ask for the panels within its spread."""
        self.frames.append((int(str(frame["last"])), now))
        if not frame["topics"]:
            return
        self.stale, self.after = True, float(str(frame["at"]))
        if self.asking is None or self.asking.done():
            self.asking = asyncio.create_task(self.soon(float(str(frame["spread"]))))

    async def soon(self, spread: float) -> None:
        """Ask, and again when something was heard meanwhile."""
        while self.stale:
            await asyncio.sleep(random.uniform(0, spread))
            self.stale = False
            try:
                await asyncio.wait_for(self.ask(), ANSWER_SECONDS)
            except (OSError, TimeoutError, ValueError):
                self.seen.failed += 1
                self.stale = True

    async def ask(self) -> None:
        """The panels that differ; every event that stands in them is shown from now on."""
        query = urlencode([("of", panel) for panel in self.panels] + [("after", f"{self.after:.6f}")])
        reader, writer = await asyncio.open_connection("127.0.0.1", self.web)
        writer.write(
            f"GET /panels?{query} HTTP/1.1\r\nHost: 127.0.0.1:{self.web}\r\nCookie: {self.cookie}\r\n"
            f"If-None-Match: {', '.join(self.tags.values())}\r\nConnection: close\r\n\r\n".encode()
        )
        whole = await reader.read(-1)
        writer.close()
        head, _, body = whole.partition(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        self.seen.asked += 1
        if status == 304:
            self.seen.same += 1
        elif status == 200:
            self.show(json.loads(body), time.time())
        else:
            raise ValueError(f"the panels answer {status}")

    def show(self, changed: dict[str, dict[str, str]], now: float) -> None:
        """Keep the tags; note every event that is shown for the first time."""
        for address, panel in changed.items():
            self.tags[address] = panel["etag"]
            for event in self.seen.shown.keys() - self.shows:
                if sentence_of(event) in panel["html"]:
                    self.shows.add(event)
                    self.seen.shown[event].append(now)

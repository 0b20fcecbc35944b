"""How does a browser hear that something on its page has changed?

A socket is asked for as `/ws/live?topic=…&topic=…&since=<last event id>&rights=<mark>` and says only *that* topics
changed; the page fetches *what*, and every fetch is authorised again. Frames: `{"topics": […], "last": "<id>",
"spread": 0.1, "at": 1.5, "rights": "<mark>"}`, with the seconds over which the pages should spread their questions,
the moment (seconds since 1970) from which a look at the database sees it all, and the mark of what the person may
do now (`console.rights`; empty while nobody has looked). A frame without topics comes now and then, so that a page
knows a dead socket from a quiet one.

Topics are for whoever has signed in and sees the cluster, as the pages are that show what they speak of: what one
may do shapes panels and forms. Of a cluster that one does not see, as of one that is not there, nothing is told. A
page that learns of another mark asks for its panels anew.
"""

import asyncio
import contextlib
import json
import logging
import math
import random
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.contrib.auth import HASH_SESSION_KEY
from django.utils import timezone

from audit.in_sight import without
from console.changes import Look, catch_up
from console.rights import MARK
from console.tail import Listener, tail_of_this_loop
from console.topics import is_topic
from console.welcome import Guest
from workloads.seen_by import hidden_from

log = logging.getLogger("rekindle.console.live")

TOPICS_AT_MOST = 8
FRAME_SECONDS = 0.25  # at least this long between two frames of one socket
CROWDED_SECONDS = 1.0  # and this long where many sockets are open
BEAT_SECONDS = 25.0  # at most so long nothing is said
LIFE_SECONDS = 900.0  # then it is closed, and its reconnect is authenticated again

SIGNED_OUT = 4401
NOT_UNDERSTOOD = 4400
TOO_MANY = 4429
COME_AGAIN = 4000


class _Gone(Exception):
    """The page at the other end is not there any more."""


class LiveConsumer(AsyncWebsocketConsumer):
    """One open page.

    It has no channel of its own on the layer: the tail hears for all, and a layer that is gone closes no socket.
    """

    channel_layer_alias = "none"

    async def connect(self) -> None:
        """Accept a person who is signed in, and start to tell."""
        self._telling: asyncio.Task[None] | None = None
        self._listener: Listener | None = None
        user = self.scope.get("user")
        await self.accept()
        if user is None or not user.is_authenticated or not user.is_active:
            await self.close(SIGNED_OUT)  # after the accept: a browser learns no reason otherwise
            return
        asked = _read(self.scope["query_string"])
        if asked is None:
            await self.close(NOT_UNDERSTOOD)
            return
        session = self.scope["session"]
        guest = Guest(session.session_key or "", user.pk, session.get(HASH_SESSION_KEY, ""))
        if tail_of_this_loop().crowded_by(guest):
            await self.close(TOO_MANY)
            return
        self._hidden = await database_sync_to_async(hidden_from)(user)
        self._listener = Listener(
            asked.topics, guest, last_id=asked.since or 0, rights=asked.rights, hidden=self._hidden.names
        )
        self._telling = asyncio.create_task(self._tell(self._listener, since=asked.since))

    async def disconnect(self, code: int) -> None:
        """Stop telling, and leave the tail."""
        if self._telling is not None:
            self._telling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._telling
        if self._listener is not None:
            await tail_of_this_loop().leave(self._listener)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """A page has nothing to say on this socket: its first word is the last, and it is told nothing more."""
        telling = self._telling
        if telling is not None and not telling.done() and not telling.cancelling():
            telling.cancel()
            await self.close(NOT_UNDERSTOOD)

    async def _tell(self, listener: Listener, since: int | None) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + LIFE_SECONDS * random.uniform(0.8, 1.2)  # noqa: S311  # spreads the reconnects
        try:
            await tail_of_this_loop().join(listener)
            if since is not None:
                listener.hear(await database_sync_to_async(self._caught_up)(listener.topics, since))
            await self._frame([], listener.last_id)
            while loop.time() < end:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(listener.rung.wait(), min(BEAT_SECONDS, end - loop.time()))
                if not listener.welcome:
                    await self.close(SIGNED_OUT)
                    return
                if loop.time() < end:
                    await self._frame(*listener.take())
                    await asyncio.sleep(max(FRAME_SECONDS, min(CROWDED_SECONDS, 4 * tail_of_this_loop().spread)))
        except _Gone:
            return  # nothing is left that could be closed; `disconnect` comes
        except Exception:
            log.exception("a socket could not be told; it is closed and will come again")
        await self.close(COME_AGAIN)

    def _caught_up(self, topics: frozenset[str], since: int) -> Look:
        with without(lambda: self._hidden):
            return catch_up(topics, since, timezone.now())

    async def _frame(self, topics: list[str], last_id: int) -> None:
        now = math.ceil(timezone.now().timestamp() * 1000) / 1000
        said = {"topics": topics, "last": str(last_id), "spread": tail_of_this_loop().spread, "at": now}
        said["rights"] = self._listener.rights if self._listener else ""
        try:
            await self.send(json.dumps(said))
        except OSError as error:  # what ASGI servers raise when the page was left in this very moment
            raise _Gone from error


@dataclass(frozen=True)
class _Asked:
    """What a page asks for: topics, the last event that it has seen, the mark of rights that it was made with."""

    topics: frozenset[str]
    since: int | None
    rights: str


def _read(query: Any) -> _Asked | None:
    """None when the query cannot be understood."""
    try:
        fields = parse_qs(bytes(query).decode("ascii"), max_num_fields=TOPICS_AT_MOST + 2)
    except (ValueError, UnicodeDecodeError):
        return None
    topics = fields.get("topic", [])
    since, rights = (fields.get(name, [""])[0] for name in ("since", "rights"))
    if not 1 <= len(topics) <= TOPICS_AT_MOST or not all(is_topic(topic) for topic in topics):
        return None
    if since and not (since.isascii() and since.isdigit() and len(since) <= 18):
        return None
    if rights and not MARK.fullmatch(rights):
        return None
    return _Asked(frozenset(topics), int(since) if since else None, rights)

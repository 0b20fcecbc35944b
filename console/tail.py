"""Which sockets must hear of what has changed? One tail per event loop, running while a socket is open.

The stored rows are the truth. The tail polls them (`REKINDLE_LIVE_SECONDS`), and a message on the channel layer
only makes it poll earlier: a lost message costs latency and nothing else.
"""

import asyncio
import contextlib
import logging
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.conf import settings
from django.utils import timezone

from console.changes import Look, Watcher
from console.topics import seen_of
from console.welcome import Guest, Standing, still_welcome

log = logging.getLogger("rekindle.console.tail")

WAKE_GROUP = "wake"
PATIENCE_SECONDS = 2.0  # after a failed look or a lost channel layer
BREATH_SECONDS = 0.05  # between looks when many wake-ups come
WELCOME_SECONDS = 5.0  # so often it is looked whether the people are still let in, and what they may do
SOCKETS_OF_ONE = 100  # open pages of one person in one process
CROWD = 500  # so many pages open in one process ask over a whole second; fewer over less


@dataclass(eq=False)
class Listener:
    """One socket's ear: what it wants to hear of, and what it has not been told yet.

    `pending` is bounded by `topics`: a socket that reads slowly is told less often, never later and later.
    """

    topics: frozenset[str]
    guest: Guest
    welcome: bool = True
    rights: str = ""  # the mark of what its person may do, as the page knows it or as it was found last
    hidden: frozenset[str] = frozenset()  # clusters that its person does not see
    pending: set[str] = field(default_factory=set)
    last_id: int = 0
    rung: asyncio.Event = field(default_factory=asyncio.Event)

    def hear(self, look: Look) -> None:
        """Keep what concerns this socket, and ring when there is something."""
        self.last_id = max(self.last_id, look.last_id)
        self.pending |= self.topics & seen_of(look.topics, self.hidden)
        if self.pending:
            self.rung.set()

    def show_out(self) -> None:
        """This person is no longer let in: the socket says so and closes."""
        self.welcome = False
        self.rung.set()

    def may(self, standing: Standing) -> None:
        """Keep what this person may do and see now, and ring when the page knows another mark."""
        known, self.rights, self.hidden = self.rights, standing.rights, standing.hidden
        if known and known != self.rights:
            self.rung.set()

    def take(self) -> tuple[list[str], int]:
        """What is to be told now, with the last event id seen."""
        topics, self.pending = sorted(self.pending), set()
        self.rung.clear()
        return topics, self.last_id


class Tail:
    """Looks for changes while somebody listens."""

    def __init__(self) -> None:
        self._listeners: set[Listener] = set()
        self._woken = asyncio.Event()
        self._ready = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def join(self, listener: Listener) -> None:
        """Tell this listener from now on; the first one starts the tail.

        Returns when the tail knows where it stands: what is committed later is told, what was committed before
        is found by `catch_up`.
        """
        self._listeners.add(listener)
        if not self._tasks:
            self._ready.clear()
            work = self._follow(), self._hear_wakes(), self._watch_the_door()
            self._tasks = [asyncio.create_task(each) for each in work]
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ready.wait(), PATIENCE_SECONDS)

    def crowded_by(self, guest: Guest) -> bool:
        """Whether one person has so many pages open here that no more are told."""
        return sum(one.guest.person == guest.person for one in self._listeners) >= SOCKETS_OF_ONE

    async def leave(self, listener: Listener) -> None:
        """Forget this listener; the last one stops the tail."""
        self._listeners.discard(listener)
        if not self._listeners:
            tasks, self._tasks = self._tasks, []
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self) -> None:
        watcher = Watcher()
        look = database_sync_to_async(watcher.look)
        while True:
            wait = settings.REKINDLE["REKINDLE_LIVE_SECONDS"]
            try:
                found = await look(self._wanted(), timezone.now())
                self._ready.set()
                for listener in list(self._listeners):
                    listener.hear(found)
            except Exception:
                log.exception("the tail could not read; it goes on in %s s", PATIENCE_SECONDS)
                wait = PATIENCE_SECONDS
            await asyncio.sleep(min(BREATH_SECONDS, wait))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), wait)
            self._woken.clear()

    @property
    def spread(self) -> float:
        """Over how many seconds those who hear the same should ask, so that few are quick and many are no crowd."""
        return round(min(1.0, len(self._listeners) / CROWD), 3)

    async def _watch_the_door(self) -> None:
        look = database_sync_to_async(still_welcome)
        while True:
            await asyncio.sleep(WELCOME_SECONDS)
            asked = list(self._listeners)
            try:
                welcome = await look([listener.guest for listener in asked], timezone.now())
            except Exception:
                log.exception(
                    "it could not be looked who is still let in; every fetch is asked for its rights anyway"
                )
                continue
            for listener in asked:
                if listener.guest in welcome:
                    listener.may(welcome[listener.guest])
                else:
                    listener.show_out()

    def _wanted(self) -> frozenset[str]:
        return frozenset().union(*(listener.topics for listener in self._listeners))

    async def _hear_wakes(self) -> None:
        while True:
            try:
                await self._hear_layer()
            except Exception:
                log.warning("no wake-ups from the channel layer; polling goes on", exc_info=True)
                await asyncio.sleep(PATIENCE_SECONDS)

    async def _hear_layer(self) -> None:
        layer: Any = get_channel_layer()
        channel = await layer.new_channel()
        await layer.group_add(WAKE_GROUP, channel)
        try:
            while True:
                await layer.receive(channel)
                self._woken.set()
        finally:
            # An error here would take the place of a cancellation, and the tail would never end.
            with contextlib.suppress(Exception):
                await layer.group_discard(WAKE_GROUP, channel)


_tails: WeakKeyDictionary[asyncio.AbstractEventLoop, Tail] = WeakKeyDictionary()


def tail_of_this_loop() -> Tail:
    """The tail of the running event loop."""
    return _tails.setdefault(asyncio.get_running_loop(), Tail())


def loops_with_a_tail() -> list[asyncio.AbstractEventLoop]:
    """The running loops of this process that have one."""
    return [loop for loop in list(_tails) if loop.is_running()]

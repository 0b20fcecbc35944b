"""In which order are the lines of several streams read? By the time that they show, each stream in its own order.

A stream whose beginning shows no time, and what stands behind the last time of a stream, may have been written at
any moment up to the end: it is read last, as a watcher would who comes when all is over. The lines of a block are
sifted in other processes, a few blocks ahead.
"""

import heapq
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from multiprocessing import get_context

from detectors.diagnosing.blocks import Block
from detectors.diagnosing.sifting import Clock, Row, Sifted, sift

WORKERS_AT_MOST = 16
HOSTS_KEPT = 4096

AHEAD = 8  # blocks for each core that are under way: with two, the sifting waited for the folding (measured)


@dataclass
class Stream:
    """One file that is read. `hosts` are shared by all streams; `troubles` gets a sentence when it breaks off."""

    name: str
    place: int
    blocks: Iterator[Block]
    clock: Clock
    host: str | None = None
    rank: int | None = None
    held: list[Row] = field(default_factory=list)


Placed = tuple[datetime, int, Stream, Row]
"""When a line was written (by what it or the next one shows), the place of its stream, the stream and the line."""


class Merger:
    """Reads streams once. `hosts`, `newest_at`, `size`, `passed_over` and `troubles` grow while `rows` is taken."""

    def __init__(
        self,
        streams: Sequence[Stream],
        pool: Executor | None,
        ask_hosts: bool,
        seen: Callable[[int], None] = lambda _size: None,
    ) -> None:
        self._streams, self._pool, self._ask_hosts, self._seen = streams, pool, ask_hosts, seen
        self.many = len(streams)
        self._ahead = max(1, AHEAD * (os.cpu_count() or 1) // max(1, len(streams))) if pool else 1
        self.hosts: dict[str, None] = {}
        self.newest_at: datetime | None = None
        self.size = 0
        self.passed_over = 0  # repetitions that were left out before they got here
        self.dated = 0  # streams that show when they were written
        self.troubles: list[str] = []

    def rows(self, begin: datetime, end: datetime | None) -> Iterator[Placed]:
        """All lines that may say anything. `begin`: when nothing is known of a time; `end`: when the job ended."""
        late: list[tuple[Stream, Iterator[Sifted]]] = []
        dated: list[Iterator[Placed]] = []
        for stream in self._streams:
            parts = self._sifted(stream)
            first = next(parts, None)
            if first is not None and first.first_at is not None:
                self.dated += 1
                dated.append(self._dated(stream, first, parts))
            elif first is not None:
                late.append((stream, _again(first, parts)))
        yield from dated[0] if len(dated) == 1 else heapq.merge(*dated, key=lambda placed: placed[:2])
        known = [at for at in (self.newest_at, end) if at is not None]
        last_at = max(known, default=begin)
        for stream in self._streams:
            yield from ((last_at, stream.place, stream, row) for row in stream.held)
        for stream, parts in late:
            running = last_at
            for part in parts:
                for row in part.rows:
                    running = max(running, row.at or running)
                    yield running, stream.place, stream, row

    def _dated(self, stream: Stream, first: Sifted, parts: Iterator[Sifted]) -> Iterator[Placed]:
        running = first.first_at
        for part in _again(first, parts):
            for row in part.rows:
                if row.at is None and part.last:
                    stream.held.append(row)
                    continue
                at = row.at or part.last_at
                running = max(running, at) if running and at else running or at
                if running is not None:
                    yield running, stream.place, stream, row

    def _sifted(self, stream: Stream) -> Iterator[Sifted]:
        """The blocks of a stream, sifted, in their order; a few are under way at a time."""
        waiting: deque[Sifted | Future[Sifted]] = deque()
        alone = len(self._streams) == 1
        for block in stream.blocks:
            if self._pool is None:
                waiting.append(sift(block, stream.clock, self._ask_hosts, alone))
            else:
                waiting.append(self._pool.submit(sift, block, stream.clock, self._ask_hosts, alone))
            if len(waiting) > self._ahead:
                yield self._taken(stream, waiting.popleft())
        while waiting:
            yield self._taken(stream, waiting.popleft())

    def _taken(self, stream: Stream, part: Sifted | Future[Sifted]) -> Sifted:
        done = part.result() if isinstance(part, Future) else part
        for host in done.hosts:
            if len(self.hosts) < HOSTS_KEPT:
                self.hosts.setdefault(host)
        self.newest_at = max((at for at in (self.newest_at, done.last_at) if at is not None), default=None)
        self.size += done.size
        self.passed_over += done.passed_over
        if done.broken:
            self.troubles.append(f"{stream.name}: {done.broken}")
        self._seen(self.size)
        return done


@contextmanager
def workers(wanted: bool) -> Iterator[Executor | None]:
    """A process for each core, or none where there is little to do; they know the catalogue already."""
    if not wanted:
        yield None
        return
    count = min(os.cpu_count() or 1, WORKERS_AT_MOST)
    with ProcessPoolExecutor(count, mp_context=get_context("fork"), initializer=_leave_interrupts) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _leave_interrupts() -> None:
    """Ctrl-C is for the one process that was called: it ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _again(first: Sifted, parts: Iterator[Sifted]) -> Iterator[Sifted]:
    yield first
    yield from parts

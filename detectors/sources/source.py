"""What does a source of records take, and what does it give?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from detectors.catalogue.records import Record
from workloads.log_paths import LogPattern

Position = Mapping[str, Any]
"""Where a stream was read up to: stored JSON, understood by its source alone."""


@dataclass(frozen=True)
class Asked:
    """Which lines are wanted: those of one attempt.

    `owner` is the user id that must own its files; when unknown (`None`) none is read. `taken_over_at` is when the
    next attempt of the job began, which may write to the same files; `listed_at` is when the scheduler was listed.
    `real_roots`: the roots with their own links resolved, where that was done for many attempts at once.
    """

    patterns: tuple[LogPattern, ...]
    roots: tuple[str, ...]
    owner: int | None
    nodes: tuple[str, ...]
    started_at: datetime | None
    ended: bool
    taken_over_at: datetime | None = None
    listed_at: datetime | None = None
    real_roots: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Stream:
    """One place with lines; `host` and `rank` are what its name tells. `trouble`: why it cannot be read."""

    name: str
    host: str | None = None
    rank: int | None = None
    trouble: str = ""


@dataclass(frozen=True)
class Found:
    """The streams of an attempt, and every place looked at, as an operator would write it."""

    streams: tuple[Stream, ...]
    tried: tuple[str, ...]
    trouble: str = ""


@dataclass(frozen=True)
class Portion:
    """What one stream gave in one turn.

    `position` is `None` when nothing moved. `at_end`: nothing is left to be read now. `written_at` is when it last
    grew, as far as the source can tell. `cut` counts the lines that were too long. `empty`: not one complete line
    stands in it, though there may have been some before. `taken`: keys of stored messages that were read.
    """

    stream: Stream
    position: Position | None
    records: Sequence[Record] = ()
    at_end: bool = True
    written_at: datetime | None = None
    trouble: str = ""
    cut: int = 0
    empty: bool = False
    taken: tuple[int, ...] = ()


@dataclass(frozen=True)
class Known:
    """What is stored of a stream: its own position; for one never read, where another attempt's reading ended."""

    own: Position = field(default_factory=dict)
    before: Position = field(default_factory=dict)


class Source(Protocol):
    """A source of records. It changes nothing; whoever calls it stores the positions."""

    name: str

    def find(self, asked: Asked) -> Found:
        """The streams of an attempt as they are now."""

    def read(self, asked: Asked, stream: Stream, known: Known, budget: int, now: datetime) -> Portion:
        """The lines of one stream beyond its position, at most `budget` bytes of them."""

    def around(self, asked: Asked, stream: Stream, position: Position, start: int, end: int) -> bytes:
        """The bytes from `start` to `end`, as far as they are still what was read; else none."""

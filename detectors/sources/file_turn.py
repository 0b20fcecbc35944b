"""What does one turn over one file know, and what is said of the lines that it finds?"""

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from detectors.catalogue.texts import Lines, Text
from detectors.sources.position import FilePosition
from detectors.sources.rotated import Unpacking
from detectors.sources.source import Asked, Stream

PARTIAL_WAIT = timedelta(seconds=2)  # the last line of an ended attempt may lack its newline


@dataclass(frozen=True)
class Turn:
    """One turn over one file. `own`: where the attempt is; `before`: where an earlier attempt's reading ended."""

    asked: Asked
    stream: Stream
    own: FilePosition | None
    before: FilePosition | None
    budget: int
    now: datetime
    unpacking: Unpacking = field(default_factory=Unpacking)


def lines_of(turn: Turn, pieces: tuple[tuple[int, bytes], ...], written_at: datetime) -> Lines:
    """`read_at` is the file's time, held between the start and now: the job's owner can set it to anything."""
    read_at = min(max(written_at, turn.asked.started_at or written_at), turn.now)
    name, host, rank = turn.stream.name, turn.stream.host, turn.stream.rank
    return Lines(Text(name, offset, raw, read_at, host, rank) for offset, raw in pieces)


def taken_over(asked: Asked, status: os.stat_result) -> bool:
    """Whether the next attempt of the job may have written to the file."""
    return asked.taken_over_at is not None and written(status) >= asked.taken_over_at


def written(status: os.stat_result) -> datetime:
    """When the file was last written to, as its file system says; 1970 when that is no time."""
    try:
        return datetime.fromtimestamp(status.st_mtime, UTC)
    except (OverflowError, OSError, ValueError):
        return datetime.fromtimestamp(0, UTC)

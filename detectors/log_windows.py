"""What stands in a log of an attempt at some place? For people: a bounded piece, by the rules of reading.

The file is opened as the detectors open it: below the cluster's log roots, the job's own user's, no link. It is
shown only where it still is what was read, and never beyond the place up to which it was read: what stands there
may be another attempt's. A file that was renamed or packed since is found beside its name, by what it holds; its
offsets stay those of its text.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from detectors.models import Feed
from detectors.sources.files import FileSource
from detectors.sources.opening import NotThere, Opened, Unreadable, opened, real_roots
from detectors.sources.position import FilePosition
from detectors.sources.rotated import BROKEN, Rotated, opened_rotated, siblings
from detectors.unpacked_windows import Refused, for_a_page, unpacked_window
from workloads.models import Attempt

BEFORE = 65_536  # bytes looked at in front of a piece: a secret may begin there
PIECE = 131_072  # bytes of a piece at most
COUNTED = 8 << 20  # lines are counted up to this byte; behind it nobody waits for their number
CHUNK = 1 << 20

STORED_ELSEWHERE = "Its lines come from another source than a file, so only what was stored of them can be shown."
NOT_READ = "Nothing of it has been read yet."
PACKED_ALONE = (".gz", ".bz2", ".xz")  # a person packs a log without renaming it
REWRITTEN = (
    "The file was shortened or written anew since it was read, as a requeue does. What it held then is gone."
)
NOT_THERE = "The file is not there any more: it was deleted, or moved to another folder."


@dataclass(frozen=True)
class LogWindow:
    """Bytes of a log. `start`: offset of the first one; those in front of `shown_from` only tell what to mask.

    `end`: up to where the log was read. `line`: the number of the line at `shown_from`, from 1, where counted.
    `moved_to`: the name of the file that it was renamed to. `trouble`: why there is nothing, as a sentence.
    """

    start: int = 0
    content: bytes = b""
    shown_from: int = 0
    end: int = 0
    line: int | None = None
    moved_to: str = ""
    trouble: str = ""


class _Text(Protocol):
    """A file that is read at offsets."""

    def read(self, offset: int, size: int) -> bytes:
        """`size` bytes from `offset` on, less at its end."""

    def continues(self, own: FilePosition) -> bool:
        """Whether it is still what was read."""


@dataclass(frozen=True)
class _Plain:
    file: Opened

    def read(self, offset: int, size: int) -> bytes:
        """From the open file."""
        return os.pread(self.file.descriptor, size, offset)

    def continues(self, own: FilePosition) -> bool:
        """By its beginning and what stands before the position."""
        return own.continues(self.file.descriptor, self.file.status)


def read_window(attempt: Attempt, feed: Feed, start: int, size: int, now: datetime) -> LogWindow:
    """At most `size` bytes from `start` on, kept within what was read; reads `attempt.job.cluster`."""
    own = FilePosition.read(feed.position)
    if feed.source != FileSource.name:
        return LogWindow(trouble=STORED_ELSEWHERE)
    if own is None:
        return LogWindow(trouble=NOT_READ)
    start = min(max(start, 0), own.offset)
    size = max(0, min(size, PIECE, own.offset - start))
    job = attempt.job
    roots = real_roots(job.cluster.log_roots)
    trouble = REWRITTEN
    try:
        with opened(feed.stream, roots, job.user_id) as file:
            if (found := _window(_Plain(file), own, start, size, "")) is not None:
                return found
    except NotThere:
        trouble = NOT_THERE
    except (Unreadable, OSError) as error:
        return LogWindow(end=own.offset, trouble=f"It cannot be read from here: {_why(error)}.")
    unpacking = for_a_page()  # for all of them: whoever owns the job may lay many beside it
    for name in _beside(feed.stream, now):
        try:
            with opened_rotated(name, roots, job.user_id, unpacking) as old:
                found = _old_window(old, own, start, size) if old is not None else None
        except Refused as refused:
            trouble = str(refused)
            continue
        except BROKEN:
            continue
        if found is not None:
            return found
    return LogWindow(end=own.offset, trouble=trouble)


def _beside(path: str, now: datetime) -> Iterator[str]:
    """What a log may have become, the newest first."""
    yield from (path + end for end in PACKED_ALONE)
    yield from reversed(siblings(path, now.timestamp()))


def _old_window(old: Rotated, own: FilePosition, start: int, size: int) -> LogWindow | None:
    name = os.path.basename(old.path)
    if not old.packed:
        return _window(old, own, start, size, name)
    first = max(0, start - BEFORE)
    found = unpacked_window(old, own, first, start - first + size, start if start <= COUNTED else None)
    if found is None:
        return None
    return LogWindow(first, found.content, start, own.offset, found.line, name)


def _window(text: _Text, own: FilePosition, start: int, size: int, moved_to: str) -> LogWindow | None:
    """`None` when it is not, or is no longer, what was read."""
    if not text.continues(own):
        return None
    first = max(0, start - BEFORE)
    content = text.read(first, start - first + size)
    line = _line(text, start)
    if not text.continues(own):  # shortened while it was read
        return None
    return LogWindow(first, content, start, own.offset, line, moved_to)


def _line(text: _Text, start: int) -> int | None:
    """The number of the line that holds byte `start`, where it is near enough to the beginning."""
    if start > COUNTED:
        return None
    places = range(0, start, CHUNK)
    return 1 + sum(text.read(place, min(CHUNK, start - place)).count(b"\n") for place in places)


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return (error.strerror or "it cannot be opened").lower()
    return str(error)

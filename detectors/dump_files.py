"""Which dumps of Flight Recorders are new below the log roots, and what do they tell? Files only, no database.

The rules are those of logs (`sources.opening`), and a link is none. A file is read once for each time that it was
written; what one judgement reads is bounded in files, bytes and seconds, and the next one goes on.
"""

import logging
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from detectors.diagnosing.opening import BROKEN, PEEK, unpacked_of
from detectors.dumps.pickles import BadDump
from detectors.dumps.recording import Recording, looks_recorded, recording
from detectors.sources.finding import FILES_LIMIT, below, paths_of, plain
from detectors.sources.opening import Unreadable, opened
from workloads.log_paths import Hints, LogPattern, hints_of

log = logging.getLogger(__name__)
FILES_AT_ONCE = 512  # read by one judgement
BYTES_AT_ONCE = 128 << 20  # unpacked, by one judgement
LARGEST_FILE = 16 << 20  # bytes, unpacked; the recorder's default of 2,000 entries takes 1 to 10 MB
MOST_THINGS = 2_000_000  # that one dump is built of: 20,000 entries; at most about 3 s and 200 MiB
SECONDS_AT_ONCE = 2.0  # of one judgement; a dump of 2,000 entries takes 0.06 s
SECONDS_OF_ALL = 4.0  # of all judgements of one sweep
_XZ = b"\xfd7zXZ\x00"  # whoever unpacks it makes room for as much as the file asks for
_NAME = 200  # characters of a path that are told


@dataclass(frozen=True)
class Asked:
    """Which files are meant. `roots` are real; a dump was written from `since` to `until`."""

    patterns: Sequence[LogPattern]
    roots: Sequence[str]
    owner: int | None
    nodes: Sequence[str]
    since: datetime
    until: datetime


@dataclass
class Spending:
    """What the judgements of one sweep may still spend on dumps. `clock`: of the door; without it time is free."""

    clock: Callable[[], float] | None = None
    left: float = SECONDS_OF_ALL

    @contextmanager
    def one(self) -> Iterator[Callable[[], bool]]:
        """For one judgement; tells whether there is no time left."""
        clock = self.clock
        if clock is None:
            yield lambda: False
            return
        began, may = clock(), min(self.left, SECONDS_AT_ONCE)
        try:
            yield lambda: clock() - began >= may
        finally:
            self.left -= clock() - began


@dataclass(frozen=True)
class Seen:
    """A file as it was when it was read. `why` is empty when it was a dump."""

    written: int  # nanoseconds since 1970
    size: int
    why: str = ""


@dataclass
class Look:
    """What one look gave. `seen`: all that is there and was read, now or before; `waiting`: how many were not."""

    seen: dict[str, Seen] = field(default_factory=dict)
    told: list[tuple[str, Recording]] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    waiting: int = 0


def look(asked: Asked, before: Mapping[str, Seen], spending: Spending) -> Look:
    """Read what is new since `before`, which holds what was read of each path."""
    made, files, size = Look(), 0, 0
    with spending.one() as is_over:
        for path, hints, status in _listed(asked, made):
            known = before.get(path)
            if known is not None and (known.written, known.size) == (status.st_mtime_ns, status.st_size):
                made.seen[path] = known
                continue
            if files >= FILES_AT_ONCE or size >= BYTES_AT_ONCE or is_over():
                made.waiting += 1
                continue
            told, taken = _read(path, hints, status, asked)
            files, size = files + 1, size + taken
            why = told if isinstance(told, str) else ""
            made.seen[path] = Seen(status.st_mtime_ns, status.st_size, why)
            if not isinstance(told, str):
                made.told.append((shown(path), told))
    return made


def shown(path: str) -> str:
    """A path as it may be told: its end, printable."""
    return "".join(one if one.isprintable() else "\ufffd" for one in path[-_NAME:])


def _listed(asked: Asked, made: Look) -> list[tuple[str, Hints, os.stat_result]]:
    """The files of the attempt's time, by path; sentences about folders that cannot be read."""
    found: dict[str, Hints] = {}
    for pattern in asked.patterns:
        if why := _folder_trouble(pattern, asked.roots):
            made.troubles.append(why)
            continue
        for path, hints in hints_of(pattern, paths_of(pattern, asked.roots), asked.nodes).items():
            found.setdefault(path, hints)
    if len(found) > FILES_LIMIT:
        made.troubles.append(
            f"more than {FILES_LIMIT} files match the dump patterns: the others were not looked at"
        )
    since, until = (int(at.timestamp() * 1e9) for at in (asked.since, asked.until))
    listed = []
    for path in sorted(found)[:FILES_LIMIT]:
        try:
            status = os.lstat(path)
        except (OSError, ValueError):  # gone, or never there
            continue
        if since <= status.st_mtime_ns <= until:
            listed.append((path, found[path], status))
    return listed


def _folder_trouble(pattern: LogPattern, roots: Sequence[str]) -> str:
    """Why the folder in which the pattern begins cannot be looked through; empty when it can, or is not there."""
    parts = pattern.glob.split("/")
    fixed = next((place for place, part in enumerate(parts) if "*" in part.replace("[*]", "")), len(parts) - 1)
    folder = plain("/".join(parts[:fixed])) or "/"
    if not below(folder, roots):
        return f"no dumps were looked for in {shown(folder)}: it lies outside the cluster's log roots"
    try:
        if pattern.wild:
            with os.scandir(folder):
                pass
        else:
            os.lstat(plain(pattern.glob))
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        return f"no dumps were looked for in {shown(folder)}: {_reason(error)}"
    return ""


def _read(path: str, hints: Hints, status: os.stat_result, asked: Asked) -> tuple[Recording | str, int]:
    """The recording, or why there is none; and how many bytes were read."""
    if stat.S_ISLNK(status.st_mode):
        return "it is a link", 0
    content = b""
    try:
        with opened(path, asked.roots, asked.owner) as file:
            content = _content(file.descriptor)
        if len(content) > LARGEST_FILE:
            return f"a dump may have {LARGEST_FILE >> 20} MiB", len(content)
        if not looks_recorded(content[:PEEK]):
            return "it is no dump of the Flight Recorder", len(content)
        return recording(content, path, hints.rank, hints.host or "", MOST_THINGS), len(content)
    except (Unreadable, BadDump) as error:
        return str(error), len(content)
    except BROKEN:
        return "it breaks off or is damaged", len(content)
    except Exception:  # one hostile dump must not stop the judgement
        log.exception("a dump broke its reader")
        return "it breaks its reader", len(content)


def _content(descriptor: int) -> bytes:
    with os.fdopen(os.dup(descriptor), "rb") as raw:
        head = raw.peek(PEEK)[:PEEK]
        if head.startswith(_XZ):
            raise BadDump("it is packed with xz: unpack it first")
        unpacked = unpacked_of(raw, head)
        return (raw if unpacked is None else unpacked).read(LARGEST_FILE + 1)


def _reason(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else "the name cannot be used"
    return text[:1].lower() + text[1:]

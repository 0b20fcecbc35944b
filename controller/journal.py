"""What did we begin, even if we die right now? An append-only file, one JSON object per line.

A line is on the disk before the command that it speaks of is run. Only one process writes it, which a lock file
holds; the watchdog reads it beside. A torn last line is one that nobody acted on: it is cut off.
"""

import fcntl
import json
import os
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from controller.advice import Advice
from controller.entries import Action, BadLine, Entry, Memory, Outcome, Spread, line_of, opened_line, spread_line

REMEMBER_EXCLUSIONS = timedelta(days=30)  # jobs that live longer keep our exclusions; the user may clear them
COMPACT_BYTES = 8 * 1024 * 1024
LARGEST_JOURNAL = 64 * 1024 * 1024  # bytes that are ever read


class BadJournal(Exception):
    """The journal cannot be used; the sentence says why and what to do."""


class Journal:
    """The journal of this host's controller, open for writing and locked. Close it, or use it in `with`."""

    def __init__(self, path: Path, now: datetime) -> None:
        self.path = path
        self.memory = Memory()
        self._lock = _locked(path.with_name(path.name + ".lock"))
        self._file = -1
        self._size = 0
        try:
            self._start(now)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and give up the lock."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    @property
    def entries(self) -> dict[tuple[str, int], Entry]:
        """Every open entry by attempt and generation."""
        return self.memory.entries

    def open_entry(self, advice: Advice) -> Entry:
        """Begin an entry for `advice`, or the one that is open already."""
        if advice.key not in self.entries:
            self._append(opened_line(advice))
        return self.entries[advice.key]

    def announced(self, advice: Advice, at: datetime) -> None:
        """The Advisor has stored what we intend."""
        self._append(line_of("announced", advice, at))

    def unknown(self, advice: Advice, nodes: tuple[str, ...], at: datetime) -> None:
        """The scheduler does not know these nodes of the advice."""
        self._append(line_of("unknown", advice, at, nodes=list(nodes)))

    def intend(self, advice: Advice, action: Action, at: datetime, ours: tuple[str, ...] = ()) -> None:
        """We are about to run this command: on the disk when this returns."""
        more = {"ours": list(ours)} if ours else {}
        self._append(line_of("intent", advice, at, action=action.value, **more))

    def answered(self, advice: Advice, action: Action, outcome: Outcome, at: datetime, sentence: str = "") -> None:
        """The scheduler's answer, which proves nothing."""
        line = line_of("answer", advice, at, action=action.value, outcome=outcome.value, sentence=sentence[:300])
        self._append(line)

    def seen(self, advice: Advice, action: Action, restarts: int, at: datetime) -> None:
        """A look at the scheduler proved it."""
        self._append(line_of("seen", advice, at, action=action.value, r=restarts))

    def told(self, advice: Advice, action: Action, at: datetime) -> None:
        """The Advisor has stored the milestone."""
        self._append(line_of("told", advice, at, action=action.value))

    def finished(self, advice: Advice, at: datetime, reason: str) -> None:
        """Nothing is left to do for this advice."""
        self._append(line_of("finished", advice, at, reason=reason))

    def spread(self, spread: Spread) -> None:
        """The waiting tasks of an array should leave these nodes out."""
        self._append(spread_line(spread))

    def spread_over(self, spread: Spread) -> None:
        """Nothing is left to do for these waiting tasks."""
        job, user = spread.key
        self._append({"what": "array over", "job": job, "user": user})

    def set_fence(self, fence: int, at: datetime) -> None:
        """Remember the fencing number of our lease, and of which entries another holder may have done something."""
        if fence == self.memory.fence:
            return
        for entry in tuple(self.entries.values()):
            if not next_lease(self.memory.fence, fence) and not entry.others:
                self._append(line_of("others", entry.advice, at))
        self._append({"what": "fence", "fence": fence})

    def check_place(self) -> None:
        """Raise `BadJournal` when the file is not where the watchdog and the next start look for it."""
        if not _same(self.path, self._file):
            raise BadJournal(
                f"the journal {self.path} was moved away while it is used; put it back, or start again"
            )

    def compact_if_large(self, now: datetime) -> None:
        """Drop finished entries when the file has grown."""
        if self._size > COMPACT_BYTES:
            self._compact(_lines(_content(self.path)), now)

    def _start(self, now: datetime) -> None:
        lines = _lines(_content(self.path))
        for number, line in enumerate(lines, 1):
            try:
                self.memory.fold(line)
            except BadLine as error:
                raise BadJournal(
                    f"{self.path}:{number}: this line of the journal cannot be read ({error}). Look at the jobs it "
                    "names, then move the file away."
                ) from error
        self._compact(lines, now)

    def _compact(self, lines: list[dict[str, Any]], now: datetime) -> None:
        """Write what still matters to a new file and put it in the old one's place, atomically."""
        kept = [line for line in lines if line.get("what") != "array" and _key(line) in self.entries]
        kept = self.memory.remembered(now - REMEMBER_EXCLUSIONS) + kept
        fresh = self.path.with_name(self.path.name + ".new")
        descriptor = -1
        try:
            fresh.unlink(missing_ok=True)  # left behind by a kill, or put there by somebody else
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            _write_all(descriptor, b"".join(_bytes(line) for line in kept))
            os.fsync(descriptor)
            os.replace(fresh, self.path)
            _sync_folder(self.path.parent)
        except OSError as error:
            if descriptor >= 0:
                os.close(descriptor)
            raise BadJournal(f"the journal {self.path} cannot be written: {error.strerror}") from error
        if self._file >= 0:
            os.close(self._file)
        self._file = descriptor
        self._size = os.fstat(descriptor).st_size

    def _append(self, line: dict[str, Any]) -> None:
        """Put one line on the disk, then into the memory. On `OSError` neither holds it."""
        content = _bytes(line)
        try:
            os.ftruncate(self._file, self._size)
            _write_all(self._file, content, self._size)
            os.fsync(self._file)
        except OSError as error:
            raise BadJournal(f"the journal {self.path} cannot be written: {error.strerror}") from error
        self._size += len(content)
        self.memory.fold(line)


def next_lease(before: int, fence: int) -> bool:
    """Whether nobody had the lease between these fencing numbers."""
    return fence in {before, before + 1}


def _same(path: Path, descriptor: int) -> bool:
    """Whether the open file is what stands there: the watchdog and the next start read that."""
    try:
        there = path.lstat()
    except OSError:
        return False
    ours = os.fstat(descriptor)
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)


def read_entries(path: Path) -> tuple[Entry, ...]:
    """Open entries of a journal that another process may be writing; lines that cannot be read are passed over."""
    memory = Memory()
    for line in _lines(_content(path), strict=False):
        try:
            memory.fold(line)
        except BadLine:
            continue
    return tuple(memory.entries.values())


def _locked(path: Path) -> int:
    """The lock file, held until it is closed. Raises `BadJournal` when another process holds it."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise BadJournal(f"the lock file {path} cannot be opened: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        owner = os.read(descriptor, 20).decode("ascii", "replace").strip()
        os.close(descriptor)
        raise BadJournal(f"another controller (process {owner or 'unknown'}) uses the journal of {path}") from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


def _content(path: Path) -> bytes:
    try:
        with open(path, "rb", opener=_open_plainly) as file:
            status = os.fstat(file.fileno())
            if status.st_uid not in {0, os.geteuid()} or status.st_mode & 0o022:
                # Whoever writes it says which held jobs are ours to release.
                raise BadJournal(f"the journal {path} could be somebody else's: it must be ours, with mode 600")
            content = file.read(LARGEST_JOURNAL + 1)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise BadJournal(f"the journal {path} cannot be read: {error.strerror}") from error
    if len(content) > LARGEST_JOURNAL:
        raise BadJournal(f"the journal {path} is larger than {LARGEST_JOURNAL} bytes")
    return content


def _open_plainly(path: str, flags: int) -> int:
    """Open without following a link and without waiting for a pipe's other end."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _lines(content: bytes, strict: bool = True) -> list[dict[str, Any]]:
    """The lines of a journal; what is broken at its end was never acted on and is left out."""
    lines = [_parsed(line) for line in content.split(b"\n")[:-1]]
    while lines and lines[-1] is None:
        lines.pop()
    return [line if line is not None else {} for line in lines if strict or line is not None]


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _key(line: dict[str, Any]) -> tuple[str, int]:
    advice = line.get("advice")
    if isinstance(advice, dict):
        return str(advice.get("heimdallJobId")), int(advice.get("generation", 0))
    return str(line.get("id")), int(line.get("g", 0))


def _bytes(line: dict[str, Any]) -> bytes:
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def _write_all(descriptor: int, content: bytes, offset: int = 0) -> None:
    while content:
        written = os.pwrite(descriptor, content, offset)
        content, offset = content[written:], offset + written


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

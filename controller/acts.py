"""What did the watchdog do? A local file, one JSON object per line, on the disk before the act it speaks of.

It is for people first, and needs nobody else. What the Advisor's trail has got of it stands in a file beside it:
how many bytes. A line that cannot be read is passed over, for a torn one is followed by a whole one.
"""

import json
import os
import uuid
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

MOST_READ = 1 << 20  # bytes handed over in one go


@dataclass(frozen=True)
class Act:
    """One act: a release that is about to be sent (`sent`), or what was answered to it."""

    key: str
    at: str
    job: int
    restarts: int
    generation: int
    outcome: str
    sentence: str


class Acts:
    """The file. `write` raises `OSError` where the disk does not take it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._told = path.with_name(f"{path.name}.told")

    def write(self, job: int, restarts: int, *, generation: int, outcome: str, sentence: str, at: datetime) -> None:
        """Append one act."""
        when = at.astimezone(UTC).isoformat()
        act = Act(str(uuid.uuid4()), when, job, restarts, generation, outcome, sentence[:300])
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self.path, flags, 0o600)
        try:
            os.write(descriptor, b"\n" * self._torn() + json.dumps(asdict(act)).encode() + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    @property
    def waiting(self) -> bool:
        """Whether there is something that the Advisor has not got."""
        try:
            return self.path.stat().st_size > self.told()
        except OSError:
            return False

    def told(self) -> int:
        """How many bytes the Advisor has got."""
        try:
            return max(0, int(self._told.read_text()[:20]))
        except (OSError, ValueError):
            return 0

    def set_told(self, size: int) -> None:
        """Remember it, atomically."""
        fresh = self._told.with_name(f"{self._told.name}.new")
        fresh.write_text(f"{size}\n")
        os.replace(fresh, self._told)

    def untold(self) -> list[tuple[Act | None, int]]:
        """Whole lines that the Advisor has not got, each with the size up to its end; `None`: it cannot be read."""
        told = self.told()
        with open(self.path, "rb", opener=_open_plainly) as file:
            if told > os.fstat(file.fileno()).st_size:
                told = 0  # the file was moved away, and another one begun
            file.seek(told)
            content = file.read(MOST_READ)
        found = []
        for line in content.split(b"\n")[:-1]:
            told += len(line) + 1
            found.append((_act(line), told))
        return found

    def _torn(self) -> bool:
        """Whether the last line has no end."""
        try:
            with open(self.path, "rb", opener=_open_plainly) as file:
                if not file.seek(0, os.SEEK_END):
                    return False
                file.seek(-1, os.SEEK_END)
                return file.read(1) != b"\n"
        except FileNotFoundError:
            return False


def _open_plainly(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _act(line: bytes) -> Act | None:
    try:
        content: Any = json.loads(line)
        act = Act(**content)
        datetime.fromisoformat(act.at)
        uuid.UUID(act.key)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    whole = all(type(number) is int and number >= 0 for number in (act.job, act.restarts, act.generation))
    return act if whole and isinstance(act.outcome, str) and isinstance(act.sentence, str) else None

"""Where does the output of a job go? Into files as Slurm would, or into memory for virtual time."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Protocol


class Unwritable(Exception):
    """The output file cannot be opened: Slurm fails such a job with exit code 0:53."""


class Logs(Protocol):
    """Paths are below the folder of logs."""

    @property
    def folder(self) -> str:
        """The working directory that the jobs show."""

    def read_clock(self, now: Callable[[], float]) -> None:
        """Called once by the cluster that writes here: its time in epoch seconds, for who dates the files."""

    def start(self, path: str, append: bool) -> None:
        """An attempt begins: the file is truncated unless `append`; raises `Unwritable`."""

    def write(self, path: str, text: str) -> None:
        """Put text at the end of the file. What cannot be written is lost, as it would be."""

    def keep(self, path: str, step: int) -> None:
        """Note the step of the last checkpoint beside the file."""

    def remove(self, path: str) -> None:
        """Forget the file and what stands beside it."""


class MemoryLogs:
    """Files in memory. `checkpoints` maps a path to the last saved step."""

    folder = "/logs"

    def __init__(self) -> None:
        self._parts: dict[str, list[str]] = {}
        self.checkpoints: dict[str, int] = {}

    @property
    def files(self) -> dict[str, str]:
        """The text of each path."""
        return {path: self.text(path) for path in self._parts}

    def text(self, path: str) -> str:
        """The text of one path; what was read once is not put together again."""
        parts = self._parts[path]
        parts[:] = ["".join(parts)]
        return parts[0]

    def read_clock(self, now: Callable[[], float]) -> None:
        """See `Logs.read_clock`."""

    def start(self, path: str, append: bool) -> None:
        """See `Logs.start`."""
        if not append:
            self._parts[path] = []
        self._parts.setdefault(path, [])

    def write(self, path: str, text: str) -> None:
        """See `Logs.write`."""
        self._parts.setdefault(path, []).append(text)

    def keep(self, path: str, step: int) -> None:
        """See `Logs.keep`."""
        self.checkpoints[path] = step

    def remove(self, path: str) -> None:
        """See `Logs.remove`."""
        self._parts.pop(path, None)
        self.checkpoints.pop(path, None)


class FileLogs:
    """Files in a folder; the step of the last checkpoint stands in `PATH.checkpoint`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self.folder = str(self._folder)

    def read_clock(self, now: Callable[[], float]) -> None:
        """See `Logs.read_clock`."""

    def start(self, path: str, append: bool) -> None:
        """See `Logs.start`."""
        try:
            # Truncates the same inode, as Slurm does: a reader sees the file shrink, not a new one.
            with self._place(path).open("ab" if append else "wb"):
                pass
        except (OSError, ValueError) as error:
            raise Unwritable(str(error)) from None

    def write(self, path: str, text: str) -> None:
        """See `Logs.write`."""
        try:
            with self._place(path).open("ab") as file:
                file.write(text.encode("utf-8", "replace"))
        except (OSError, ValueError):
            return

    def keep(self, path: str, step: int) -> None:
        """See `Logs.keep`."""
        try:
            self._place(f"{path}.checkpoint").write_text(f"{step}\n")
        except (OSError, ValueError):
            return

    def remove(self, path: str) -> None:
        """See `Logs.remove`."""
        for name in (path, f"{path}.checkpoint"):
            try:
                self._place(name).unlink(missing_ok=True)
            except (OSError, ValueError):
                continue

    def _place(self, path: str) -> Path:
        """A job's name may hold `/..`: nothing outside the folder is ever touched."""
        place = (self._folder / path).resolve()
        if not place.is_relative_to(self._folder) or place == self._folder:
            raise ValueError("outside the folder of logs")
        return place


FIELD = re.compile(r"%([0-9]{0,2})([%AaJjNnstux])")


def expand_output(pattern: str, facts: dict[str, str]) -> str:
    """The `%` fields of sbatch: `facts` maps a letter to its value, `%5j` fills with zeros (at most ten).

    Letters that are not among the facts stay as they are: that is how `scontrol show job` shows `%N` and `%t`.
    """

    def value(match: re.Match[str]) -> str:
        width, letter = match.groups()
        if letter == "%":
            return "%"
        if letter not in facts:
            return match[0]
        text = facts[letter]
        return text.zfill(min(int(width or 0), 10)) if text.isdigit() else text

    return FIELD.sub(value, pattern)

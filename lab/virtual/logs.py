"""When was a log of virtual time written? Real files, whose times are those of the simulated cluster."""

import os
from collections.abc import Callable
from pathlib import Path

from lab.simulate.logs import FileLogs


class DatedLogs(FileLogs):
    """As `FileLogs`; `now` (epoch seconds) is set once the cluster is there."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.now: Callable[[], float] | None = None

    def start(self, path: str, append: bool) -> None:
        """See `Logs.start`."""
        super().start(path, append)
        self._date(path)

    def write(self, path: str, text: str) -> None:
        """See `Logs.write`."""
        super().write(path, text)
        self._date(path)

    def _date(self, path: str) -> None:
        if self.now is None:
            return
        nanoseconds = int(self.now() * 1_000_000_000)
        try:
            os.utime(self._place(path), ns=(nanoseconds, nanoseconds))
        except (OSError, ValueError):
            return

"""When did which line appear in a job's log? Looked at from outside the product, every ten milliseconds."""

import re
import threading
import time
from pathlib import Path

EVERY_SECONDS = 0.01
STEP = re.compile(rb"iteration\s+(\d+)/")
FAULT = re.compile(rb"Xid|ECC error")
LOADED = re.compile(rb"loaded checkpoint")


class LogEye:
    """Watches one file until `close`. Moments are seconds since 1970 of this machine's clock.

    `step_at` has the steps of the first attempt; its end lets a stopped rank go on (Slurm sends SIGCONT with its
    SIGTERM), so a step may come after a hang. The file is read anew whenever it changed (those of the stand-in hold
    some kilobytes), so a truncation by a requeue needs no care. Late by at most `EVERY_SECONDS` and the reading.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fault_at: float | None = None
        self.step_at: dict[int, float] = {}
        self.runs_at: float | None = None
        self.beyond_at: float | None = None
        self._last_step = -1
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop watching."""
        self._ending.set()
        self._thread.join(5)

    def _watch(self) -> None:
        before = (0, 0)
        while not self._ending.wait(EVERY_SECONDS):
            try:
                status = self.path.stat()
                state = (status.st_mtime_ns, status.st_size)
                if state != before:
                    before = state
                    self._look(self.path.read_bytes(), time.time())
            except FileNotFoundError:
                continue

    def _look(self, text: bytes, now: float) -> None:
        steps = [int(found) for found in STEP.findall(text)]
        if self.fault_at is None and FAULT.search(text):
            self.fault_at = now
        if self.runs_at is None and LOADED.search(text):  # the first attempt has nothing to load
            self.runs_at = now
        newest = max(steps, default=-1)
        if newest <= self._last_step:
            return
        if self.runs_at is None:
            self._last_step = newest
            self.step_at[newest] = now
        elif self.beyond_at is None:
            self.beyond_at = now

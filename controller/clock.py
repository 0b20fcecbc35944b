"""What time is it, and were we asked to stop? The only place that reads clocks and signals."""

import contextlib
import os
import select
import signal
import time
from datetime import UTC, datetime
from types import FrameType
from typing import Protocol

WAKES = 1 << 16  # as many as a pipe holds


class Clock(Protocol):
    """Time as the loops need it; tests bring their own."""

    @property
    def stopping(self) -> bool:
        """Whether we were asked to stop: nothing new is begun then."""

    def now(self) -> datetime:
        """This machine's time, aware UTC."""

    def monotonic(self) -> float:
        """Seconds that only ever rise."""

    def sleep(self, seconds: float) -> None:
        """Wait, or return earlier when asked to stop."""


class SystemClock:
    """The machine's clocks. SIGTERM and SIGINT ask to stop; a command that runs is finished first."""

    def __init__(self) -> None:
        self._stopping = False
        self._awake, self._awaken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self._awaken, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)

    @property
    def stopping(self) -> bool:
        """Whether a signal came."""
        return self._stopping

    def now(self) -> datetime:
        """The wall clock."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """The monotonic clock, which goes on while the machine is suspended: a lease runs out meanwhile."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def sleep(self, seconds: float) -> None:
        """Wait; a signal or `wake` ends it, also one that came just before."""
        if not self._stopping and select.select([self._awake], [], [], seconds)[0]:
            os.read(self._awake, WAKES)

    def wake(self) -> None:
        """End the sleep that is going on, or the next one. May be called by any thread."""
        with contextlib.suppress(BlockingIOError):  # full of wakes that nobody has slept through yet
            os.write(self._awaken, b"w")

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True

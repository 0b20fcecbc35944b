"""When is the scheduler asked for everything, and what did it say last?

A listing costs the scheduler as much as all of its jobs together. There are two at most in any 30 s, whatever the
number of jobs and advices and whoever here wants one; in between, a job that something is being done to is asked
about alone.
"""

import threading
from collections import deque
from dataclasses import dataclass

from controller.clock import Clock
from controller.plain import Voice
from schedulers.port import JobRow, Scheduler, SchedulerError

PAUSE = 15.0  # seconds between two listings
WINDOW = 30.0  # seconds in which there are two at most


@dataclass(frozen=True)
class Taken:
    """One listing, or why there is none. `number` counts them; `at` is when it was asked for (a monotonic time)."""

    number: int
    at: float
    jobs: tuple[JobRow, ...]
    error: SchedulerError | None = None


class Source:
    """Where everybody in this process gets the newest listing; any thread may ask."""

    def __init__(self, scheduler: Scheduler, clock: Clock) -> None:
        self._scheduler = scheduler
        self._clock = clock
        self._lock = threading.Lock()
        self._asked: deque[float] = deque(maxlen=2)  # when the last two were asked for
        self._last: Taken | None = None

    def newest(self) -> Taken:
        """The last listing; the scheduler is asked for another one first if that may be done again."""
        with self._lock:
            if self._last is None or self._wait() <= 0:
                self._last = self._take(0 if self._last is None else self._last.number)
            return self._last

    def due_in(self) -> float:
        """Seconds until the scheduler may be asked again."""
        with self._lock:
            return max(0.0, self._wait())

    def _take(self, before: int) -> Taken:
        at = self._clock.monotonic()
        self._asked.append(at)
        try:
            return Taken(before + 1, at, self._scheduler.jobs().jobs)
        except SchedulerError as error:
            return Taken(before + 1, at, (), error)

    def _wait(self) -> float:
        if not self._asked:
            return 0.0
        now = self._clock.monotonic()
        wait = PAUSE - (now - self._asked[-1])
        if len(self._asked) == 2 and now - self._asked[0] <= WINDOW:
            wait = max(wait, WINDOW - (now - self._asked[0]) + 0.001)
        return wait


class Listings:
    """The last listing of a cluster, asked for again when it may be.

    `rows` is `None` until one succeeded, and after one that failed; `fresh`: this call of `refresh` brought it.
    """

    def __init__(self, scheduler: Scheduler, clock: Clock, voice: Voice, source: Source | None = None) -> None:
        self._source = source or Source(scheduler, clock)
        self._voice = voice
        self._seen = 0
        self.rows: dict[int, JobRow] | None = None
        self.fresh = False

    def refresh(self) -> dict[int, JobRow] | None:
        """The rows of the newest listing by number."""
        taken = self._source.newest()
        self.fresh = taken.number != self._seen
        if not self.fresh:
            return self.rows
        self._seen = taken.number
        if taken.error is not None:
            self.rows = None
            self._voice.once("scheduler", f"the scheduler cannot be seen: {taken.error.reason}")
        else:
            self.rows = {row.number: row for row in taken.jobs}
            self._voice.once("scheduler", "the scheduler answers")
        return self.rows

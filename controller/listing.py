"""When is the scheduler asked for everything, and what did it say last?

A listing costs the scheduler as much as all of its jobs together. There are two at most in any 30 s, whatever the
number of jobs and advices; in between, a job that something is being done to is asked about alone.
"""

from collections import deque

from controller.clock import Clock
from controller.plain import Voice
from schedulers.port import JobRow, Scheduler, SchedulerError

PAUSE = 15.0  # seconds between two listings
WINDOW = 30.0  # seconds in which there are two at most


class Listings:
    """The last listing of a cluster, asked for again when it may be.

    `rows` is `None` until one succeeded, and after one that failed; `fresh`: this call of `refresh` took it.
    """

    def __init__(self, scheduler: Scheduler, clock: Clock, voice: Voice) -> None:
        self._scheduler = scheduler
        self._clock = clock
        self._voice = voice
        self._asked: deque[float] = deque(maxlen=2)  # when the last two were asked for
        self.rows: dict[int, JobRow] | None = None
        self.fresh = False

    def refresh(self) -> dict[int, JobRow] | None:
        """Ask for everything if that may be done again; the rows of the last listing by number."""
        self.fresh = self._may_ask()
        if not self.fresh:
            return self.rows
        self._asked.append(self._clock.monotonic())
        try:
            self.rows = {row.number: row for row in self._scheduler.jobs().jobs}
        except SchedulerError as error:
            self.rows = None
            self._voice.once("scheduler", f"the scheduler cannot be seen: {error.reason}")
        else:
            self._voice.once("scheduler", "the scheduler answers")
        return self.rows

    def _may_ask(self) -> bool:
        now = self._clock.monotonic()
        if self._asked and now - self._asked[-1] < PAUSE:
            return False
        return len(self._asked) < 2 or now - self._asked[0] > WINDOW

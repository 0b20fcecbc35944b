"""`python -m controller push`: how does the Advisor see a scheduler that it must not ask itself?

Every listing that is taken here is pushed to it whole, with a number that only rises; one that got lost is sent
again until there is a newer one. What could not be seen is told as that. Nothing is ever changed at the scheduler.
"""

import threading
import time
from argparse import Namespace
from dataclasses import dataclass
from datetime import timedelta

from controller.client import AdvisorError, Rejected, Unreachable
from controller.clock import Clock, SystemClock
from controller.cluster import transport_of
from controller.config import Settings
from controller.listing import Source, Taken
from controller.measuring import Tally
from controller.plain import Voice, log_to
from controller.push_client import PUSH_SECONDS, PushAdvisor
from controller.reading import reader_of
from controller.starting import BadStart, check_clock
from controller.token_check import check_token
from schedulers.observation import MOST_ASKED, Asked, Observation, Unseen, written
from schedulers.port import JobRow, Limits, NoAccounting, Scheduler, SchedulerError
from schedulers.states import FINAL

BAD_START = 2
CONFLICT = 409
AGAIN_SECONDS = 2.0  # until a listing that got no answer is sent again, with the same number
NOT_WANTED_SECONDS = 30.0  # until an Advisor that takes no listings is asked again
LIMITS_SECONDS = 3600.0  # the limits of the installation are asked for again after this
BREATH_SECONDS = 0.05


@dataclass(frozen=True)
class _Parcel:
    sequence: int
    told: Observation | Unseen


class Pusher:
    """Pushes what a `Source` lists. `turn` sends at most one listing and returns the seconds until the next."""

    def __init__(
        self, scheduler: Scheduler, source: Source, advisor: PushAdvisor, clock: Clock, voice: Voice
    ) -> None:
        self._scheduler = scheduler
        self._source = source
        self._advisor = advisor
        self._clock = clock
        self._voice = voice
        self._sequence: int | None = None  # the last one that was used; `None`: the Advisor is asked first
        self._wanted: tuple[int, ...] = ()
        self._pushed = 0  # number of the last listing that was made ready
        self._parcel: _Parcel | None = None
        self._known: dict[int, JobRow] = {}
        self._limits: Limits | None = None
        self._limits_at = 0.0

    def start(self) -> None:
        """Push for ever, in a thread that keeps no process alive."""
        threading.Thread(target=self._run, name="pushing", daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(self.turn())

    def look(self) -> Observation | Unseen:
        """What would be pushed now; nothing is sent."""
        return self._packed(self._source.newest(), self._sequence or 0).told

    def turn(self) -> float:
        """Take what is new, and send it or what was not answered yet."""
        try:
            if self._sequence is None:
                stand = self._advisor.stand()
                self._sequence, self._wanted = stand.sequence, stand.wanted
            if self._parcel is None or self._source.due_in() <= 0:
                taken = self._source.newest()
                if taken.number == self._pushed:
                    return self._source.due_in() + BREATH_SECONDS
                self._pushed = taken.number
                self._parcel = self._packed(taken, self._sequence)
                self._sequence = self._parcel.sequence
            stand = self._advisor.push(written(self._parcel.told))
        except Unreachable as error:
            self._voice.once("push", f"the listing is not pushed: {error}")
            return AGAIN_SECONDS
        except AdvisorError as error:
            self._voice.once("push", f"the listing is not taken: {error}")
            self._sequence = self._parcel = None
            refused = isinstance(error, Rejected) and error.status == CONFLICT and self._pushed
            return max(self._source.due_in(), AGAIN_SECONDS) if refused else NOT_WANTED_SECONDS
        self._wanted, self._parcel = stand.wanted, None
        self._voice.once("push", "the Advisor takes what is listed")
        return self._source.due_in() + BREATH_SECONDS

    def _packed(self, taken: Taken, last: int) -> _Parcel:
        """The listing with all that belongs to it. The number is a time, so that it rises over a restart too."""
        sequence = max(last + 1, int(self._clock.now().timestamp() * 1000))
        if taken.error is not None:
            return _Parcel(sequence, Unseen(sequence, taken.error.reason, taken.error.raw))
        try:
            since = timedelta(seconds=self._clock.monotonic() - taken.at)
            listed_at = self._scheduler.now() - since
            nodes, limits = self._scheduler.nodes(), self._installation()
            accounting, ended = self._ended(taken.jobs)
            told = Observation(
                sequence, listed_at, taken.jobs, nodes, limits, self._answers(taken), accounting, ended
            )
        except SchedulerError as error:
            return _Parcel(sequence, Unseen(sequence, error.reason, error.raw))
        self._known = {row.number: row for row in taken.jobs}
        return _Parcel(sequence, told)

    def _answers(self, taken: Taken) -> bool:
        """Whether the scheduler answers otherwise too; asked only where nothing is listed."""
        if taken.jobs:
            return True
        try:
            self._scheduler.ping()
        except SchedulerError:
            return False
        return True

    def _installation(self) -> Limits:
        now = self._clock.monotonic()
        if self._limits is None or now - self._limits_at > LIMITS_SECONDS:
            self._limits, self._limits_at = self._scheduler.limits(), now
        return self._limits

    def _ended(self, rows: tuple[JobRow, ...]) -> tuple[bool, tuple[Asked, ...]]:
        """Whether there is an accounting, and what it says of the jobs whose end is wanted."""
        listed = {row.number: row for row in rows}
        missed = [number for number in self._wanted if number not in listed]
        reused = [row.number for row in rows if _is_another(self._known.get(row.number), row)]
        found = []
        for number in [*missed, *reused][:MOST_ASKED]:
            try:
                found.append(Asked(number, self._scheduler.ended(number)))
            except NoAccounting:
                return False, ()
            except SchedulerError:
                break  # the listing was good; only the accounting is away
        return True, tuple(found)


def _is_another(before: JobRow | None, row: JobRow) -> bool:
    """Whether a number went to another job while the end of the one before was not seen."""
    if before is None or before.state in FINAL:
        return False
    same = (before.user, before.name) == (row.user, row.name) and row.restarts >= before.restarts
    return not same or (row.submitted_at != before.submitted_at and row.restarts == before.restarts)


def pusher_of(settings: Settings, scheduler: Scheduler, source: Source, clock: Clock, voice: Voice) -> Pusher:
    """The pusher of a configuration."""
    told = settings.advisor
    advisor = PushAdvisor(told.url, settings.cluster, told.token_file, PUSH_SECONDS)
    return Pusher(scheduler, source, advisor, clock, voice)


def main(settings: Settings, options: Namespace) -> int:
    """Push until a signal comes, or one listing with `--once`. Returns the exit status."""
    clock = SystemClock()
    voice = Voice(log_to("push", settings.cluster, clock.now, as_json=settings.json_log))
    scheduler = reader_of(settings, transport_of(settings), Tally(), clock.monotonic)
    try:
        check_clock(scheduler, clock, voice, wait=not options.once)
        check_token(settings, PushAdvisor)
    except BadStart as error:
        voice.say(f"does not start: {error}.")
        return BAD_START
    pusher = pusher_of(settings, scheduler, Source(scheduler, clock), clock, voice)
    if options.once:
        pusher.turn()
        return 0
    voice.say("started")
    while not clock.stopping:
        clock.sleep(pusher.turn())
    voice.say("stopped")
    return 0

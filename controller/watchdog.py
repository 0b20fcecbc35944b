"""`python -m controller watchdog`: is a job held longer than we promised? Then let it go, and nothing else.

A process of its own that needs no Advisor: when everything else of ours is dead, jobs still run (fail open). It
takes for ours what carries our mark with the job's restart count, or what this host's journal says was held and
never got so far as to be marked (decisions 11). A mark that was there and is gone was taken off by a person.
"""

from argparse import Namespace
from datetime import datetime

from controller.acts import Acts
from controller.clock import Clock, SystemClock
from controller.cluster import scheduler_of, transport_of
from controller.config import Settings
from controller.courier import Courier
from controller.entries import Action, Entry
from controller.exposing import exposed
from controller.gates import own_gate
from controller.journal import BadJournal, read_entries
from controller.listing import Listings
from controller.mark import read_comment
from controller.measuring import Counting, Tally
from controller.plain import Voice, log_to
from controller.starting import BadStart, check_clock
from schedulers.holds import persons_hold, schedulers_hold
from schedulers.port import Garbled, JobRow, Scheduler, SchedulerError, Unreachable

BAD_START = 2
OLDEST_LISTING = 15.0  # seconds; longer than a large one takes
Attempt = tuple[int, int]  # job number, restart count


class Watchdog:
    """Releases jobs that we hold past the end of their hold. `run_pass` is one look at all jobs."""

    def __init__(
        self, settings: Settings, scheduler: Scheduler, clock: Clock, voice: Voice, tally: Tally | None = None
    ) -> None:
        self._settings = settings
        self._tally = tally or Tally()
        self._acts = Acts(settings.acts)
        self._courier = Courier(settings, self._acts, clock, voice)
        self._scheduler = scheduler
        self._clock = clock
        self._voice = voice
        self._gate = own_gate(settings.watchdog, settings.environment)
        self._listings = Listings(scheduler, clock, voice)
        self._asked_at = 0.0  # before the last look at everything
        self._sent: set[Attempt] = set()
        self._free: set[Attempt] = set()
        self._due: dict[tuple[Attempt, datetime], float] = {}  # by our monotonic clock, which nobody sets back

    def run(self) -> None:
        """Look after look until asked to stop."""
        if not self._gate.open:
            self._voice.say(f"releases nothing: {self._gate.sentence}")
        while not self._clock.stopping:
            if self._settings.watchdog.enabled:
                self.run_pass()
            self._courier.turn()
            self._clock.sleep(self._settings.watchdog.poll_seconds)
        self._courier.close()
        self._voice.say("stopped")

    def check_start(self, *, wait: bool) -> None:
        """Raise `BadStart` when it must not start."""
        check_clock(self._scheduler, self._clock, self._voice, wait=wait)
        self._courier.check_token()

    def run_pass(self) -> None:
        """One look; releases what is overdue."""
        self._asked_at = self._clock.monotonic()
        listed = self._listings.refresh()
        if listed is None:
            return
        self._tally.passed(self._clock.monotonic())
        if self._listings.fresh:
            self._remember(tuple(listed.values()))
        held = [row for row in listed.values() if _may_be_ours(row)]
        entries = self._entries() if held else ()
        ends = {row: end for row in held if (end := _end_of_hold(row, entries)) is not None}
        for row, end in self._overdue(ends):
            if not self._clock.stopping and (found := self._seen_now(row)) is not None:
                seen, exclusions = found
                until = _end_of_hold(seen, entries)
                if until is not None and until <= end:
                    self._let_go(seen, until, exclusions)
        self._tally.set("rekindle_watchdog_holds", len(ends))

    def _seen_now(self, row: JobRow) -> tuple[JobRow, str] | None:
        """The job asked about alone, and words on its exclusions; `None` when that attempt is held no more.

        Whoever was stopped after a listing must not release what a person holds by now. Where a question about one
        job fails, a listing of this moment is enough.
        """
        try:
            detail = self._scheduler.job(row.number)
        except SchedulerError as error:
            self._voice.once("single job", f"job {row.number} cannot be seen: {error.reason}")
            just_now = self._listings.fresh and self._clock.monotonic() - self._asked_at <= OLDEST_LISTING
            return (row, "; its exclusions could not be read and stay as they are") if just_now else None
        seen, nodes = detail.row, detail.excluded_nodes
        if (seen.number, seen.restarts) in self._sent and not seen.held:
            self._free.add((seen.number, seen.restarts))
        held = _may_be_ours(seen) and seen.restarts == row.restarts
        return (seen, f"; its exclusions stay: {','.join(nodes)}" if nodes else "") if held else None

    def _overdue(self, ends: dict[JobRow, datetime]) -> list[tuple[JobRow, datetime]]:
        """Holds that are over by the scheduler's clock, or by the time that was left of them when first seen.

        A clock that is set back in the middle prolongs no hold.
        """
        now, passed = (self._now() if ends else self._clock.now()), self._clock.monotonic()
        keys = {row: ((row.number, row.restarts), end) for row, end in ends.items()}
        self._due = {
            key: self._due.get(key, passed + (ends[row] - now).total_seconds()) for row, key in keys.items()
        }
        return [(row, end) for row, end in ends.items() if end <= now or self._due[keys[row]] <= passed]

    def _let_go(self, row: JobRow, end: datetime, exclusions: str) -> None:
        attempt = (row.number, row.restarts)
        topic = f"job {row.number}-{row.restarts}"
        late = f"{topic} is held by us past {end:%Y-%m-%dT%H:%M:%SZ}"
        if attempt in self._free:
            self._voice.once(topic, f"{topic} was let go and is held again, by somebody else; it stays held")
            return
        if not self._gate.open:
            self._voice.once(topic, f"{late}; would release it, but {self._gate.sentence}")
            return
        self._voice.once(topic, f"{late}; releasing it{exclusions}")
        self._sent.add(attempt)
        self._note(row, "sent", f"{late}; releasing it")
        try:
            self._scheduler.release(row.number, ours=True)
        except (Unreachable, Garbled) as error:
            self._sent.discard(attempt)
            self._voice.once(f"{topic} release", f"{topic} is not released: {error.reason}")
            self._note(row, "unsent", f"{topic} is not released: {error.reason}")
        except SchedulerError as error:
            self._voice.once(f"{topic} release", f"{topic}: the release is not certain: {error.reason}")
            self._note(row, "unclear", f"{topic}: the release is not certain: {error.reason}")
        else:
            self._note(row, "accepted", f"{topic}: the scheduler took the release")

    def _note(self, row: JobRow, outcome: str, sentence: str) -> None:
        """Put an act into the local file. A disk that is full keeps no job held."""
        mark = read_comment(row.admin_comment).mark
        generation = mark.generation if mark else 0
        self._tally.add("rekindle_watchdog_releases_total", outcome=outcome)
        try:
            self._acts.write(row.number, row.restarts, generation=generation, outcome=outcome,
                             sentence=sentence, at=self._clock.now())  # fmt: skip
        except OSError as error:
            self._voice.once("acts", f"what it does cannot be written to {self._acts.path}: {error.strerror}")

    def _remember(self, rows: tuple[JobRow, ...]) -> None:
        """Attempts that our release freed: whoever holds them afterwards is somebody else."""
        there = {(row.number, row.restarts): row for row in rows}
        self._free = {a for a in self._free if a in there}
        self._free |= {a for a in self._sent if a in there and not there[a].held}
        self._sent = {a for a in self._sent if a in there and there[a].held}

    def _entries(self) -> tuple[Entry, ...]:
        try:
            entries = read_entries(self._settings.controller.journal)
        except BadJournal as error:
            self._voice.once("journal", str(error))
            return ()
        self._voice.once("journal", "")
        return entries

    def _now(self) -> datetime:
        """The scheduler's clock; ours when it does not tell."""
        try:
            return self._scheduler.now()
        except SchedulerError:
            return self._clock.now()


def _end_of_hold(row: JobRow, entries: tuple[Entry, ...]) -> datetime | None:
    """When our hold on this job ends; `None` when the hold is not ours, or an operator keeps the job."""
    comment = read_comment(row.admin_comment)
    if comment.kept == row.restarts:
        return None
    if comment.mark and comment.mark.restarts == row.restarts:
        return None if any(_marked_only(entry, row) for entry in entries) else comment.mark.until
    return next((entry.advice.hold_until for entry in entries if _held_unmarked(entry, row)), None)


def _may_be_ours(row: JobRow) -> bool:
    """Held, and no word of the scheduler says who else does it: a person since we let it go, or itself."""
    return row.held and not persons_hold(row) and not schedulers_hold(row)


def _marked_only(entry: Entry, row: JobRow) -> bool:
    """Whether the journal says that we marked this attempt ahead and never asked to hold it: a person did."""
    expected = entry.advice.attempt + 1
    same = (entry.advice.job, entry.advice.user, expected) == (row.number, row.user, row.restarts)
    return same and entry.only_marked


def _held_unmarked(entry: Entry, row: JobRow) -> bool:
    """Whether the journal says that we hold exactly this attempt and never saw our mark on it."""
    hold = entry.doing(Action.REQUEUE_HOLD)
    expected = hold.seen_restarts if hold.seen_restarts is not None else entry.advice.attempt + 1
    same = (entry.advice.job, entry.advice.user, expected) == (row.number, row.user, row.restarts)
    return same and entry.holding and entry.doing(Action.MARK).seen_at is None


def main(settings: Settings, options: Namespace) -> int:
    """Watch until a signal comes, or look once with `--once`. Returns the exit status."""
    clock = SystemClock()
    voice = Voice(log_to("watchdog", settings.cluster, clock.now, as_json=settings.json_log))
    tally = Tally()
    own = settings.watchdog
    scheduler = scheduler_of(settings, Counting(transport_of(settings), tally, clock.monotonic))
    watchdog = Watchdog(settings, scheduler, clock, voice, tally)
    try:
        watchdog.check_start(wait=not options.once)
        with exposed(own.metrics_address, own.metrics_port, tally, clock.monotonic, 3 * own.poll_seconds + 60):
            voice.say("started")
            if options.once:
                watchdog.run_pass()
            else:
                watchdog.run()
    except BadStart as error:
        voice.say(f"does not start: {error}.")
        return BAD_START
    return 0

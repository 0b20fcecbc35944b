"""How does one pass go? Ask the Advisor, look at the jobs, take one step per advice, and look again.

Level-triggered: a pass knows nothing of the one before but the journal, so it may be killed anywhere. Before each
command the intent is on the disk, and before the first one the Advisor has it too; afterwards only a look at the
scheduler counts (a return code proves nothing).
"""

import random
from dataclasses import replace

from controller.acting import Hands
from controller.arrays import Arrays
from controller.client import Advisor
from controller.clock import Clock
from controller.conditions import unmarkable
from controller.config import Settings
from controller.entries import Action
from controller.gates import OPEN, Gate, carry_gate, mark_gate, own_gate, partition_gate, start_gate
from controller.installation import Installation
from controller.journal import BadJournal, Journal
from controller.listing import Listings, Source
from controller.means import Means
from controller.plain import Voice
from controller.rows import Step
from controller.standing import Standing
from controller.steps import next_step, proofs, withdrawn
from controller.view import Missing, View
from controller.works import Work, works_of
from schedulers.port import JobDetail, JobRow, NoSuchJob, Scheduler, SchedulerError, Unreachable

LOOKS_PER_SECOND = 5.0  # questions about single jobs, per cluster (decisions 27)
REST_SECONDS = 5.0  # a job that nothing was begun for is looked at again after this, or when the listing changed
IDLE_SECONDS = 15.0  # between passes with nothing to do; the lease, of which 40 s are left then, is kept
LONGEST_PASS = 2.0  # seconds; after that the advice is read again before the next command
SURE_GONE = 2  # looks in a row that do not find a job


class Controller:
    """The Slurm Advisor Controller of one cluster. `run_pass` is one turn over everything."""

    def __init__(
        self,
        settings: Settings,
        scheduler: Scheduler,
        advisor: Advisor,
        journal: Journal,
        *,
        clock: Clock,
        voice: Voice,
        source: Source | None = None,
    ) -> None:
        self._settings = settings
        self._scheduler = scheduler
        self._journal = journal
        self._clock = clock
        self._voice = voice
        self._own = own_gate(settings.controller, settings.environment)
        self.standing = Standing(advisor, clock, settings.controller.holder, journal.memory.fence, voice)
        means = Means(scheduler, advisor, journal, clock, self.standing, voice)
        self._hands = Hands(means)
        self._listings = Listings(scheduler, clock, voice, source)
        self._installation = Installation(scheduler, clock, voice)
        self._out_of_sight = False  # whether the scheduler gave no answer in this pass
        self._looked_at: dict[tuple[str, int], float] = {}
        self._arrays = Arrays(settings, means)
        self._looks = LOOKS_PER_SECOND
        self._looks_at = clock.monotonic()
        self._not_found: dict[int, int] = {}
        self._resting: dict[tuple[str, int], tuple[JobRow | None, float]] = {}
        self.woken = False  # whether somebody ends our sleep when there is new advice
        self._mark_refused = ""  # how, on a job that was still held by us afterwards; kept until the process ends

    def run(self) -> None:
        """Pass after pass until asked to stop; at once again after a pass that did something."""
        if not self._own.open:
            self._voice.say(f"sends no command: {self._own.sentence}")
        while not self._clock.stopping:
            if not self.run_pass():
                self._clock.sleep(self._pause())
        self._voice.say("stopped")

    def _pause(self) -> float:
        """Seconds until the next pass; with nothing to look after longer, if whatever comes will wake us."""
        poll = self._settings.controller.poll_seconds
        if self.standing.gone:
            return poll * random.uniform(0.5, 1.5)  # noqa: S311  # many controllers must not come back at once
        idle = not self.standing.advice and not self._journal.entries
        return max(poll, IDLE_SECONDS) if idle and self.woken else poll

    def run_pass(self) -> bool:
        """One pass; returns whether something was done, so that it pays to look again at once."""
        if not self._settings.controller.enabled:
            return False
        self._installation.refresh()
        self.standing.refresh(with_lease=self._own.open)
        works = self._works()
        try:
            self._journal.check_place()
            self._journal.set_fence(self.standing.fence, self.standing.now())
            self._journal.compact_if_large(self.standing.now())
        except BadJournal as error:
            self._voice.once("journal", str(error))
            return False
        if not works:
            return self._waiting_tasks()
        began = self._clock.monotonic()
        rows = self._listings.refresh()
        if self._listings.fresh:
            self.standing.looked(None if rows is None else _appearance(works, rows))
        self._out_of_sight = self._listings.fresh and rows is None
        acted = False
        for work in works:
            late = acted and self._clock.monotonic() - began > LONGEST_PASS
            if self._clock.stopping or self._out_of_sight or late:
                break
            try:
                acted |= self._turn(work, rows.get(work.advice.job) if rows else None)
            except BadJournal as error:
                self._speak(work, str(error))
        return self._waiting_tasks() or acted

    def _waiting_tasks(self) -> bool:
        """One look at the waiting tasks of an array, if one is due."""
        try:
            return not self._clock.stopping and self._arrays.turn()
        except BadJournal as error:
            self._voice.once("journal", str(error))
            return False

    def _works(self) -> list[Work]:
        """What is to be looked after, in its order; what was remembered of anything else is forgotten."""
        works = works_of(self.standing.advice, self._journal.entries, self._looked_at)
        keys = {work.advice.key for work in works}
        jobs = {work.advice.job for work in works}
        self._voice.forget_all_but({*keys, *self._journal.memory.arrays})
        self._resting = {key: rest for key, rest in self._resting.items() if key in keys}
        self._looked_at = {key: at for key, at in self._looked_at.items() if key in keys}
        self._not_found = {job: count for job, count in self._not_found.items() if job in jobs}
        return works

    def _turn(self, work: Work, row: JobRow | None) -> bool:
        """One step for one advice; `row` is its job in the last listing."""
        if self._rests(work, row) or not self._first_in_line(work):
            return False
        if row is not None and not work.entry and not self._worth_a_look(work, row):
            return False
        self.standing.freshen_gates()
        shown = self._look(work.advice.job)
        if shown is None or self._out_of_sight:
            return False
        looked_at = self._looked_at[work.advice.key] = self._clock.monotonic()
        view = self._proved(self._view(work, shown))
        work = replace(work, entry=view.entry)
        self._learn_rights(view)
        self._arrays.note(view)
        told = self._hands.tell_milestones(view.entry)
        step = next_step(view)
        if step.begins and not work.listed and not self.standing.gone:
            step = withdrawn(view)
        if step.action is None and step.disposition is None:
            self._rest(work, row, step)
            return False
        step, gate = self._allowed(work, step, view)
        if not gate.open:
            self._hands.tell_overdue(view, gate)
            self._rest(work, row, step, gate)
            return False
        self._speak(work, step.sentence)
        if step.disposition:
            known = told and self._hands.report(view, step)
            if known:
                self._rest(work, row, step)  # refused for good and still listed: not said again at once
            return known and work.entry is not None
        return self._hands.act(view, step, looked_at)

    def _worth_a_look(self, work: Work, row: JobRow) -> bool:
        """Whether the listing alone does not say that there is nothing to do, or that it may not be done.

        An older listing cannot know what is to be done now; to a controller that sends no command it says enough.
        """
        view = self._view(work, JobDetail(row, ()))
        step, gate = self._allowed(work, next_step(view), view)
        if not gate.open:
            self._rest(work, row, step, gate)
            return False
        sure = self._listings.fresh or not self._own.open
        if sure and step.action is None and step.disposition is None:
            self._rest(work, row, step)
            return False
        return True

    def _allowed(self, work: Work, step: Step, view: View) -> tuple[Step, Gate]:
        """The step and its gate; where that is closed, what is done instead, if anything is."""
        gate = self._gate(work, step, view)
        if gate.open or step.instead is None:
            return step, gate
        return step.instead, self._gate(work, step.instead, view)

    def _gate(self, work: Work, step: Step, view: View) -> Gate:
        """Everything that must be open for this command, or for this report of an advice that is still open.

        Only the lease's holder reports: to anybody else a step in the middle of what he does may look final.
        """
        if step.action is None:
            lease = self.standing.gate() if self._own.open else self._own
            return lease if step.disposition and work.listed else OPEN
        cluster = None if self.standing.gone else self.standing.cluster
        if step.begins:
            partition = partition_gate(self._settings, view.row.partition)
            own = (self._may_mark(), self.standing.clock_gate(), partition)
            if closed := next((gate for gate in own if not gate.open), None):
                return closed
        decide = start_gate if step.begins else carry_gate
        gate = decide(self._settings, cluster, work.advice, self.standing.now())
        return self.standing.gate() if gate.open and cluster is not None else gate

    def _learn_rights(self, view: View) -> None:
        """Remember a refused mark once a look shows that the job is still held: it was no matter of its state."""
        mark = view.doing(Action.MARK)
        if not isinstance(view.shown, Missing) and mark.refused and unmarkable(view):
            self._mark_refused = mark.said
            self._voice.once("right to mark", mark_gate(self._mark_refused).sentence)

    def _may_mark(self) -> Gate:
        """Closed for good by what was learned; and for now by a refused mark that no look has followed yet."""
        marks = (e.doing(Action.MARK) for e in self._journal.entries.values() if e.holding)
        return mark_gate(self._mark_refused or next((mark.said for mark in marks if mark.refused), ""))

    def _first_in_line(self, work: Work) -> bool:
        """Whether no other advice of the same job is being carried out (decisions 19)."""
        mine = work.entry is not None and work.entry.begun
        begun = (e for e in self._journal.entries.values() if e.begun)
        other = next((e for e in begun if e.advice.job == work.advice.job), None)
        if mine or other is None or other.advice.key == work.advice.key:
            return True
        self._speak(work, f"{other.advice} is being carried out first")
        return False

    def _look(self, job: int) -> JobDetail | Missing | None:
        """The job in full, or why not; `None` when it was asked for too often this second."""
        now = self._clock.monotonic()
        self._looks = min(LOOKS_PER_SECOND, self._looks + (now - self._looks_at) * LOOKS_PER_SECOND)
        self._looks_at = now
        if self._looks < 1:
            return None
        self._looks -= 1
        try:
            detail = self._scheduler.job(job)
        except NoSuchJob:
            self._not_found[job] = self._not_found.get(job, 0) + 1
            return Missing.GONE if self._not_found[job] >= SURE_GONE else Missing.UNKNOWN
        except Unreachable as error:
            self._voice.once("scheduler", f"the scheduler cannot be seen: {error.reason}")
            self._out_of_sight = True
            return Missing.UNKNOWN
        except SchedulerError as error:
            self._voice.once("single job", f"job {job} cannot be seen: {error.reason}")
            return Missing.UNKNOWN
        self._voice.once("scheduler", "the scheduler answers")
        self._not_found.pop(job, None)
        return detail

    def _view(self, work: Work, shown: JobDetail | Missing) -> View:
        nodes = () if isinstance(shown, Missing) else self._journal.memory.added_to(shown.row)
        wait = self._installation.requeue_wait if self._settings.controller.shorten_requeue_wait else None
        return View(work.advice, shown, work.entry, self.standing.now(), nodes, wait)

    def _proved(self, view: View) -> View:
        """The view after what it proves has been written down."""
        for action in proofs(view):
            self._journal.seen(view.advice, action, view.row.restarts, view.now)
        return replace(view, entry=self._journal.entries.get(view.advice.key))

    def _rests(self, work: Work, row: JobRow | None) -> bool:
        """Whether nothing changed since we found that there is nothing to do."""
        seen, until = self._resting.get(work.advice.key, (None, 0.0))
        return row == seen and self._clock.monotonic() < until

    def _rest(self, work: Work, row: JobRow | None, step: Step, gate: Gate | None = None) -> None:
        """Say why nothing is done, and leave the job alone for a while."""
        poll = self._settings.controller.poll_seconds
        seconds = poll if work.entry else REST_SECONDS
        if step.again_at:
            seconds = max(0.0, (step.again_at - self.standing.now()).total_seconds())
        if gate is not None:
            would = f"would {step.sentence}, but" if step.action else f"{step.sentence}; not reported,"
            self._speak(work, f"{would} {gate.sentence}")
            seconds = min(seconds, poll * 2)
        else:
            self._speak(work, step.sentence)
        self._resting[work.advice.key] = (row, self._clock.monotonic() + seconds)

    def _speak(self, work: Work, sentence: str) -> None:
        self._voice.once(work.advice.key, f"{work.advice}: {sentence}")


def _appearance(works: list[Work], rows: dict[int, JobRow]) -> tuple[tuple[object, ...], ...]:
    """What two looks must agree on: state, restarts and mark of every job concerned."""
    found = [rows[work.advice.job] for work in works if work.advice.job in rows]
    return tuple(sorted((row.number, row.state, row.restarts, row.admin_comment) for row in found))

"""What lies on the table when the next step is chosen: the advice, the scheduler, the journal, the time?"""

import enum
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from controller.advice import Advice
from controller.entries import NOT_YET, Action, Doing, Entry
from controller.mark import AdminComment, Mark, read_comment
from schedulers.port import JobDetail, JobRow, NoSuchJob, Scheduler, SchedulerError
from schedulers.states import JobState

SETTLE = timedelta(seconds=5)  # a hung slurmctld carries out what it was asked right after it answers again
MOST_TRIES = 3
SAVED = timedelta(seconds=15)  # after which a crash of the scheduler loses no list that stood; Slurm saves each 5 s
SAME_SECOND = timedelta(seconds=1)  # schedulers count submit times in whole seconds
LONGEST_COMMENT = 4096


class Missing(enum.Enum):
    """Why there is no job to look at."""

    UNKNOWN = "the scheduler did not answer"
    GONE = "the scheduler does not know the job"


def look_once(scheduler: Scheduler, job: int) -> JobDetail | Missing:
    """The job in full, or why not, by one look. Only the loop, which looks again, doubts that a job is gone."""
    try:
        return scheduler.job(job)
    except NoSuchJob:
        return Missing.GONE
    except SchedulerError:
        return Missing.UNKNOWN


@dataclass(frozen=True)
class View:
    """One advice and everything known about its job at this moment. `row` must not be asked for when it is missing.

    `added` are exclusions that an earlier recovery of the same job put on its list. `requeue_wait`: how long the
    scheduler lets every requeued job wait; `None` where that is not known, or is to be left as it is.
    """

    advice: Advice
    shown: JobDetail | Missing
    entry: Entry | None
    now: datetime
    added: tuple[str, ...] = ()
    requeue_wait: timedelta | None = None

    @property
    def row(self) -> JobRow:
        """The job as the scheduler shows it."""
        if isinstance(self.shown, Missing):
            raise ValueError(self.shown.value)
        return self.shown.row

    @property
    def state(self) -> JobState:
        """The job's state."""
        return self.row.state

    @property
    def ahead(self) -> int:
        """How many restarts lie between the attempt of the advice and what is shown."""
        return self.row.restarts - self.advice.attempt

    @cached_property
    def comment(self) -> AdminComment:
        """The job's AdminComment in its parts."""
        return read_comment(self.row.admin_comment)

    @property
    def marked(self) -> bool:
        """Whether the job carries our mark for exactly this restart count (decisions 12)."""
        return self.comment.mark is not None and self.comment.mark.restarts == self.row.restarts

    @property
    def marked_ahead(self) -> bool:
        """Whether a live job carries the mark that its next attempt will be known by."""
        return self.comment.mark is not None and self.comment.mark.restarts == self.row.restarts + 1

    @property
    def kept(self) -> bool:
        """Whether an operator said that this attempt stays held."""
        return self.comment.kept == self.row.restarts

    def mark_for(self, restarts: int) -> Mark:
        """The mark that says: held by us, for this restart count."""
        return Mark(self.advice.generation, restarts, self.advice.hold_until)

    def doing(self, action: Action) -> Doing:
        """How far the journal says an action came."""
        return self.entry.doing(action) if self.entry else NOT_YET

    def unsettled(self, action: Action) -> bool:
        """Whether a command was sent a moment ago and may still take effect."""
        doing = self.doing(action)
        return doing.asked and doing.at is not None and abs(self.now - doing.at) < SETTLE

    def spent(self, action: Action) -> bool:
        """Whether an action was refused, or tried often enough."""
        doing = self.doing(action)
        return doing.refused or doing.tries >= MOST_TRIES

    @property
    def held_by_journal(self) -> bool:
        """Whether the journal says that this very hold is ours: asked for, and first seen at this restart count."""
        hold = self.doing(Action.REQUEUE_HOLD)
        return hold.asked and hold.seen_restarts in {None, self.row.restarts} and not self.let_go and self.ahead > 0

    @property
    def let_go(self) -> bool:
        """Whether a look proved that our release took effect."""
        return self.doing(Action.RELEASE).seen_at is not None

    @property
    def let_go_at(self) -> datetime:
        """When a job that we hold is released: not before the advice says, and never after its hold ends."""
        return min(self.advice.not_before, self.advice.hold_until)

    @property
    def excluded(self) -> frozenset[str]:
        """Nodes that the scheduler shows as excluded."""
        return frozenset() if isinstance(self.shown, Missing) else frozenset(self.shown.excluded_nodes)

    @property
    def _of_advice(self) -> frozenset[str]:
        """The nodes of the advice that the scheduler knows."""
        return frozenset(self.advice.excluded_nodes) - {*(self.entry.unknown if self.entry else ())}

    @property
    def wanted(self) -> tuple[str, ...]:
        """The list that should stand there: the user's own nodes and those of this advice."""
        earlier = {*self.added} - self._of_advice
        return tuple(sorted((self.excluded - earlier) | self._of_advice))

    @property
    def without_ours(self) -> tuple[str, ...]:
        """What is left of the list when our part is taken back."""
        return tuple(sorted(self.excluded - {*(self.entry.ours if self.entry else ())}))

    @property
    def ours(self) -> tuple[str, ...]:
        """Nodes that would be added by us, and are ours to remove later."""
        return tuple(sorted((self._of_advice - self.excluded) | ({*self.added} & self._of_advice)))

    @property
    def exclusions_stand(self) -> bool:
        """Whether the list is as it should be, or our part of it was taken back, by us or by somebody."""
        return self.excluded == {*self.wanted} or self.doing(Action.RELAX).asked or self.taken_off

    @property
    def taken_off(self) -> bool:
        """Whether somebody took nodes of ours off the list that had stood there: that is his wish, and stays so.

        A list that a crash of the scheduler lost was young, or our mark was lost with it and is set again.
        """
        stood, marked_at = self.doing(Action.EXCLUSIONS).seen_at, self.doing(Action.MARK).at
        if stood is None or self.now - stood <= SAVED or self.doing(Action.RELAX).asked:
            return False
        again = marked_at is not None and marked_at > stood
        return not again and not self._of_advice <= self.excluded

    @property
    def another_job(self) -> bool:
        """Whether this number now belongs to another submission (decisions 10).

        The submit time of a requeued job moves forward once more when its last attempt has ended, so the Advisor
        may know an earlier one; that of a first attempt never moves.
        """
        if self.row.user != self.advice.user or self.ahead < 0:
            return True
        shown, meant = self.row.submitted_at, self.advice.submitted_at
        if self.ahead or shown is None or meant is None:
            return False
        return shown < meant - SAME_SECOND or (self.advice.attempt == 0 and shown > meant + SAME_SECOND)

    @property
    def whole_array(self) -> bool:
        """Whether the number stands for the waiting tasks of an array and not for one task (traps 17)."""
        return self.row.array_job is not None and self.row.array_task is None

    @property
    def singleton_successor(self) -> bool:
        """Whether the job asked to be let go after its predecessor (decisions 15)."""
        if "singleton" not in self.row.dependency or len(self.row.comment) > LONGEST_COMMENT:
            return False
        try:
            comment = json.loads(self.row.comment)
        except (ValueError, RecursionError):
            return False
        asked = comment.get("APS") if isinstance(comment, dict) else None
        return isinstance(asked, dict) and asked.get("auto_resume_mode") == "singleton_dependency"

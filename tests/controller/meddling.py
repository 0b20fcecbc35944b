"""Somebody at the command line, between two steps of ours: what Slurm lets him do to a job (observed)."""

from collections.abc import Callable
from datetime import timedelta

from schedulers.port import JobRow
from schedulers.states import FINAL, JobState
from tests.controller.advisor import SmallAdvisor, wire
from tests.controller.scripted import ScriptedScheduler

JOB = 12
OURS = "job requeued in held state"
RUNS_AFTER = 100.0  # seconds after he let it go
S = JobState


class Person:
    """His commands change the scripted scheduler, and stand among none of ours."""

    def __init__(self, slurm: ScriptedScheduler, advisor: SmallAdvisor) -> None:
        self.slurm = slurm
        self.advisor = advisor

    @property
    def job(self) -> JobRow:
        return self.slurm.jobs_by_number[JOB]

    def hold(self, word: str = "JobHeldAdmin") -> None:
        """Without a trace on top of a requeuehold; on a live job it waits for its next requeue."""
        if self.job.state in FINAL or (self.job.held and self.job.reason == OURS):
            return
        if self.job.state in {S.PENDING, S.HELD}:
            self.slurm.change(JOB, state=S.HELD, reason=word)
        self.slurm.change(JOB, priority=0)

    def release(self) -> None:
        if self.job.state in FINAL:
            return
        if self.job.held:
            self._waits()
        self.slurm.change(JOB, priority=1000)

    def requeue(self, *, hold: bool = False) -> None:
        if self.job.state in {S.PENDING, S.HELD, S.COMPLETING}:
            return
        submitted = self.slurm.clock.now().replace(microsecond=0)
        self.slurm.change(JOB, restarts=self.job.restarts + 1, submitted_at=submitted, nodes=())
        if hold or self.job.priority == 0:
            self.slurm.change(JOB, state=S.HELD, word="PENDING", reason=OURS, priority=0)
        else:
            self._waits()

    def cancel(self) -> None:
        if self.job.state not in FINAL:
            self.slurm.change(JOB, state=S.CANCELLED, word="CANCELLED", reason="")

    def suspend(self) -> None:
        if self.job.state is S.RUNNING:
            self.slurm.change(JOB, state=S.SUSPENDED, word="SUSPENDED", priority=0)

    def exclude(self, *nodes: str) -> None:
        if self.job.state in {S.PENDING, S.HELD}:
            self.slurm.excluded[JOB] = nodes

    def begin_in(self, seconds: float) -> None:
        if self.job.state in {S.PENDING, S.HELD}:
            self.slurm.change(JOB, eligible_at=self.slurm.clock.now() + timedelta(seconds=seconds))

    def reservation_ends(self) -> None:
        if self.job.state in {S.PENDING, S.HELD}:
            reason = "Reservation r was deleted"
            self.slurm.change(JOB, state=S.HELD, word="RESV_DEL_HOLD", reason=reason, priority=0)

    def forbid_requeue(self) -> None:
        if self.job.state not in FINAL:
            self.slurm.change(JOB, requeue_allowed=False)

    def monitor(self) -> None:
        self.advisor.cluster["mode"] = "monitor"

    def pause(self) -> None:
        until = wire(self.slurm.clock.now() + timedelta(days=1))
        self.advisor.cluster["pauses"] = [{"scope": "cluster", "value": "", "until": until, "reason": "mine"}]

    def opt_out(self) -> None:
        self.advisor.advice[0] |= {"mayBeActedOn": False, "whyNot": "the job's comment asks to be left alone"}

    def withdraw(self) -> None:
        self.advisor.advice.clear()

    def _waits(self) -> None:
        self.slurm.change(JOB, state=S.PENDING, word="PENDING", reason="BeginTime", priority=1000)
        self.slurm.due.append((self.slurm.clock.seconds + RUNS_AFTER, lambda: self.slurm.run(JOB)))


Deed = Callable[[Person], object]


def together(*deeds: Deed) -> Deed:
    """One after the other, without a step of ours in between."""

    def all_of_them(person: Person) -> None:
        for deed in deeds:
            deed(person)

    return all_of_them

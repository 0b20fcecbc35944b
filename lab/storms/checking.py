"""Was anything done that must not be done? Each command is judged by the truth of its moment.

The numbers in brackets are those rules of design.md, section 5, that a check is about.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from django.db import connection

from advisor_api.models import Advice
from advisor_api.policy.operation import Operation
from advisor_api.policy.values import Policy
from audit.event_type import EventType
from audit.models import AuditEvent
from detectors.catalogue.hang import ALONE
from lab.simulate.hostlist import expand
from lab.simulate.jobs import REQUEUED_HELD, RUNNING, Job
from lab.simulate.model import Cluster
from lab.simulate.play import Fault
from lab.storms.drawing import LIMITS, OWN_NAME, Plan
from lab.storms.hushing import Hush
from lab.virtual.clock import VirtualClock
from lab.virtual.fate import Fate
from schedulers.slurm.commands import only_reads
from schedulers.transport import Answer, TimedOut, Transport
from workloads.mode import Mode

FAILED = frozenset({"FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL"})
OWN_CAP = 5  # `max_requeue_times` of the jobs that opt in (`lab.simulate.demo.opt_in`)
HARMLESS = frozenset({"lines", "pause"})  # faults that end or stop nothing
GRAMMAR = re.compile(
    r"scontrol requeuehold (Incomplete )?\d+|scontrol release \d+|scancel \d+|scontrol update JobId=\d+ "
    r"(ExcNodeList=[a-z0-9,]*|StartTime=uts\d+|AdminComment=(rekindle/1 g=\d+ r=\d+ until=\d+)?)"
)
"""Every command there is, and every text that may stand in it: nobody here writes an AdminComment of his own."""


@dataclass(frozen=True)
class Requeue:
    """A restart that was really done: when (true seconds), of which attempt, in which stretch of the clock."""

    at: float
    job: int
    restarts: int
    user: str
    saved: int  # the step of its last checkpoint
    stretch: int = 0


@dataclass
class Checker:
    """The hands' way to a simulated cluster, which sees what they do. Use its `run` as that of a transport."""

    plan: Plan
    inner: Transport
    cluster: Cluster
    clock: VirtualClock
    fate: Fate = field(default_factory=Fate)
    policy: Policy = field(default_factory=Policy)
    violations: list[str] = field(default_factory=list)
    requeues: list[Requeue] = field(default_factory=list)
    done: list[str] = field(default_factory=list)  # every command that was accepted, with its true time
    commands: int = 0
    lose: bool = False  # the answer to the next command that changes something gets lost
    stretch: int = 0  # how often the site's clock was set
    struck: set[tuple[int, int]] = field(default_factory=set)
    approved: set[int] = field(default_factory=set)  # keys of advice

    def __post_init__(self) -> None:
        self.depth = len(connection.savepoint_ids) + connection.in_atomic_block  # tests live in a transaction
        self.hush = Hush(self.cluster, ALONE * LIMITS["hang_floor_seconds"])
        self.cluster.on_strike(self._strike)

    def run(self, argv: tuple[str, ...], seconds: float) -> Answer:
        """Judge a command that changes something, and run it."""
        if only_reads(argv):
            with self.fate.step("look"):
                return self.inner.run(argv, seconds)
        with self.fate.step("command"):
            answer = self._change(argv, seconds)
        if self.lose:
            self.lose = False
            raise TimedOut(f"'{argv[0]}' did not answer within {seconds:g} s.")
        return answer

    def _change(self, argv: tuple[str, ...], seconds: float) -> Answer:
        job = self._job_of(argv)
        before = (job.state, job.restarts, job.held, job.reason) if job else ("", 0, False, "")
        marked = bool(job and (job.admin_comment or "").startswith("rekindle/1"))
        answer = self.inner.run(argv, seconds)
        self.commands += 1
        if not GRAMMAR.fullmatch(" ".join(argv)):
            self._say("[10] a command with words of others, or none that we know", argv)
        if answer.returncode == 0:
            self.done.append(f"{self.clock.seconds:.1f} {' '.join(argv)}")
            self._judge(argv, job, before, marked=marked)
        return answer

    def _judge(
        self, argv: tuple[str, ...], job: Job | None, before: tuple[str, int, bool, str], *, marked: bool
    ) -> None:
        if self.plan.mode is Mode.MONITOR:
            self._say("[4] a command in monitor mode", argv)
        if job is None:
            self._say("[6] a command that is about no job", argv)
            return
        if '"mode": "action"' not in (job.comment or ""):
            self._say("[6] a job that did not opt in", argv)
        if job.play.name == OWN_NAME:
            self._say("[9] a job of our own", argv)
        state, restarts, held, reason = before
        ours = reason == REQUEUED_HELD and any(
            (one.job, one.restarts + 1) == (job.number, restarts) for one in self.requeues
        )  # the journal knows it: who was killed between the hold and its mark
        struck = (job.number, restarts) in self.struck | self.hush.look(self.clock.seconds)
        if argv[1] == "requeuehold":
            self._note_requeue(job, restarts)
            if state not in FAILED and not (state == RUNNING and struck):
                self._say(f"[1] a requeue of a job that is {state}, struck: {struck}", argv)
        elif argv[1] == "release" and held and not marked and not ours:
            self._say("[6] a release of a hold that is not ours", argv)
        elif argv[0] == "scancel" and state == RUNNING and not struck:
            self._say("[6] a healthy job was cancelled", argv)
        self._judge_record(argv, job, restarts)
        self._judge_exclusions(argv, job)

    def _note_requeue(self, job: Job, restarts: int) -> None:
        saved = self.cluster.logs.checkpoints.get(job.path, 0) if hasattr(self.cluster.logs, "checkpoints") else 0
        self.requeues.append(Requeue(self.clock.seconds, job.number, restarts, job.play.user, saved, self.stretch))

    def _judge_record(self, argv: tuple[str, ...], job: Job, restarts: int) -> None:
        """Advice, its event, the intent, and in approve mode a person's yes are stored before the first effect."""
        first = {"requeuehold": Operation.RESTART, "scancel": Operation.TERMINATE}
        operation = first.get(argv[1] if argv[0] == "scontrol" else argv[0])
        attempts: tuple[int, ...] = (restarts,) if operation else (restarts, restarts - 1)
        if argv[-1] == "AdminComment=":  # our mark is taken away when the job is seen again, requeued since or not
            attempts = tuple(range(restarts + 1))
        rows = Advice.objects.filter(
            attempt__job__cluster__name=self.plan.name, attempt__job__number=job.number, attempt__index__in=attempts
        )
        rows = rows.filter(operation=operation.value) if operation else rows
        told = {
            (row.heimdall_job_id, row.type)
            for row in AuditEvent.objects.filter(
                cluster=self.plan.name, type__in=(EventType.ADVICE.value, EventType.INTENT.value)
            )
        }
        stored = [
            row
            for row in rows.select_related("attempt")
            if {
                (row.attempt.heimdall_id, EventType.ADVICE.value),
                (row.attempt.heimdall_id, EventType.INTENT.value),
            }
            <= told
        ]
        if not stored:
            self._say("[3] nothing on record says so", argv)
        elif self.plan.mode is Mode.APPROVE and not any(row.pk in self.approved for row in stored):
            self._say("[4] nobody approved it", argv)
        if len(connection.savepoint_ids) + connection.in_atomic_block > self.depth:
            self._say("[3] a command inside a transaction", argv)

    def _judge_exclusions(self, argv: tuple[str, ...], job: Job) -> None:
        given = next((word.partition("=")[2] for word in argv if word.startswith("ExcNodeList=")), "")
        nodes = set(expand(given) or ()) if given else set()
        if nodes and len(self.cluster.nodes) - len(nodes) < job.play.nodes:
            self._say("[6] fewer nodes are left than the job needs", argv)
        if len(nodes) > self.most_excluded:
            self._say(f"[6] more than {self.most_excluded} nodes of {self.plan.nodes} are left out", argv)

    @property
    def most_excluded(self) -> int:
        """How many nodes may be excluded at any time."""
        return max(self.policy.min_exclusions, int(self.policy.max_excluded_share * self.plan.nodes))

    def finish(self) -> list[str]:
        """Everything that was wrong, with what only all commands together show [5, 7]."""
        for (number, restarts), times in Counter((one.job, one.restarts) for one in self.requeues).items():
            if times > 1:
                self.violations.append(f"[5] attempt {number}-{restarts} was requeued {times} times")
        most = min(OWN_CAP, self.policy.max_requeues)
        for number, times in Counter(one.job for one in self.requeues).items():
            if times > most:
                self.violations.append(f"[7] job {number} was requeued {times} times")
            self._check_saves([one for one in self.requeues if one.job == number])
        self._check_storms(
            "all jobs",
            self.requeues,
            max(self.policy.storm_restarts, int(self.policy.storm_share * self.plan.nodes)),
        )
        for user in sorted({one.user for one in self.requeues}):
            own = [one for one in self.requeues if one.user == user]
            self._check_storms(f"user {user}", own, self.policy.max_user_restarts)
        return self.violations

    def _check_saves(self, own: list[Requeue]) -> None:
        """Attempts without a new checkpoint end; up to two that each blame a new host do not count."""
        streak = 0
        for before, after in pairwise(own):
            streak = 0 if after.saved > before.saved else streak + 1
            if streak > self.policy.max_attempts_without_checkpoint + 1:
                self.violations.append(f"[7] job {after.job} was restarted {streak + 1} times at one checkpoint")
                return

    def _check_storms(self, whose: str, requeues: list[Requeue], most: int) -> None:
        """Within one stretch: over a jump of the site's clock, nobody on the site can count seconds."""
        window = self.policy.storm_window_seconds
        for one in requeues:
            near = [other for other in requeues if 0 <= other.at - one.at < window and other.stretch == one.stretch]
            if len(near) > most:
                self.violations.append(f"[7] {len(near)} restarts of {whose} within {window} s")
                return

    def _job_of(self, argv: tuple[str, ...]) -> Job | None:
        named = next((word.partition("=")[2] for word in argv if word.startswith("JobId=")), argv[-1])
        return self.cluster.jobs.get(int(named)) if named.isdigit() else None

    def _strike(  # noqa: PLR0917  # the signature of `lab.simulate.world.Strike`
        self,
        number: int,
        attempt: int,
        fault: Fault,
        nodes: tuple[str, ...],
        ranks: tuple[int, ...],
        step: int,
        at: float,
    ) -> None:
        if fault.kind not in HARMLESS:
            self.struck.add((number, attempt))
            self.hush.struck_at.setdefault((number, attempt), at)

    def _say(self, what: str, argv: tuple[str, ...]) -> None:
        self.violations.append(f"{what}, at {self.clock.seconds:.0f}: {' '.join(argv)[:160]}")

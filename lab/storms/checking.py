"""Was anything done that must not be done? Commands are judged by the truth of their moment, rows at the end."""

from collections import Counter
from dataclasses import dataclass, field

from advisor_api.gathering import active_exclusions
from advisor_api.models import Advice
from advisor_api.policy.operation import Operation
from advisor_api.policy.values import Policy
from lab.simulate.hostlist import expand
from lab.simulate.jobs import RUNNING, Job
from lab.simulate.model import Cluster
from lab.simulate.play import Fault
from lab.storms.drawing import Plan
from lab.virtual.clock import VirtualClock
from schedulers.slurm.commands import only_reads
from schedulers.transport import Answer, Transport
from workloads.mode import Mode
from workloads.models import Cluster as Row

FAILED = frozenset({"FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL"})
OWN_CAP = 5  # `max_requeue_times` of the jobs that opt in (`lab.simulate.demo.opt_in`)
LATE_SECONDS = 60.0  # after its time, the watchdog has looked twice


class Killed(BaseException):
    """The product dies at this moment, as by SIGKILL: nothing of it may catch this."""


@dataclass
class Checker:
    """The hands' way to a simulated cluster, which sees what they do. Use its `run` as that of a transport."""

    plan: Plan
    inner: Transport
    cluster: Cluster
    clock: VirtualClock
    policy: Policy = field(default_factory=Policy)
    violations: list[str] = field(default_factory=list)
    requeues: list[tuple[float, int, int]] = field(default_factory=list)  # when, job, its restarts before
    commands: int = 0
    kill: str = ""  # "before" or "after" the next command that changes something
    dead: bool = False  # it was killed and has not been started again
    struck: set[tuple[int, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.cluster.on_strike(self._strike)

    def run(self, argv: tuple[str, ...], seconds: float) -> Answer:
        """Judge a command that changes something, and run it."""
        if only_reads(argv):
            return self.inner.run(argv, seconds)
        when, self.kill = self.kill, ""
        if when == "before":
            self._die()
        job = self._job_of(argv)
        before = (job.state, job.restarts, job.held) if job else ("", 0, False)
        marked = bool(job and (job.admin_comment or "").startswith("rekindle/1"))
        answer = self.inner.run(argv, seconds)
        self.commands += 1
        if answer.returncode == 0:
            self._judge(argv, job, before, marked=marked)
        if when == "after":
            self._die()
        return answer

    def _die(self) -> None:
        self.dead = True
        raise Killed

    def _judge(
        self, argv: tuple[str, ...], job: Job | None, before: tuple[str, int, bool], *, marked: bool
    ) -> None:
        if self.plan.mode is not Mode.ACTION:
            self._say(f"a command in {self.plan.mode} mode", argv)
        if job is None:
            self._say("a command that is about no job", argv)
            return
        if '"mode": "action"' not in (job.comment or ""):
            self._say("a job that did not opt in", argv)
        state, restarts, held = before
        if argv[1] == "requeuehold":
            self.requeues.append((self.clock.seconds, job.number, restarts))
            struck = (job.number, restarts) in self.struck
            if state not in FAILED and not (state == RUNNING and struck):
                self._say(f"a requeue of a job that is {state}, struck: {struck}", argv)
        elif argv[1] == "release" and held and not marked:
            self._say("a release of a hold that is not ours", argv)
        elif argv[0] == "scancel" and state == RUNNING and (job.number, restarts) not in self.struck:
            self._say("a healthy job was cancelled", argv)
        self._judge_exclusions(argv, job)

    def _judge_exclusions(self, argv: tuple[str, ...], job: Job) -> None:
        given = next((word.partition("=")[2] for word in argv if word.startswith("ExcNodeList=")), "")
        if given and len(self.cluster.nodes) - len(set(expand(given) or ())) < job.play.nodes:
            self._say("fewer nodes are left than the job needs", argv)

    def finish(self) -> list[str]:
        """Everything that was wrong, with what only the end shows."""
        for (number, restarts), times in Counter((job, restarts) for _, job, restarts in self.requeues).items():
            if times > 1:
                self.violations.append(f"attempt {number}-{restarts} was requeued {times} times")
        for number, times in Counter(job for _, job, _ in self.requeues).items():
            if times > min(OWN_CAP, self.policy.max_requeues):
                self.violations.append(f"job {number} was requeued {times} times")
        self._check_storms()
        self._check_rows()
        return self.violations

    def _check_storms(self) -> None:
        most = max(self.policy.storm_restarts, int(self.policy.storm_share * self.plan.nodes))
        times = sorted(at for at, _, _ in self.requeues)
        for place, at in enumerate(times):
            near = sum(1 for other in times[place:] if other - at < self.policy.storm_window_seconds)
            if near > most:
                self.violations.append(f"{near} restarts within {self.policy.storm_window_seconds} s")
                return

    def _check_rows(self) -> None:
        row = Row.objects.get(name=self.plan.name)
        given = Advice.objects.filter(attempt__job__cluster=row, operation=Operation.RESTART.value)
        for advice in given.select_related("attempt__job"):
            if advice.verdict is not None and advice.verdict.kind == "early_warning":
                self.violations.append(f"a restart of {advice.attempt.label} for an early warning")
        most = max(self.policy.min_exclusions, int(self.policy.max_excluded_share * self.plan.nodes))
        active = active_exclusions(row, self.clock.now()).values("node").distinct().count()
        if active > most:
            self.violations.append(f"{active} nodes are excluded, at most {most} may be")
        for job in self.cluster.jobs.values():
            until = _until(job)
            if job.held and until is not None and until + LATE_SECONDS < self.clock.seconds:
                self.violations.append(
                    f"job {job.number} is still held by us, {self.clock.seconds - until:.0f} s late"
                )

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
        self.struck.add((number, attempt))

    def _say(self, what: str, argv: tuple[str, ...]) -> None:
        self.violations.append(f"at {self.clock.seconds:.0f}: {what}: {' '.join(argv)[:160]}")


def _until(job: Job) -> float | None:
    """The time in our mark, or `None` without one."""
    mark = job.admin_comment or ""
    word = next((word for word in mark.split() if word.startswith("until=")), "")
    return float(word[6:]) if mark.startswith("rekindle/1") and word[6:].isdigit() else None

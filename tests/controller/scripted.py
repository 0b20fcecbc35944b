"""A scheduler in memory that behaves as the real one was observed to, and a clock that only tests move.

Requeue counts restarts up and makes a new submit time at once; a running job completes for a while before it is
held; return codes prove nothing: answers can be lost with or without their effect, or the effect can come late.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from schedulers.holds import persons_hold, schedulers_hold
from schedulers.port import (
    AccountedAttempt,
    JobDetail,
    JobRow,
    Limits,
    Listing,
    NodeRow,
    NoSuchJob,
    Refused,
    Unclear,
    Unreachable,
    WaitingTasks,
)
from schedulers.states import FINAL, JobState

START = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
NODES = tuple(f"n{number:02d}" for number in range(1, 9))


class ScriptedClock:
    """Time that moves when a loop sleeps, or when a test says so; listeners move with it."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.stopping = False
        self.listeners: list[Callable[[], None]] = []

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds - 1000.0)

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        for listener in self.listeners:
            listener()


def row(number: int = 12, **changes: object) -> JobRow:
    """A failed job of the user trainer on n01 and n03."""
    plain = JobRow(
        number=number,
        name="pretrain",
        user="trainer",
        partition="main",
        state=JobState.FAILED,
        word="FAILED",
        reason="NonZeroExitCode",
        restarts=0,
        submitted_at=START - timedelta(hours=1),
        started_at=START - timedelta(hours=1),
        ended_at=START,
        exit_code=1,
        exit_signal=0,
        nodes=("n01", "n03"),
        node_count=2,
        priority=1000,
    )
    if isinstance(changes.get("state"), JobState):
        changes.setdefault("word", changes["state"].name)  # type: ignore[union-attr]
        if changes["state"] is JobState.HELD:
            changes = {"priority": 0, "nodes": (), **changes, "word": changes.get("word") or "PENDING"}
            changes["word"] = "PENDING" if changes["word"] == "HELD" else changes["word"]
    return replace(plain, **changes)


@dataclass
class ScriptedScheduler:
    """`schedulers.port.Scheduler`. `effects` lists what really happened, `commands` what was asked for."""

    clock: ScriptedClock
    kill_seconds: float = 0.0  # how long a running job takes to end after a requeue
    requeue_seconds: float = 6.0  # how long a released job waits before it runs
    shown_wait: float | None = None  # the same as a requeued job shows it; `None`: it shows nothing
    short_of_nodes: bool = False  # gives up on whatever has exclusions
    command_takes: float = 0.01
    down: bool = False
    hung: bool = False
    mark_refused: str = ""  # what it says to whoever may not write AdminComment
    lose: dict[str, str] = field(default_factory=dict)  # action -> "done" or "undone": its next answer is lost
    jobs_by_number: dict[int, JobRow] = field(default_factory=dict)
    excluded: dict[int, tuple[str, ...]] = field(default_factory=dict)
    waiting: dict[int, list[WaitingTasks]] = field(default_factory=dict)
    commands: list[tuple[object, ...]] = field(default_factory=list)
    effects: list[tuple[object, ...]] = field(default_factory=list)
    looks: int = 0
    due: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    after_hang: list[Callable[[], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clock.listeners.append(self.advance)

    # What a test does to it.

    def add(self, job: JobRow, excluded: Sequence[str] = ()) -> None:
        self.jobs_by_number[job.number] = job
        self.excluded[job.number] = tuple(excluded)

    def change(self, number: int, **changes: object) -> None:
        self.jobs_by_number[number] = replace(self.jobs_by_number[number], **changes)

    def advance(self) -> None:
        for at, then in sorted(self.due, key=lambda item: item[0]):
            if at <= self.clock.seconds:
                self.due = [item for item in self.due if item[1] is not then]
                then()

    def resume(self) -> None:
        """A hung controller goes on, and carries out what it was asked meanwhile."""
        self.hung = False
        waiting, self.after_hang = self.after_hang, []
        for effect in waiting:
            try:
                effect()
            except Refused:
                continue

    # The port.

    def jobs(self) -> Listing:
        self._answering()
        return Listing(tuple(self.jobs_by_number.values()))

    def job(self, number: int) -> JobDetail:
        self._answering()
        self.looks += 1
        if number not in self.jobs_by_number:
            raise NoSuchJob(f"Invalid job id specified for job {number}")
        return JobDetail(self.jobs_by_number[number], self.excluded[number])

    def waiting_tasks(self, array_job: int) -> tuple[WaitingTasks, ...]:
        self._answering()
        self.looks += 1
        if array_job not in self.waiting:
            raise NoSuchJob(f"Invalid job id specified for job {array_job}")
        return tuple(self.waiting[array_job])

    def exclude_for_tasks(self, array_job: int, tasks: Sequence[int], nodes: Sequence[str]) -> None:
        def effect() -> None:
            for place, group in enumerate(self.waiting[array_job]):
                if group.tasks == tuple(tasks):
                    self.waiting[array_job][place] = replace(
                        group, excluded_nodes=tuple(sorted(nodes)), stuck=False
                    )
                    self.effects.append(("exclude_for_tasks", array_job, tuple(tasks), tuple(sorted(nodes))))

        self._act("exclude_for_tasks", array_job, effect, tuple(tasks), tuple(nodes))

    def nodes(self) -> tuple[NodeRow, ...]:
        return tuple(NodeRow(name, ("idle",)) for name in NODES)

    def limits(self) -> Limits:
        return Limits("22.05.8", "demo", 300, 121, 30, True)

    def ended(self, number: int) -> tuple[AccountedAttempt, ...]:
        return ()

    def now(self) -> datetime:
        self._answering()
        return self.clock.now()

    def ping(self) -> None:
        self._answering()

    def mark(self, number: int, text: str, *, instead_of: str | None = None) -> None:
        def effect() -> None:
            if instead_of not in {None, self.jobs_by_number[number].admin_comment}:
                raise Unreachable("Somebody changed its AdminComment, so the command was not sent.")
            self._mark(number, text)

        self._act("mark", number, effect, text)

    def requeue_hold(self, number: int, *, running: bool) -> None:
        self._act("requeue_hold", number, lambda: self._requeue_hold(number, running), running)

    def update_exclusions(
        self, number: int, nodes: Sequence[str], *, instead_of: Collection[str] | None = None
    ) -> None:
        def effect() -> None:
            if instead_of is not None and {*instead_of} != {*self.excluded[number]}:
                raise Unreachable("Somebody changed its excluded nodes, so the command was not sent.")
            self._exclude(number, tuple(nodes))

        self._act("update_exclusions", number, effect, tuple(nodes))

    def release(self, number: int, *, ours: bool = False) -> None:
        self._act("release", number, lambda: self._release(number, ours))

    def cancel(self, number: int) -> None:
        self._act("cancel", number, lambda: self._cancel(number))

    # What happens inside.

    def _answering(self) -> None:
        if self.down or self.hung:
            raise Unreachable("Unable to contact slurm controller")

    def _act(self, action: str, number: int, effect: Callable[[], None], *more: object) -> None:
        self.commands.append((action, number, *more))
        self.clock.seconds += self.command_takes
        if self.hung:
            self.after_hang.append(effect)
        if self.down or self.hung:
            raise Unclear(f"Unexpected message received for job {number}")
        lost = self.lose.pop(action, "")
        if lost != "undone":
            if number not in self.jobs_by_number and number not in self.waiting:
                raise NoSuchJob(f"Invalid job id specified for job {number}")
            effect()
        if lost:
            raise Unclear("Socket timed out on send/recv operation")

    def _mark(self, number: int, text: str) -> None:
        if self.mark_refused:
            raise Refused(self.mark_refused)
        if self.jobs_by_number[number].state in FINAL:
            raise Refused("Job has already finished")
        self.change(number, admin_comment=text)
        self.effects.append(("mark", number, text))

    def _requeue_hold(self, number: int, running: bool) -> None:
        job = self.jobs_by_number[number]
        if job.state in {JobState.PENDING, JobState.HELD} or (
            job.state is JobState.COMPLETING and job.reason == "requeued"
        ):
            raise Refused(f"Job is pending execution for job {number}")
        if not job.requeue_allowed:
            raise Refused(f"Requested operation is presently disabled for job {number}")
        live = job.state in {JobState.RUNNING, JobState.SUSPENDED}
        if running and not live:
            return
        self.effects.append(("requeue_hold", number))
        submitted = self.clock.now().replace(microsecond=0)
        self.change(number, restarts=job.restarts + 1, submitted_at=submitted, priority=0)
        if live and self.kill_seconds:
            self.change(number, state=JobState.COMPLETING, word="COMPLETING", reason="requeued")
            self.due.append((self.clock.seconds + self.kill_seconds, lambda: self._held(number)))
        else:
            self._held(number)

    def _held(self, number: int) -> None:
        self.change(
            number, state=JobState.HELD, word="PENDING", reason="job requeued in held state", nodes=(), priority=0
        )
        if self.shown_wait is not None:
            self.change(number, eligible_at=self.clock.now() + timedelta(seconds=self.shown_wait))

    def _exclude(self, number: int, nodes: tuple[str, ...]) -> None:
        job = self.jobs_by_number[number]
        if not set(nodes) <= set(NODES):
            raise Refused("Invalid node name specified")
        if job.state not in {JobState.PENDING, JobState.HELD}:
            raise Refused(f"Job is no longer pending execution for job {number}")
        self.excluded[number] = tuple(sorted(nodes))
        if job.reason == "BadConstraints":
            self.change(number, state=JobState.PENDING, word="PENDING", reason="", priority=1000)
            self.due.append((self.clock.seconds + 1, lambda: self.run(number)))
        self.effects.append(("update_exclusions", number, tuple(sorted(nodes))))

    def start_after(self, number: int, seconds: int) -> None:
        self._act("start_after", number, lambda: self._start_after(number, seconds), seconds)

    def _start_after(self, number: int, seconds: int) -> None:
        job = self.jobs_by_number[number]
        if job.state is not JobState.PENDING:
            raise Refused(f"Job is no longer pending execution for job {number}")
        self.effects.append(("start_after", number))
        at = self.clock.now() + timedelta(seconds=seconds)
        self.change(number, eligible_at=at)
        self.due.append((self.clock.seconds + seconds, lambda: self.run(number)))

    def _release(self, number: int, ours: bool) -> None:
        job = self.jobs_by_number[number]
        if ours and (persons_hold(job) or schedulers_hold(job)):
            raise Unreachable("Somebody else holds it by now, so the command was not sent.")
        if job.state in FINAL:
            raise Refused("Job has already finished")
        if job.state is JobState.HELD:
            self.effects.append(("release", number))
            self.change(number, state=JobState.PENDING, word="PENDING", reason="BeginTime", priority=1000)
            self.due.append((self.clock.seconds + self.requeue_seconds, lambda: self.run(number)))

    def run(self, number: int) -> None:
        if self.jobs_by_number[number].state is JobState.PENDING and self.short_of_nodes and self.excluded[number]:
            self.change(number, state=JobState.HELD, reason="BadConstraints", priority=0)
        elif self.jobs_by_number[number].state is JobState.PENDING:
            free = [node for node in NODES if node not in self.excluded[number]]
            self.change(number, state=JobState.RUNNING, word="RUNNING", reason="", nodes=tuple(free[:2]))

    def _cancel(self, number: int) -> None:
        if self.jobs_by_number[number].state not in FINAL:
            self.effects.append(("cancel", number))
            self.change(number, state=JobState.CANCELLED, word="CANCELLED", reason="")

"""A scheduler that answers what a test wrote down: the port in memory, nothing of ours replaced."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection

from schedulers.port import (
    AccountedAttempt,
    JobDetail,
    JobRow,
    Limits,
    Listing,
    NoAccounting,
    NodeRow,
    NoSuchJob,
    SchedulerError,
    WaitingTasks,
)
from schedulers.states import JobState

START = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
WORDS = {JobState.HELD: "PENDING"}


def after(seconds: float) -> datetime:
    """A moment of the story, in seconds from its start."""
    return START + timedelta(seconds=seconds)


def a_row(number: int = 12345, state: JobState = JobState.RUNNING, **facts: Any) -> JobRow:
    """A row as Slurm would list it."""
    row = JobRow(
        number=number,
        name="train",
        user="trainer",
        partition="main",
        state=state,
        word=WORDS.get(state, state.value.upper()),
        reason="None",
        restarts=0,
        submitted_at=START,
        started_at=after(2) if state in {JobState.RUNNING, JobState.FAILED, JobState.COMPLETED} else None,
        ended_at=None,
        exit_code=0,
        exit_signal=0,
        nodes=("n01", "n02") if state is JobState.RUNNING else (),
        node_count=2,
        work_dir="/home/trainer",
        stdout="%x_%j.log",
    )
    return replace(row, **facts)


def failed(row: JobRow, at: datetime, exit_code: int = 3) -> JobRow:
    """The same job, ended with an exit code."""
    return replace(
        row,
        state=JobState.FAILED,
        word="FAILED",
        reason="NonZeroExitCode",
        ended_at=at,
        exit_code=exit_code,
        nodes=("n01", "n02"),
    )


def requeued(row: JobRow, at: datetime, state: JobState = JobState.PENDING, **facts: Any) -> JobRow:
    """The same job after a requeue at `at`."""
    fresh: dict[str, Any] = {
        "state": state,
        "word": WORDS.get(state, state.value.upper()),
        "reason": "BeginTime",
        "restarts": row.restarts + 1,
        "submitted_at": at,
        "started_at": None,
        "ended_at": None,
        "exit_code": 0,
        "nodes": (),
    }
    return replace(row, **(fresh | facts))


def accounted(row: JobRow, state: JobState, at: datetime, **facts: Any) -> AccountedAttempt:
    """What the accounting remembers of the attempt that `row` showed."""
    return replace(
        AccountedAttempt(
            number=row.number,
            name=row.name,
            user=row.user,
            state=state,
            word=state.value.upper(),
            submitted_at=row.submitted_at,
            started_at=row.started_at,
            ended_at=at,
            exit_code=0,
            exit_signal=0,
            nodes=row.nodes,
        ),
        **facts,
    )


LIMITS = Limits("22.05.8", "lab", min_job_age=300, requeue_wait=121, kill_wait=30, tested=True)
Ended = tuple[AccountedAttempt, ...] | SchedulerError


@dataclass
class ScriptedScheduler:
    """`schedulers.port.Scheduler`: lists `rows`, raises `fails` for the calls named there, counts every call."""

    rows: Sequence[JobRow] = ()
    node_rows: tuple[NodeRow, ...] = (NodeRow("n01", ("idle",)), NodeRow("n02", ("idle",)))
    installation: Limits = LIMITS
    fails: dict[str, SchedulerError] = field(default_factory=dict)
    accounting: dict[int, Ended] | None = None  # `None`: the installation keeps none
    meanwhile: Callable[[], None] | None = None
    calls: list[str] = field(default_factory=list)

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if name in self.fails:
            raise self.fails[name]

    def jobs(self) -> Listing:
        self._called("jobs")
        if self.meanwhile:
            self.meanwhile()
        return Listing(tuple(self.rows))

    def job(self, number: int) -> JobDetail:
        self._called("job")
        for row in self.rows:
            if row.number == number:
                return JobDetail(row, ())
        raise NoSuchJob(f"There is no job {number}.")

    def ended(self, number: int) -> tuple[AccountedAttempt, ...]:
        self._called("ended")
        if self.accounting is None:
            raise NoAccounting("This installation keeps no accounting.")
        found = self.accounting.get(number, ())
        if isinstance(found, SchedulerError):
            raise found
        return found

    def nodes(self) -> tuple[NodeRow, ...]:
        self._called("nodes")
        return self.node_rows

    def limits(self) -> Limits:
        self._called("limits")
        return self.installation

    def now(self) -> datetime:
        self._called("now")
        return START

    def ping(self) -> None:
        self._called("ping")

    def _refuse(self, name: str) -> None:
        self.calls.append(name)
        raise AssertionError(f"observing sent a command: {name}")

    def mark(self, number: int, text: str, *, instead_of: str | None = None) -> None:
        self._refuse("mark")

    def requeue_hold(self, number: int, *, running: bool) -> None:
        self._refuse("requeue_hold")

    def update_exclusions(
        self, number: int, nodes: Sequence[str], *, instead_of: Collection[str] | None = None
    ) -> None:
        self._refuse("update_exclusions")

    def waiting_tasks(self, array_job: int) -> tuple[WaitingTasks, ...]:
        self._called("waiting_tasks")
        return ()

    def exclude_for_tasks(self, array_job: int, tasks: Sequence[int], nodes: Sequence[str]) -> None:
        self._refuse("exclude_for_tasks")

    def release(self, number: int, *, ours: bool = False) -> None:
        self._refuse("release")

    def start_after(self, number: int, seconds: int) -> None:
        self._refuse("start_after")

    def cancel(self, number: int) -> None:
        self._refuse("cancel")


@contextmanager
def overtaken(table: str, act: Callable[[], object]) -> Iterator[None]:
    """Somebody else does `act` just before the first UPDATE of `table`, as a second worker would."""
    waiting = [act]

    def step_in(execute: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:
        if waiting and sql.startswith("UPDATE") and table in sql:
            waiting.pop()()
        return execute(sql, parameters, many, context)

    with connection.execute_wrapper(step_in):
        yield
    assert not waiting, f"nothing updated {table}"

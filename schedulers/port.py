"""What may anybody ask of a scheduler, and in which words does it answer?

Every scheduler package passes the same contract tests (`tests/schedulers/contract.py`). An action that
returns has only been *accepted*: what became of it is read back from `job()` (a return code proves nothing).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from schedulers.states import JobState


class SchedulerError(Exception):
    """Something between us and the scheduler went wrong; `raw` is its answer, cut to 64 KiB."""

    def __init__(self, reason: str, raw: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.raw = raw[:65536]


class Unreachable(SchedulerError):
    """No answer: unknown, never failed (design: unknown is not failed)."""


class Garbled(SchedulerError):
    """An answer that cannot be read. Changes nothing but "cannot see"."""


class Refused(SchedulerError):
    """The scheduler said no, and the action was not carried out."""


class Unclear(SchedulerError):
    """It is not known whether the action was carried out: look, never repeat blindly."""


class NoSuchJob(Refused):
    """The scheduler does not know this job number (any more)."""


class NoAccounting(SchedulerError):
    """The installation keeps no record of ended jobs, so a vanished one is gone, never failed."""


class NotTold(SchedulerError):
    """Nobody asked this where the answers come from; a later observation may bring it."""


@dataclass(frozen=True)
class JobRow:
    """One job as a listing shows it. Times are aware UTC; `None` where the scheduler has none.

    `started_at` is known while it runs and once it ended, `ended_at` once it ended. While it is COMPLETING both
    are `None`, `nodes` shrinks, and after a requeue `restarts` counts the next attempt already: what the attempt
    was is known from a listing of the time when it ran.

    The waiting tasks of an array that have no number of their own are one row: `array_job` without `array_task`.
    """

    number: int
    name: str
    user: str
    partition: str
    state: JobState
    word: str  # the scheduler's own state
    reason: str  # why it waits or why it ended, in the scheduler's word
    restarts: int
    submitted_at: datetime | None  # changes at every requeue
    started_at: datetime | None
    ended_at: datetime | None
    exit_code: int
    exit_signal: int
    nodes: tuple[str, ...]
    node_count: int
    account: str = ""
    user_id: int | None = None
    array_job: int | None = None
    array_task: int | None = None
    het_leader: int | None = None
    batch: bool = True
    requeue_allowed: bool = True
    priority: int = 0
    comment: str = ""
    admin_comment: str = ""
    work_dir: str = ""
    stdout: str = ""
    stderr: str = ""
    dependency: str = ""
    required_nodes: tuple[str, ...] = ()
    eligible_at: datetime | None = None  # a requeued job may not start before

    @property
    def held(self) -> bool:
        """Whether it waits with priority 0, whoever holds it."""
        return self.state is JobState.HELD


@dataclass(frozen=True)
class JobDetail:
    """One job asked for by number: the row and what only the single question tells."""

    row: JobRow
    excluded_nodes: tuple[str, ...]


@dataclass(frozen=True)
class WaitingTasks:
    """Tasks of one array that have never begun, wait by themselves, and share one list of excluded nodes.

    Nobody holds them. `stuck`: the scheduler itself has given up on them, because too few nodes are left by what
    they ask for; another list makes it think again.
    """

    array_job: int
    user: str
    tasks: tuple[int, ...]  # their places in the array, rising
    excluded_nodes: tuple[str, ...]  # sorted
    required_nodes: tuple[str, ...] = ()
    stuck: bool = False


@dataclass(frozen=True)
class AccountedAttempt:
    """One ended attempt of a job as the accounting remembers it."""

    number: int
    name: str  # "allocation" for an attempt so short that the accounting missed its start
    user: str
    state: JobState
    word: str
    submitted_at: datetime | None  # with the number the key of an attempt
    started_at: datetime | None
    ended_at: datetime
    exit_code: int
    exit_signal: int
    nodes: tuple[str, ...]


UNAVAILABLE = frozenset(
    {
        "down",
        "drain",
        "drained",
        "draining",
        "error",
        "fail",
        "failing",
        "future",
        "invalid_reg",
        "maint",
        "maintenance",
        "not_responding",
    }
)


@dataclass(frozen=True)
class NodeRow:
    """One node. `states` are the scheduler's words in lower case, e.g. `("idle", "drain")`."""

    name: str
    states: tuple[str, ...]
    reason: str = ""
    reason_by: str = ""
    reason_at: datetime | None = None
    booted_at: datetime | None = None
    partitions: tuple[str, ...] = ()

    @property
    def available(self) -> bool:
        """Whether the scheduler could place a job on it now or later."""
        return UNAVAILABLE.isdisjoint(self.states)


@dataclass(frozen=True)
class Listing:
    """Every job the scheduler knows, at one moment. An empty listing is an answer, not an error."""

    jobs: tuple[JobRow, ...]
    raw_bytes: int = 0


@dataclass(frozen=True)
class Limits:
    """What the installation is and allows. Durations in seconds."""

    version: str
    cluster_name: str
    min_job_age: int
    requeue_wait: int  # how long a requeued job waits before it may start
    kill_wait: int
    tested: bool  # whether outputs of this version stand among the recorded ones


class Reading(Protocol):
    """The part of the port that observing needs. Raises `Unreachable` or `Garbled`."""

    def jobs(self) -> Listing:
        """All jobs in one call."""

    def ended(self, number: int) -> tuple[AccountedAttempt, ...]:
        """Ended attempts under this number, oldest first; numbers come round, so it may be another job's too.

        Also raises `NoAccounting`, or `NotTold`. The record lags: never judge from it within 10 s of the end.
        """

    def nodes(self) -> tuple[NodeRow, ...]:
        """All nodes in one call."""

    def limits(self) -> Limits:
        """Version and limits of the installation."""

    def ping(self) -> None:
        """Returns when the scheduler answers."""


class Scheduler(Reading, Protocol):
    """The port. Reads raise `Unreachable` or `Garbled`; actions also `Refused` or `Unclear`.

    An action that raises `Unreachable` or `Garbled` sent nothing: only `Unclear` may have been carried out.
    """

    def job(self, number: int) -> JobDetail:
        """One job with its exclusions; `NoSuchJob` when the scheduler does not know it."""

    def waiting_tasks(self, array_job: int) -> tuple[WaitingTasks, ...]:
        """The tasks of an array that wait and that nobody holds; `NoSuchJob` when nothing of it is known."""

    def now(self) -> datetime:
        """The scheduler's own clock."""

    def mark(self, number: int, text: str, *, instead_of: str | None = None) -> None:
        """Write our mark into the administrator's comment (decisions 11); `""` removes it.

        `instead_of`: nothing is sent when another text than this stands there by now.
        """

    def requeue_hold(self, number: int, *, running: bool) -> None:
        """Requeue in held state. `running=True` acts on live jobs only (never on a finished one)."""

    def update_exclusions(
        self, number: int, nodes: Sequence[str], *, instead_of: Collection[str] | None = None
    ) -> None:
        """Replace the job's list of excluded nodes; an empty one clears it.

        `instead_of`: nothing is sent when other nodes than these stand there by now.
        """

    def exclude_for_tasks(self, array_job: int, tasks: Sequence[int], nodes: Sequence[str]) -> None:
        """Replace the excluded nodes of waiting tasks in one command; what has begun meanwhile is left as it is."""

    def release(self, number: int, *, ours: bool = False) -> None:
        """Let a held job go. `ours`: nothing is sent when somebody else holds it by now."""

    def start_after(self, number: int, seconds: int) -> None:
        """Let a waiting job begin in `seconds` by the scheduler's clock, whatever time it was to wait for."""

    def cancel(self, number: int) -> None:
        """Cancel a job."""

"""Which jobs are there? One squeue call and how its answer is read.

A job's name, comment and paths are written by its user and may hold any sign, control characters included
(observed). So the borders between fields carry a random part that is new in each call: a name cannot contain it.
"""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from schedulers.hostlist import expand
from schedulers.port import JobRow
from schedulers.slurm.values import NOTHING, exit_status, moment, optional, optional_whole, state, whole
from schedulers.states import FINAL, LIVE, JobState

COLUMNS = (
    "JobID",
    "ArrayJobID",
    "ArrayTaskID",
    "HetJobID",
    "State",
    "Reason",
    "RestartCnt",
    "SubmitTime",
    "EligibleTime",
    "StartTime",
    "EndTime",
    "exit_code",
    "NodeList",
    "NumNodes",
    "ReqNodes",
    "PriorityLong",
    "Requeue",
    "BatchFlag",
    "UserName",
    "UserID",
    "Account",
    "Partition",
    "Dependency",
    "WorkDir",
    "STDOUT",
    "STDERR",
    "Name",
    "Comment",
    "admin_comment",
)


STUCK = "BadConstraints"  # Slurm's reason for a job that no nodes are left for


@dataclass(frozen=True)
class Borders:
    """What stands behind a field and behind the last field of a record."""

    field: str = "\x1f"
    record: str = "\x1e"

    @classmethod
    def fresh(cls) -> "Borders":
        """Borders that nobody can have guessed: 48 random bits. No comma, no colon, no digit in front.

        A user with a thousand jobs writes a million guesses into their names and paths, and is listed every second.
        """
        chance = secrets.token_urlsafe(6)
        return cls(f"\x1f{chance}", f"\x1e{chance}")

    def layout(self) -> str:
        """The argument of `squeue -O`. A border without a width means no padding and no cutting."""
        return ",".join(f"{name}:{self.field}" for name in COLUMNS[:-1]) + f",{COLUMNS[-1]}:{self.record}"


def rows(text: str, borders: Borders) -> tuple[JobRow, ...]:
    """Every job of an answer; raises `ValueError` if any record cannot be read."""
    return fold(tasks(text, borders))


def tasks(text: str, borders: Borders) -> tuple[JobRow, ...]:
    """The same, with each waiting task of an array for itself: they share the array's number."""
    records = text.split(f"{borders.record}\n")
    if records.pop():
        raise ValueError("The listing of jobs breaks off in the middle of a record.")
    return tuple(_row(record.split(borders.field)) for record in records)


def never_begun(row: JobRow) -> bool:
    """Whether it is a task that waits for its first start, held by nobody. A stuck one looks as if it were held."""
    free = row.state is JobState.PENDING or (row.state is JobState.HELD and row.reason == STUCK)
    return free and row.restarts == 0 and row.array_task is not None


def address(row: JobRow) -> str:
    """How to speak of exactly this job.

    The bare number of an array's last task is also the number of the whole array, and Slurm would act on all of it.
    The bare numbers of other tasks are no better: once that last task ended, scancel accepts them and does nothing.
    """
    if row.array_job is None:
        return str(row.number)
    if row.array_task is None:
        raise ValueError(f"Job {row.number} stands for the waiting tasks of an array, which have no numbers yet.")
    return f"{row.array_job}_{row.array_task}"


def _row(fields: list[str]) -> JobRow:
    if len(fields) != len(COLUMNS):
        raise ValueError(f"A record of the listing has {len(fields)} fields instead of {len(COLUMNS)}.")
    of = dict(zip(COLUMNS, fields, strict=True))
    known = state(of["State"], priority := whole(of["PriorityLong"], "PriorityLong"))
    array_task = optional_whole(of["ArrayTaskID"], "ArrayTaskID")
    started_at, ended_at = span(moment(of["StartTime"]), moment(of["EndTime"]), known)
    code, signal = exit_status(of["exit_code"])
    return JobRow(
        number=whole(of["JobID"], "JobID"),
        name=of["Name"],
        user=of["UserName"],
        partition=of["Partition"],
        state=known,
        word=of["State"],
        reason="" if of["Reason"] in NOTHING else of["Reason"],
        restarts=whole(of["RestartCnt"], "RestartCnt"),
        submitted_at=moment(of["SubmitTime"]),
        started_at=started_at,
        ended_at=ended_at,
        exit_code=code,
        exit_signal=signal,
        nodes=expand(of["NodeList"]),
        node_count=whole(of["NumNodes"], "NumNodes"),
        account=optional(of["Account"]),
        user_id=whole(of["UserID"], "UserID"),
        array_job=None if array_task is None else whole(of["ArrayJobID"], "ArrayJobID"),
        array_task=array_task,
        het_leader=optional_whole(of["HetJobID"], "HetJobID"),
        batch=of["BatchFlag"] != "0",
        requeue_allowed=of["Requeue"] != "0",
        priority=priority,
        comment=optional(of["Comment"]),
        admin_comment=optional(of["admin_comment"]),
        work_dir=optional(of["WorkDir"]),
        stdout=optional(of["STDOUT"]),
        stderr=optional(of["STDERR"]),
        dependency=optional(of["Dependency"]),
        required_nodes=expand(of["ReqNodes"]),
        eligible_at=moment(of["EligibleTime"]),
    )


def span(
    started_at: datetime | None, ended_at: datetime | None, known: JobState
) -> tuple[datetime | None, datetime | None]:
    """Start and end as far as they are facts.

    A waiting job shows its planned start, a running one its planned end, and both are mixed up while it ends.
    """
    ran = known in FINAL | LIVE and known is not JobState.COMPLETING
    return started_at if ran else None, ended_at if known in FINAL else None


def fold(found: Iterable[JobRow]) -> tuple[JobRow, ...]:
    """Waiting tasks of an array share the array's number until they start: one row stands for them."""
    by_number: dict[int, JobRow] = {}
    for row in found:
        first = by_number.setdefault(row.number, row)
        if first is row:
            continue
        if row.array_job is None or row.array_job != first.array_job:
            raise ValueError(f"The listing shows job {row.number} twice.")
        by_number[row.number] = replace(first, array_task=None)
    return tuple(by_number.values())

"""Which page of the list of jobs is shown, in which order, and what stands in each row?

There is no COUNT(*): a page asks for one row more than it shows. The next one starts after the last row's value and
key (a seek), so it costs the same however far down it is, and rows that come or go meanwhile shift nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import F, Q, QuerySet

from console.job_finding import by_text, fitting
from console.job_wanted import JobOrder, Wanted, cursor_of, moment_of
from console.recovery import open_recoveries
from schedulers.states import JobState
from workloads.models import Attempt, Cluster, Job

PAGE = 50
EXPORTED = 500  # rows of an export in memory at once
WIDE = ("comment", "stdout", "stderr", "work_dir", "opt_in")
COLUMNS = {
    JobOrder.NUMBER: "number",
    JobOrder.STATE: "newest_state",
    JobOrder.NAME: "name",
    JobOrder.USER: "user",
    JobOrder.PARTITION: "partition",
    JobOrder.ATTEMPTS: "newest_index",
    JobOrder.NODES: "node_count",
    JobOrder.SUBMITTED: "created_at",
}
"""What the list is sorted by: the job's own columns, all of them filled."""


@dataclass(frozen=True)
class JobRow:
    """One job with its newest attempt."""

    job: Job
    attempt: Attempt | None
    state: JobState | None
    in_recovery: bool


@dataclass(frozen=True)
class JobPage:
    """One page of the list; `next_after` is where the next one starts, empty at the end."""

    rows: tuple[JobRow, ...]
    next_after: str


def job_page(wanted: Wanted, now: datetime) -> JobPage:
    """The jobs that are asked for, in the order that is asked for. At most fifteen queries, none for each row."""
    found = _found(wanted, now, PAGE + 1)
    jobs = found[:PAGE]
    return JobPage(tuple(_rows(jobs)), _after(wanted, jobs[-1]) if len(found) > PAGE else "")


def every_row(wanted: Wanted, now: datetime) -> Iterator[JobRow]:
    """All rows that are asked for, a few hundred in memory at once."""
    wanted = replace(wanted, after="")
    while jobs := _found(wanted, now, EXPORTED):
        yield from _rows(jobs)
        if len(jobs) < EXPORTED:
            return
        wanted = replace(wanted, after=_after(wanted, jobs[-1]))


def _found(wanted: Wanted, now: datetime, most: int) -> list[Job]:
    rows = fitting(wanted, now)
    if wanted.q:  # each meaning of the text has its own index; the first rows of all are among the first of each
        keys: set[int] = set()
        for meant in by_text(rows, wanted.q, moment_of(wanted.earlier, now)):
            keys.update(_sought(meant, wanted).values_list("pk", flat=True)[:most])
        rows = Job.objects.filter(pk__in=sorted(keys))
    return _joined(_sought(rows, wanted).defer(*WIDE)[:most])


def _sought(rows: QuerySet[Job], wanted: Wanted) -> QuerySet[Job]:
    """The rows after the cursor, in order; the key tells apart what is equal."""
    column, down = _order(wanted)
    place = cursor_of(wanted)
    if place is not None:
        key, value = place
        beyond = "lt" if down else "gt"
        if column == "id":
            rows = rows.filter(pk__lt=key)
        elif (known := _value(column, value)) is not None:
            equal_or = Q(**{f"{column}__{beyond}e": known})
            rows = rows.filter(equal_or & (Q(**{f"{column}__{beyond}": known}) | Q(**{f"pk__{beyond}": key})))
    names = ("id",) if column == "id" else (column, "id")
    return rows.order_by(*(f"-{name}" if down else name for name in names))


def _order(wanted: Wanted) -> tuple[str, bool]:
    if not wanted.sort:
        return "id", True
    return COLUMNS[JobOrder(wanted.sort.removeprefix("-"))], wanted.sort.startswith("-")


def _after(wanted: Wanted, last: Job) -> str:
    column, _ = _order(wanted)
    value = getattr(last, column)
    if column == "id":
        return str(last.pk)
    return f"{last.pk}~{value.isoformat() if isinstance(value, datetime) else value}"


def _value(column: str, text: str) -> object:
    """What a cursor says of a column, as the column has it; none when it cannot be that."""
    kind = Job._meta.get_field(column).get_internal_type()
    if kind == "DateTimeField":
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            return None
        return at if at.tzinfo is not None else None
    if kind == "CharField":
        return text
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def _joined(rows: Iterable[Job]) -> list[Job]:
    """With their clusters, which are few: a join would have the database begin with them, and sort all jobs."""
    jobs = list(rows)
    clusters = {one.pk: one for one in Cluster.objects.filter(pk__in={job.cluster_id for job in jobs})}
    for job in jobs:
        job.cluster = clusters[job.cluster_id]
    return jobs


def _rows(jobs: list[Job]) -> Iterator[JobRow]:
    keys = [job.pk for job in jobs]
    attempts = Attempt.objects.filter(job__in=keys, index=F("job__newest_index"))
    newest = {attempt.job_id: attempt for attempt in attempts}
    recovering = set(
        open_recoveries().filter(advice__attempt__job__in=keys).values_list("advice__attempt__job", flat=True)
    )
    for job in jobs:
        attempt = newest.get(job.pk)
        yield JobRow(job, attempt, JobState(attempt.state) if attempt else None, job.pk in recovering)

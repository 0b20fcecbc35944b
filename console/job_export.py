"""How does a list of jobs leave the site as a table, however long it is?"""

from collections.abc import Callable, Iterator
from datetime import datetime

from advisor_api.csv_lines import csv_line
from console.job_list import JobRow, every_row
from console.job_wanted import Wanted

COLUMNS = (
    "cluster",
    "job",
    "attempts",
    "state",
    "inRecovery",
    "blindSince",
    "name",
    "user",
    "account",
    "partition",
    "nodes",
    "nodeNames",
    "comment",
    "submittedAt",
    "startedAt",
    "endedAt",
    "step",
    "checkpointStep",
)


def job_lines(wanted: Wanted, now: datetime, person: Callable[[str], str]) -> Iterator[str]:
    """A head and a line for each job that is asked for. `person`: how a user's name is written."""
    yield csv_line(COLUMNS)
    for row in every_row(wanted, now):
        yield csv_line(_values(row, person))


def _values(row: JobRow, person: Callable[[str], str]) -> tuple[object, ...]:
    job, attempt = row.job, row.attempt
    return (
        job.cluster.name,
        job.number,
        job.newest_index + 1,
        row.state.value if row.state else "",
        "yes" if row.in_recovery else "no",
        attempt.blind_since if attempt else None,
        job.name,
        person(job.user),
        job.account,
        job.partition,
        job.node_count,
        " ".join(str(node) for node in attempt.nodes) if attempt else "",
        job.wish,
        job.created_at,
        attempt.started_at if attempt else None,
        attempt.ended_at if attempt else None,
        attempt.last_step if attempt else None,
        attempt.last_checkpoint_step if attempt else None,
    )

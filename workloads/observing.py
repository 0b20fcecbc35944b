"""What does the scheduler show now, and what is new in it?

The scheduler is asked outside any transaction; one short transaction then stores all of it, or nothing when
another observation was first (decisions 1).
"""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from audit.trail import record
from schedulers.port import JobRow, Limits, NodeRow, Reading, SchedulerError
from workloads.changes import Changes
from workloads.merging import merge
from workloads.models import Cluster, Job
from workloads.node_rows import compare_nodes
from workloads.rows import watched_rows
from workloads.sight import Push, cannot_see, limits_are_due, sees, sees_again
from workloads.stored import load_live, load_numbers
from workloads.vanishing import lay_aside


@dataclass(frozen=True)
class _Answer:
    jobs: tuple[JobRow, ...]
    nodes: tuple[NodeRow, ...]
    limits: Limits | None


def observe(cluster: Cluster, scheduler: Reading, now: datetime) -> None:
    """List once and store everything that changed; the number of queries does not grow with unchanged jobs.

    An answer that is missing or cannot be read changes nothing but "cannot see". `cluster` is read anew.
    """
    observe_as(Cluster.objects.get(pk=cluster.pk), scheduler, now)


def observe_as(before: Cluster, scheduler: Reading, now: datetime, push: Push | None = None) -> bool:
    """As `observe`, against the row as it was read; with `push` its number is stored in the same transaction.

    `False`: nothing of it was stored, because there was no usable answer or another observation was first.
    """
    try:
        answer = _ask(before, scheduler, now)
    except SchedulerError as error:
        cannot_see(before, error, now)
        return False
    changes = _compare(before, answer, scheduler, now)
    nodes = compare_nodes(before, answer.nodes, now)
    with transaction.atomic():
        if not sees(before, answer.limits, now, push):
            return False
        changes.save(before, now)
        Job.objects.filter(cluster=before, live=True, missing_listings=0).update(seen_at=now)
        nodes.save(before, now)
        entries = [*sees_again(before, now), *changes.entries]
        if entries:
            record(entries, now)
    return True


def _ask(cluster: Cluster, scheduler: Reading, now: datetime) -> _Answer:
    listing = scheduler.jobs()
    if not listing.jobs and Job.objects.filter(cluster=cluster, live=True).exists():
        scheduler.ping()  # an empty list is an answer only from a scheduler that answers otherwise too (trap 4)
    nodes = scheduler.nodes()
    limits = scheduler.limits() if limits_are_due(cluster, now) else None
    return _Answer(listing.jobs, nodes, limits)


def _compare(cluster: Cluster, answer: _Answer, scheduler: Reading, now: datetime) -> Changes:
    """What the answer changes, in memory. The stored side is what it was at `cluster.seen_at`, or it is dropped."""
    changes = Changes()
    stored = load_live(cluster)
    live = list(stored.live())
    rows = watched_rows(answer.jobs, cluster.partitions, (job.number for job in live))
    load_numbers(cluster, stored, rows)
    lost = merge(cluster, stored, rows, now, changes)
    listed = {row.number for row in answer.jobs}
    missing = [job for job in live if job.number not in listed]
    lay_aside(stored, scheduler, cluster=cluster, missing=missing, lost=lost, now=now, changes=changes)
    return changes

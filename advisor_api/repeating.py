"""Does somebody repeat a job from outside, by submitting it again whenever it fails?

Such a loop and our own retries would multiply (trap 18). It is known by the name, the user and the folder of its
jobs, and by each being submitted right after the one before failed. A sweep has several of these jobs at once, and
its next one comes right after an end, too: there only a job that loads the failed one's checkpoint repeats it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Max, Q, QuerySet

from schedulers.states import FAILURES
from workloads.models import Job
from workloads.progress_models import Checkpoint

AT_ONCE = timedelta(seconds=300)  # a program submits again within this; a person reads the log first
SLACK = timedelta(seconds=30)  # by which a listing may show the end late
LOOKED_BACK = 20  # jobs
PLACES = 50  # newest checkpoints of the failed job


@dataclass(frozen=True)
class Repeats:
    """`before`: failed jobs in front of this one, each replaced at once by the next. `after`: one came after it."""

    before: int = 0
    after: bool = False


def repeats_of(job: Job, ended_at: datetime | None) -> Repeats:
    """What stands before and after `job`, which ended at `ended_at`. Three queries, four in a sweep."""
    if not job.name or not job.user:
        return Repeats()
    alike = Job.objects.filter(cluster=job.cluster, user=job.user, name=job.name, work_dir=job.work_dir)
    others = alike.exclude(pk=job.pk)  # tasks of one array are no repetition
    if job.array_job is not None:
        others = others.exclude(array_job=job.array_job)
    after = others.none()
    if ended_at is not None:
        after = others.filter(created_at__gt=ended_at, created_at__lte=ended_at + AT_ONCE)
    if _side_by_side(others, job, ended_at):
        return Repeats(after=_continued(after, job))
    return Repeats(_in_front(others, job), after.exists())


def _side_by_side(others: QuerySet[Job], job: Job, ended_at: datetime | None) -> bool:
    """Whether any of them was there together with `job`: then it is one of a sweep, and the next is no repetition.

    Who repeats a job waits for its end. A listing may show that late, so a moment together is none.
    """
    begun = others if ended_at is None else others.filter(created_at__lt=ended_at)
    there = Q(attempts__ended_at__gt=job.created_at + SLACK) | Q(attempts__ended_at=None, live=True)
    return begun.filter(there).exists()


def _continued(after: QuerySet[Job], job: Job) -> bool:
    """Whether one of them has said that it loaded what `job` saved: of a sweep, too, that one is its repetition."""
    saved = Checkpoint.objects.filter(attempt__job=job, deed="saved").exclude(place="").order_by("-pk")
    places = list(saved.values_list("place", flat=True)[:PLACES])
    loaded = Checkpoint.objects.filter(attempt__job__in=after, deed="loaded", place__in=places)
    return bool(places) and loaded.exists()


def _in_front(others: QuerySet[Job], job: Job) -> int:
    failed = others.filter(
        created_at__lt=job.created_at, attempts__state__in=[state.value for state in FAILURES]
    ).annotate(failed_at=Max("attempts__ended_at"))
    before, follower = 0, job.created_at
    for created_at, failed_at in failed.order_by("-created_at", "-pk").values_list("created_at", "failed_at")[
        :LOOKED_BACK
    ]:
        if failed_at is None or not -SLACK <= follower - failed_at <= AT_ONCE:
            break
        before, follower = before + 1, created_at
    return before

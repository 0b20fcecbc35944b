"""Does somebody repeat a job from outside, by submitting it again whenever it fails?

Such a loop and our own retries would multiply (trap 18). It is known by the name, the user and the folder of its
jobs, and by each being submitted right after the one before failed.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Max

from schedulers.states import FAILURES
from workloads.models import Job

AT_ONCE = timedelta(seconds=300)  # a program submits again within this; a person reads the log first
SLACK = timedelta(seconds=30)  # by which a listing may show the end late
LOOKED_BACK = 20  # jobs


@dataclass(frozen=True)
class Repeats:
    """`before`: failed jobs in front of this one, each replaced at once by the next. `after`: one came after it."""

    before: int = 0
    after: bool = False


def repeats_of(job: Job, ended_at: datetime | None) -> Repeats:
    """What stands before and after `job`, which ended at `ended_at`. Two queries."""
    alike = Job.objects.filter(cluster=job.cluster, user=job.user, name=job.name, work_dir=job.work_dir)
    if not job.name or not job.user:
        return Repeats()
    others = alike.exclude(pk=job.pk)  # tasks of one array are no repetition
    if job.array_job is not None:
        others = others.exclude(array_job=job.array_job)
    after = (
        ended_at is not None and others.filter(created_at__gt=ended_at, created_at__lte=ended_at + AT_ONCE).exists()
    )
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
    return Repeats(before, after)

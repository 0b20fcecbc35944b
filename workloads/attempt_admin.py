"""How does the admin find and place rows that hang on an attempt?"""

import re
from collections.abc import Iterable
from typing import Any, ClassVar
from uuid import UUID

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from audit.read_only import ReadOnlyAdmin
from workloads.models import Attempt, Cluster, Job

FOUND_AT_MOST = 1000  # attempts of one number
_LABEL = re.compile(r"(\d{1,18})(?:-(\d{1,9}))?", re.ASCII)


class OfAttemptAdmin(ReadOnlyAdmin):
    """Rows found by the attempt that `attempt_path` leads to, newest first."""

    attempt_path = "attempt"
    ordering: ClassVar[Any] = ("-id",)
    search_fields: ClassVar[Any] = ()
    search_help_text = _("The number of a job, an attempt as 4711-0, or its UUID.")

    def get_search_fields(self, request: Any) -> Any:
        """The attempt can be sought, whatever else can."""
        return self.search_fields or (f"={self.attempt_path}__heimdall_id",)

    def meanings(self, term: str) -> Iterable[Q]:
        """The attempts that are called so."""
        keys = attempts_called(term)
        return [Q(**{f"{self.attempt_path}__in": keys})] if keys else []

    def attempt_of(self, obj: Any) -> Attempt | None:
        """The attempt of a row, with its job and cluster."""
        found = obj
        for name in self.attempt_path.split("__"):
            found = getattr(found, name, None)
        return found if isinstance(found, Attempt) else None

    def trail_of(self, obj: Any) -> dict[str, str]:
        """What the trail says of the attempt."""
        attempt = self.attempt_of(obj)
        return {"cluster": attempt.job.cluster.name, "job": attempt.label} if attempt else {}

    def console_of(self, obj: Any) -> str:
        """The page of the job."""
        attempt = self.attempt_of(obj)
        return job_page(attempt.job) if attempt else ""


def attempts_called(term: str) -> list[int]:
    """The keys of the attempts of a job number, of a label, or with a UUID; by indexes only."""
    if label := _LABEL.fullmatch(term):
        rows = Attempt.objects.filter(job__in=jobs_numbered(int(label[1])))
        if label[2]:
            rows = rows.filter(index=int(label[2]))
        return list(rows.order_by().values_list("pk", flat=True)[:FOUND_AT_MOST])
    try:
        return list(Attempt.objects.filter(heimdall_id=UUID(term)).values_list("pk", flat=True))
    except ValueError:
        return []


def jobs_numbered(number: int) -> list[int]:
    """The keys of the jobs with this number. The index begins with the cluster: all are named."""
    clusters = list(Cluster.objects.values_list("pk", flat=True))
    jobs = Job.objects.filter(cluster__in=clusters, number=number).order_by()
    return list(jobs.values_list("pk", flat=True)[:FOUND_AT_MOST])


def job_page(job: Job) -> str:
    """The address of the job in the console."""
    return reverse("job", args=[job.cluster.name, job.number, job.epoch])

"""Which attempts, which workflows are asked for?"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Count, Max, Min, Q, QuerySet

from schedulers.states import FINAL, JobState
from workloads.models import Attempt, Cluster, Job

NOT_ELIGIBLE = (JobState.COMPLETED.value, JobState.REQUEUED.value)


def attempts_asked_for(cluster: Cluster, asked: Mapping[str, Any]) -> QuerySet[Attempt]:
    """Attempts of a cluster by the filters of `GET /v1/jobs`; each row with its job and cluster."""
    rows = Attempt.objects.filter(job__cluster=cluster).select_related("job__cluster")
    if asked["workflowIds"]:
        rows = rows.filter(job__workflow_id__in=asked["workflowIds"])
    if asked["jobIds"]:
        rows = rows.filter(job__number__in=asked["jobIds"])
    if asked["jmState"]:
        rows = rows.filter(_said(asked["jmState"]))
    if asked["reconciliationEligibleJobs"]:
        rows = rows.exclude(state__in=NOT_ELIGIBLE)
    if asked["completedJobs"] is not None:
        final = Q(state__in=[state.value for state in FINAL])
        rows = rows.filter(final if asked["completedJobs"] else ~final)
    if asked["endTimeFrom"] is not None:
        rows = rows.filter(ended_at__gte=asked["endTimeFrom"])
    return rows


def attempts_of_number(cluster: Cluster, number: int) -> QuerySet[Attempt]:
    """All attempts of all submissions that had this number."""
    return Attempt.objects.filter(job__cluster=cluster, job__number=number).select_related("job__cluster")


def workflows_of(cluster: Cluster) -> QuerySet[Job, Any]:
    """Workflows as rows of `workflow_id`, `name`, `start_time`, `end_time` (`None` while anything goes on)."""
    rows = Job.objects.filter(cluster=cluster).exclude(workflow_id="").order_by().values("workflow_id")
    going_on = Q(attempts__isnull=False) & ~Q(attempts__state__in=[state.value for state in FINAL])
    return rows.annotate(
        name=Min("name"),
        start_time=Min("attempts__started_at"),
        last_end=Max("attempts__ended_at"),
        going_on=Count("attempts", filter=going_on),
    )


def as_workflows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows as they are shown."""
    return [{**row, "end_time": None if row["going_on"] else row["last_end"]} for row in rows]


def _said(word: str) -> Q:
    """Attempts whose `jmState` is this word (see `seeing.jm_state_of`)."""
    requeued = Q(state=JobState.REQUEUED.value)
    if word == "REQUEUED":
        return requeued
    own = Q(scheduler_word=word) | Q(scheduler_word__startswith=f"{word} ")
    return (own | Q(scheduler_word="", state=word.lower())) & ~requeued

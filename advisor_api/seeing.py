"""What is shown of a job's attempt: what is observed, what is wanted, and what a client reported of it?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from advisor_api.models import Advice, JobReport
from advisor_api.policy.operation import Operation
from schedulers.states import FINAL, LIVE, WAITING, JobState
from workloads.models import Attempt

STATUSES = {state: "JOB_STATUS_PENDING" for state in WAITING}
STATUSES |= {state: "JOB_STATUS_RUNNING" for state in LIVE}
STATUSES |= {state: "JOB_STATUS_STOPPED" for state in FINAL}
UNSPECIFIED = "JOB_STATUS_UNSPECIFIED"


@dataclass(frozen=True)
class SeenJob:
    """One attempt with its newest advice and what a client reported of it, if any."""

    attempt: Attempt
    advice: Advice | None = None
    report: JobReport | None = None

    @property
    def status(self) -> str:
        """JOB_STATUS_…"""
        return status_of(self.attempt)

    @property
    def jm_state(self) -> str:
        """The scheduler's own word, or ours where it has none."""
        return jm_state_of(self.attempt)

    @property
    def excluded_nodes(self) -> list[str]:
        """Nodes that the newest advice, or the client, keeps the job off."""
        if self.advice is not None:
            return list(self.advice.excluded_nodes)
        constraints: dict[str, Any] = self.report.node_constraints if self.report else {}
        return list(constraints.get("excludedNodes", []))


def status_of(attempt: Attempt) -> str:
    """JOB_STATUS_… of an attempt."""
    return STATUSES.get(JobState(attempt.state), UNSPECIFIED)


def jm_state_of(attempt: Attempt) -> str:
    """The scheduler's own word for the attempt: `RUNNING`, `COMPLETED`, `REQUEUED`."""
    if attempt.state == JobState.REQUEUED:
        return "REQUEUED"  # the listing speaks of the next attempt by then
    return attempt.scheduler_word.split(" ")[0] or attempt.state.upper()


def seen_jobs(attempts: Sequence[Attempt]) -> list[SeenJob]:
    """The attempts as they are shown. Two queries, however many there are."""
    advice = {
        each.attempt_id: each
        for each in newest(Advice.objects.filter(attempt__in=attempts)).defer("trace", "facts")
    }
    reports = {each.attempt_id: each for each in JobReport.objects.filter(attempt__in=attempts)}
    return [SeenJob(each, _wanted(advice.get(each.pk)), reports.get(each.pk)) for each in attempts]


def newest(advice: QuerySet[Advice]) -> QuerySet[Advice]:
    """Of each attempt the newest generation alone."""
    newer = Advice.objects.filter(attempt=OuterRef("attempt"), generation__gt=OuterRef("generation"))
    return advice.filter(~Exists(newer))


def _wanted(advice: Advice | None) -> Advice | None:
    return None if advice is None or advice.operation == Operation.WAIT else advice

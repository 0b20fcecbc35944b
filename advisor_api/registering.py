"""What does a client's report of a job change? The scheduler's listing stays the truth of what it shows."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from advisor_api.models import JobReport
from advisor_api.refusals import Bad, Stale
from audit.event_type import EventType
from audit.masking import masked_json
from audit.trail import Actor, Entry, record
from schedulers.states import FINAL, WAITING, JobState
from workloads.identity import heimdall_id
from workloads.models import Attempt, Cluster, Job
from workloads.subjects import subject_of

WORDS = ("gpu_count_per_node", "node_constraints", "additional_properties")


@dataclass(frozen=True)
class Report:
    """A client's word on one attempt (`POST /v1/jobs`)."""

    workflow_id: str
    heimdall_id: UUID | None
    number: int | None
    index: int | None
    name: str = ""
    user: str = ""
    nodes: tuple[str, ...] = ()
    gpu_count_per_node: int = 0
    node_constraints: dict[str, Any] = field(default_factory=dict)
    additional_properties: dict[str, Any] = field(default_factory=dict)
    state: JobState = JobState.UNKNOWN


def register(cluster: Cluster, report: Report, actor: Actor, now: datetime) -> tuple[Attempt, bool]:
    """Store the report; the attempt it is on, and whether it was made for it.

    The attempt is found by its heimdallJobId, else by job number and index of the newest submission. One that no
    listing has shown is made with what the client says; of one that is known, only the workflow and the report
    change. Raises `Bad` when it names no attempt, `Stale` when two different ones, or one a listed job lacks.
    """
    try:
        with transaction.atomic():
            attempt, made = _find_or_make(cluster, report, actor, now)
            if _write(attempt, report, actor, now) and not made:
                record([_told(attempt, report, actor)], now)
            return attempt, made
    except IntegrityError:
        raise Stale("Somebody was first: the job was registered just now. Send it again.") from None


def _find_or_make(cluster: Cluster, report: Report, actor: Actor, now: datetime) -> tuple[Attempt, bool]:
    rows = Attempt.objects.select_related("job__cluster").filter(job__cluster=cluster)
    by_id = rows.filter(heimdall_id=report.heimdall_id).first() if report.heimdall_id else None
    if by_id is not None:
        if report.number not in {None, by_id.job.number} or report.index not in {None, by_id.index}:
            raise Stale(f"heimdallJobId is that of {by_id.label}, not of {report.number}-{report.index}.")
        return by_id, False
    if report.number is None:
        raise Bad("Give jobId and attemptIndex: the heimdallJobId is not known.")
    job = Job.objects.filter(cluster=cluster, number=report.number).order_by("-epoch").first()
    index = report.index or 0
    known = rows.filter(job=job, index=index).first() if job else None
    if known is not None:
        return known, False
    if job is not None and job.user_id is not None:
        # Invented restarts would make the listing's own count a fall, thus another job with fresh limits.
        raise Stale(f"The scheduler lists job {report.number}, and has shown no attempt {index} of it yet.")
    return _make(cluster, job, index, report, actor=actor, now=now), True


def _make(cluster: Cluster, job: Job | None, index: int, report: Report, *, actor: Actor, now: datetime) -> Attempt:
    number = report.number or 0
    if job is None:
        job = Job.objects.create(
            cluster=cluster,
            number=number,
            name=report.name,
            user=report.user,
            node_count=len(report.nodes),
            created_at=now,
            seen_at=now,
        )
    attempt = Attempt.objects.create(
        job=job,
        index=index,
        heimdall_id=heimdall_id(cluster.name, number, job.epoch, index),
        state=report.state.value,
        nodes=list(report.nodes),
        started_at=None if report.state in WAITING else now,
        ended_at=now if report.state in FINAL else None,
        first_seen_at=now,
        changed_at=now,
    )
    Job.objects.filter(pk=job.pk, newest_index__lte=index).update(newest_index=index, newest_state=attempt.state)
    sentence = f"{actor.name} registered {attempt.label}: {report.state.label.lower()}."
    record([Entry(EventType.ATTEMPT_SEEN, subject_of(attempt), actor, sentence)], now)
    return attempt


def _write(attempt: Attempt, report: Report, actor: Actor, now: datetime) -> bool:
    """Store what it says; whether that was news."""
    news = attempt.job.workflow_id != report.workflow_id
    if news:
        Job.objects.filter(pk=attempt.job_id).update(workflow_id=report.workflow_id)
        attempt.job.workflow_id = report.workflow_id
    before = JobReport.objects.filter(attempt=attempt).values(*WORDS).first()
    JobReport.objects.update_or_create(
        attempt=attempt,
        defaults={**_words(report), "reported_by": actor.name[:128], "reported_at": now},
    )
    return news or before != _words(report)


def _words(report: Report) -> dict[str, Any]:
    return {name: masked_json(getattr(report, name)) for name in WORDS}


def _told(attempt: Attempt, report: Report, actor: Actor) -> Entry:
    return Entry(
        type=EventType.CLIENT,
        subject=subject_of(attempt),
        actor=actor,
        sentence=f"{actor.name} told more of {attempt.label}.",
        pattern="job",
        payload={"workflow": report.workflow_id, "gpus": report.gpu_count_per_node},
    )

"""Which events of the trail are asked for?"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce

from advisor_api.refusals import Bad, NotFound
from advisor_api.trail_intake import EPOCH
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.models import AuditEvent
from workloads.models import Attempt, Cluster, Job

PRODUCED = "produced_at"


def events_asked_for(clusters: Sequence[Cluster], asked: Mapping[str, Any]) -> QuerySet[AuditEvent]:
    """Events of one attempt, or of the newest job with a number, by the filters of `GET /v1/audit/events`.

    Each row carries `produced_at`: the producer's time, ours where it gave none. Raises `Bad` or `NotFound`.
    """
    rows = AuditEvent.objects.filter(cluster__in=[cluster.name for cluster in clusters])
    rows = rows.filter(_subject(clusters, asked)).annotate(**{PRODUCED: Coalesce("scheduler_at", "at")})
    if asked["eventType"]:
        rows = rows.filter(_type(asked["eventType"]))
    if asked["eventLevel"]:
        rows = rows.filter(level=asked["eventLevel"])
    if asked["eventProducer"]:
        rows = rows.filter(_producer(asked["eventProducer"]))
    for name, comparison in (("minEventProducedAt", "gte"), ("maxEventProducedAt", "lte")):
        if asked[name] is not None:
            rows = rows.filter(**{f"{PRODUCED}__{comparison}": _moment(asked[name])})
    return rows


def timeline_of(attempt: Attempt) -> QuerySet[AuditEvent]:
    """Everything that happened to an attempt, and to its job as a whole. Reads `attempt.job.cluster`."""
    job = attempt.job
    of_job = Q(cluster=job.cluster.name, job_number=job.number, job_epoch=job.epoch, attempt_index=None)
    return AuditEvent.objects.filter(Q(heimdall_job_id=attempt.heimdall_id) | of_job).annotate(
        **{PRODUCED: Coalesce("scheduler_at", "at")}
    )


def type_of(event: AuditEvent) -> str:
    """The type on the wire: what a client called it, where it is a client's."""
    return event.pattern if event.type == EventType.CLIENT and event.pattern else event.type


def producer_of(event: AuditEvent) -> str:
    """The producer on the wire: the kind of actor, or the name that a client gave itself."""
    return event.actor if event.actor_kind == ActorKind.TOKEN else event.actor_kind


def _subject(clusters: Sequence[Cluster], asked: Mapping[str, Any]) -> Q:
    heimdall_id: UUID | None = asked["heimdallJobId"]
    if (heimdall_id is None) is (asked["jobId"] is None):
        raise Bad("Give either heimdallJobId or jobId.")
    if heimdall_id is not None:
        if asked["attemptIndex"] is not None:
            raise Bad("attemptIndex goes with jobId.")
        return Q(heimdall_job_id=heimdall_id)
    if len(clusters) > 1:
        raise Bad("Say which cluster: add cluster=NAME.")
    job = Job.objects.filter(cluster=clusters[0], number=asked["jobId"]).order_by("-epoch").first()
    if job is None:
        raise NotFound(f"{clusters[0].name} has no job {asked['jobId']}.")
    of_job = Q(job_number=job.number, job_epoch=job.epoch)
    return of_job if asked["attemptIndex"] is None else of_job & Q(attempt_index=asked["attemptIndex"])


def _type(name: str) -> Q:
    own = Q(type=name) if name in set(EventType) - {EventType.CLIENT} else Q(pk=None)
    return own | Q(type=EventType.CLIENT.value, pattern=name)


def _producer(name: str) -> Q:
    named = Q(actor_kind=ActorKind.TOKEN.value, actor=name)
    return Q(actor_kind=name) | named if name in set(ActorKind) - {ActorKind.TOKEN} else named


def _moment(micros: int) -> Any:
    try:
        return EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        raise Bad("That is no time in microseconds since 1970.") from None

"""How does an event get into the trail?"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Max

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.models import AuditEvent

SENTENCE_LIMIT = 1000  # characters; the column's width


@dataclass(frozen=True)
class Subject:
    """What an event speaks of: a cluster, and perhaps a job with its user, an attempt, a node."""

    cluster: str
    job_number: int | None = None
    job_epoch: int | None = None
    attempt_index: int | None = None
    heimdall_job_id: UUID | None = None
    node: str = ""
    user: str = ""


@dataclass(frozen=True)
class Actor:
    """Who did it, e.g. `Actor(ActorKind.RULE, "policy")`."""

    kind: ActorKind
    name: str


@dataclass(frozen=True)
class Entry:
    """One event before it is stored."""

    type: EventType
    subject: Subject
    actor: Actor
    sentence: str
    level: Level = Level.INFO
    pattern: str = ""
    action: str = ""
    verdict_id: UUID | None = None
    advice_generation: int | None = None
    scheduler_at: datetime | None = None
    payload: dict[str, Any] = field(default_factory=dict)
    trace_id: str = ""
    producer_key: str | None = None


def record(entries: Sequence[Entry], now: datetime) -> list[AuditEvent]:
    """Insert the entries in one statement, inside the caller's transaction.

    Call it in the transaction of the change it speaks of: both are stored or neither is.
    """
    return AuditEvent.objects.bulk_create([_row(entry, now) for entry in entries])


def newest_id() -> int:
    """The highest id of any event, whoever asks: where one stands in the trail tells nothing of what it says."""
    return int(AuditEvent._base_manager.aggregate(last=Max("id"))["last"] or 0)


def _row(entry: Entry, now: datetime) -> AuditEvent:
    subject = entry.subject
    return AuditEvent(
        at=now,
        scheduler_at=entry.scheduler_at,
        cluster=subject.cluster,
        job_number=subject.job_number,
        job_epoch=subject.job_epoch,
        attempt_index=subject.attempt_index,
        heimdall_job_id=subject.heimdall_job_id,
        node=subject.node,
        user=subject.user,
        actor_kind=entry.actor.kind,
        actor=entry.actor.name[:128],
        type=entry.type,
        level=entry.level,
        pattern=entry.pattern,
        action=entry.action,
        verdict_id=entry.verdict_id,
        advice_generation=entry.advice_generation,
        sentence=entry.sentence[:SENTENCE_LIMIT],
        payload=entry.payload,
        trace_id=entry.trace_id,
        producer_key=entry.producer_key,
    )

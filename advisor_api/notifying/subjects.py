"""Which events of the trail is somebody told of, and as what?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.urls import reverse

from advisor_api.deciding import headline
from advisor_api.incident_view import SeenIncident, seen_incidents
from advisor_api.models import Advice
from advisor_api.notifying.message import Thing
from advisor_api.notifying.topic import NotificationTopic as Topic
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.operation import Operation
from advisor_api.policy.reconciliation_reason import ReconciliationReason
from advisor_api.policy.scheduler_action import SchedulerAction
from audit.event_type import EventType
from audit.level import Level
from audit.models import AuditEvent
from detectors.models import Incident
from workloads.mode import Mode

LEVELS = {
    Topic.APPROVAL: Level.WARNING,
    Topic.ACTION: Level.INFO,
    Topic.STOP: Level.WARNING,
    Topic.BLIND: Level.WARNING,
    Topic.INCIDENT: Level.ERROR,
    Topic.FAILED: Level.ERROR,
    Topic.TEST: Level.ERROR,
}
"""How severe each is; what would be done in monitor mode is INFO."""
GROUPED = frozenset({"opened", "joined", "renamed"})
"""What failures do to an incident. That one is over, and what a person does to it, nobody is told of."""
BLIND_AGAIN_SECONDS = 3600  # of one place: told once in each hour, however often it comes and goes


@dataclass(frozen=True)
class _Around:
    """What the events speak of, read for all of them at once."""

    advice: Mapping[tuple[UUID, int], Advice]
    incidents: Mapping[str, SeenIncident]
    now: datetime


def things_of(events: Sequence[AuditEvent], now: datetime) -> list[Thing]:
    """What somebody may be told of, in the order of the events. The same few queries however many they are."""
    around = _Around(_advice_of(events), _incidents_of(events), now)
    found = (READERS[event.type](event, around) for event in events if event.type in READERS)
    return [thing for thing in found if thing is not None]


def _advice_of(events: Sequence[AuditEvent]) -> dict[tuple[UUID, int], Advice]:
    acted = {event.heimdall_job_id for event in events if event.type == EventType.ACTION and event.heimdall_job_id}
    rows = Advice.objects.select_related("attempt__job").filter(attempt__heimdall_id__in=acted)
    return {(row.attempt.heimdall_id, row.generation): row for row in rows.defer("trace", "facts", "judged_by")}


def _incidents_of(events: Sequence[AuditEvent]) -> dict[str, SeenIncident]:
    named = {str(event.payload.get("incident")) for event in events if event.type == EventType.INCIDENT}
    rows = Incident.objects.filter(uuid__in=[one for one in named if _is_uuid(one)], shared=True)
    return {str(seen.incident.uuid): seen for seen in seen_incidents(list(rows))}


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _advised(event: AuditEvent, around: _Around) -> Thing | None:
    """In monitor mode what would be done; otherwise what asks somebody: what is done is told when it is done."""
    would = event.payload.get("mode") == Mode.MONITOR.value
    asks = event.payload.get("state") == AdviceState.AWAITING_APPROVAL.value or event.action == Operation.WAIT
    if not (would or asks) or (asks and not would and _is_over(event, around.now)):
        return None
    topic = Topic.APPROVAL if asks else Topic.STOP if event.action == Operation.TERMINATE else Topic.ACTION
    sentence = f"Would {event.sentence[:1].lower()}{event.sentence[1:]}" if would else event.sentence
    path = reverse("approvals") if asks and not would and event.action != Operation.WAIT else ""
    return _thing(event, topic, f"{_attempt_key(event)}", sentence, would=would, path=path)


def _is_over(event: AuditEvent, now: datetime) -> bool:
    """Whether nobody can answer any more."""
    try:
        return datetime.fromisoformat(str(event.payload.get("expires_at"))) <= now
    except ValueError:
        return False


def _acted(event: AuditEvent, around: _Around) -> Thing:
    stopped = event.action == SchedulerAction.SLURM_CANCEL
    advice = None
    if event.heimdall_job_id is not None and event.advice_generation is not None:
        advice = around.advice.get((event.heimdall_job_id, event.advice_generation))
    sentence = f"{event.sentence} {headline(advice)}" if advice else event.sentence
    topic = Topic.STOP if stopped or (advice and advice.operation == Operation.TERMINATE) else Topic.ACTION
    return _thing(event, topic, _attempt_key(event), sentence)


def _moved(event: AuditEvent, around: _Around) -> Thing | None:
    refused = event.payload.get("reason") == ReconciliationReason.REFUSED_BY_SCHEDULER.value
    ended = event.payload.get("to") == AdviceState.ABANDONED.value
    return _thing(event, Topic.FAILED, _attempt_key(event), event.sentence) if refused and ended else None


def _failed(event: AuditEvent, around: _Around) -> Thing:
    return _thing(event, Topic.FAILED, _attempt_key(event), event.sentence)


def _blind(event: AuditEvent, around: _Around) -> Thing:
    place = str(event.heimdall_job_id or f"{event.cluster}:{event.actor}")
    hour = int(event.at.timestamp()) // BLIND_AGAIN_SECONDS
    return _thing(event, Topic.BLIND, f"{place}:{hour}", event.sentence)


def _incident(event: AuditEvent, around: _Around) -> Thing | None:
    uuid = str(event.payload.get("incident"))
    seen = around.incidents.get(uuid)
    if seen is None or event.action not in GROUPED:
        return None
    sentence = f"{seen.incident.sentence} ({seen.jobs} jobs of {seen.users} users so far)"
    thing = _thing(event, Topic.INCIDENT, uuid, sentence, path=reverse("incident", args=[uuid]))
    return replace(thing, incident=uuid, job="")


READERS: Mapping[str, Callable[[AuditEvent, _Around], Thing | None]] = {
    EventType.ADVICE.value: _advised,
    EventType.ADVICE_STATE.value: _moved,
    EventType.ACTION.value: _acted,
    EventType.BLIND.value: _blind,
    EventType.CANNOT_SEE.value: _blind,
    EventType.INCIDENT.value: _incident,
    EventType.RECOVERY_FAILED.value: _failed,
}
"""What each type of event is told as; the others are told to nobody."""


def _attempt_key(event: AuditEvent) -> str:
    """One generation of advice on one attempt; without a generation, the action itself."""
    generation = event.advice_generation if event.advice_generation is not None else event.action or event.uuid
    return f"{event.heimdall_job_id or event.cluster}:{generation}"


def _thing(  # noqa: PLR0917  # one signature for all readers
    event: AuditEvent, topic: Topic, about: str, sentence: str, would: bool = False, path: str = ""
) -> Thing:
    return Thing(
        subject=f"{topic.value}:{about}"[:200],
        topic=topic.value,
        level=(Level.INFO if would else LEVELS[topic]).value,
        cluster=event.cluster,
        sentence=sentence,
        path=path or page_of(event),
        at=event.at,
        would=would,
        attempt=event.attempt_label,
        node=event.node,
        event=str(event.uuid),
        advice_generation=event.advice_generation,
        job=str(event.heimdall_job_id or ""),
    )


def page_of(event: AuditEvent) -> str:
    """The page of the job, or of the cluster."""
    if event.job_number is not None and event.job_epoch is not None:
        return reverse("job", args=[event.cluster, event.job_number, event.job_epoch])
    return reverse("cluster", args=[event.cluster])

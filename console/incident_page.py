"""What is known of one incident: its attempts, its nodes, what was done, what was told and what people said?

Each part is a fixed number of queries, whatever the size of the incident.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q

from advisor_api.gathering import active_exclusions
from advisor_api.models import Advice, Exclusion
from advisor_api.notification_models import Delivery, NotificationRoute, ToldSubject
from advisor_api.notifying.collecting import key_of
from advisor_api.notifying.topic import TOPICS
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.operation import Operation
from advisor_api.regrouping_undo import later_than
from advisor_api.silence_models import Silence
from audit.event_type import EventType
from audit.models import AuditEvent
from console.delivery_lines import DeliveryLine, delivery_line
from console.incident_list import IncidentLine, incident_lines
from detectors.choice_models import Deed, IncidentChoice
from detectors.models import Incident, IncidentNode, Verdict
from schedulers.states import JobState

MEMBERS = 100  # attempts on one page
NODES = 100
STORY = 100  # events
STORY_OF = 50  # of the newest attempts
SEARCHED = 500  # events on incidents of the cluster, among which those of one are looked for
TOLD = 50
TOLD_OF = 20  # of the newest attempts
ROUTES = 20
PAST = timedelta(days=30)
_DEEDS = [
    one.value
    for one in (
        EventType.VERDICT,
        EventType.ADVICE,
        EventType.ADVICE_STATE,
        EventType.ACTION,
        EventType.ALLOCATION_RESTARTED,
        EventType.PROGRESS_RESUMED,
        EventType.TRAINING_COMPLETED,
        EventType.RECOVERY_FAILED,
        EventType.INCIDENT,
    )
]


@dataclass(frozen=True)
class Member:
    """An attempt of it: the verdict that stands, the state of the attempt, and the newest advice on it."""

    verdict: Verdict
    state: JobState
    advice: Advice | None

    @property
    def operation(self) -> Operation | None:
        """What was advised."""
        return Operation(self.advice.operation) if self.advice else None

    @property
    def advice_state(self) -> AdviceState | None:
        """How far it came."""
        return AdviceState(self.advice.state) if self.advice else None


@dataclass(frozen=True)
class Members:
    """A page of attempts, the newest failure first."""

    rows: tuple[Member, ...]
    page: int
    more: bool


@dataclass(frozen=True)
class Place:
    """A node of it: what keeps it out, and how many other incidents of the last month name it."""

    node: str
    exclusion: Exclusion | None
    others: int


@dataclass(frozen=True)
class Chosen:
    """A split or merge that concerns it. `blocked`: a later one rests on it, and is to be taken back first."""

    row: IncidentChoice
    deed: Deed
    blocked: bool


def incident_of(uuid: UUID) -> Incident | None:
    """The incident with its cluster, and where it went."""
    return Incident.objects.select_related("cluster", "merged_into").filter(uuid=uuid).first()


def line_of(incident: Incident, now: datetime) -> IncidentLine:
    """It, as on the list."""
    return incident_lines([incident], now)[0]


def members_of(incident: Incident, page: int) -> Members:
    """One page of its attempts."""
    standing = Verdict.objects.filter(incident=incident, newer=None).order_by("-happened_at", "-pk")
    begin = (page - 1) * MEMBERS
    rows = list(standing.select_related("attempt__job").defer("body", "implicated")[begin : begin + MEMBERS + 1])
    shown = rows[:MEMBERS]
    given = Advice.objects.filter(attempt__in=[one.attempt_id for one in shown]).order_by("generation")
    newest = {one.attempt_id: one for one in given.defer("facts", "trace", "judged_by")}
    found = [Member(one, JobState(one.attempt.state), newest.get(one.attempt_id)) for one in shown]
    return Members(tuple(found), page, len(rows) > MEMBERS)


def places_of(incident: Incident, now: datetime) -> list[Place]:
    """Its nodes by name."""
    names = list(incident.nodes.order_by("node").values_list("node", flat=True)[:NODES])
    held = active_exclusions(incident.cluster, now).filter(node__in=names).order_by("until")
    exclusions = {one.node: one for one in held}
    near = IncidentNode.objects.filter(
        node__in=names, incident__cluster_id=incident.cluster_id, incident__last_seen_at__gt=now - PAST
    ).exclude(incident=incident)
    others = Counter(near.values_list("node", flat=True)[:10_000])
    return [Place(name, exclusions.get(name), others[name]) for name in names]


def story_of(incident: Incident) -> list[AuditEvent]:
    """What happened, was found, decided, done and said, the newest first."""
    newest = Verdict.objects.filter(incident=incident, newer=None).order_by("-happened_at", "-pk")
    ids = list(newest.values_list("attempt__heimdall_id", flat=True)[:STORY_OF])
    done = AuditEvent.objects.filter(heimdall_job_id__in=ids, type__in=_DEEDS).order_by("-id")[:STORY]
    both = Q(source=incident) | Q(target=incident)
    others = IncidentChoice.objects.filter(both).values_list("source__fingerprint", "target__fingerprint")[:20]
    marks = {mark[:16] for mark in (incident.fingerprint, *(one for pair in others for one in pair))}
    of_cluster = AuditEvent.objects.filter(
        cluster=incident.cluster.name,
        type=EventType.INCIDENT.value,
        pattern__in=marks,
        at__gte=incident.first_seen_at - timedelta(minutes=5),
    )
    own = str(incident.uuid)
    named = of_cluster.order_by("-at", "-id")[:SEARCHED]
    about = [one for one in named if own in {one.payload.get("incident"), one.payload.get("source")}]
    told = {one.pk: one for one in (*done, *about)}
    return sorted(told.values(), key=lambda one: (one.at, one.pk), reverse=True)[:STORY]


def told_of(incident: Incident, silences: Sequence[Silence]) -> list[DeliveryLine]:
    """The messages about it, and about advice on its newest attempts; those that a silence kept, too."""
    newest = Verdict.objects.filter(incident=incident, newer=None).order_by("-happened_at", "-pk")
    attempts = list(newest.values_list("attempt", flat=True)[:TOLD_OF])
    advised = Advice.objects.filter(attempt__in=attempts).order_by("-id")
    pairs = advised.values_list("attempt__heimdall_id", "generation")[:TOLD_OF]
    subjects = [f"incident:{incident.uuid}"]
    subjects += [f"{topic}:{job}:{generation}" for job, generation in pairs for topic in TOPICS]
    here = NotificationRoute.objects.filter(Q(cluster=None) | Q(cluster_id=incident.cluster_id))[:ROUTES]
    keys = [key_of(route, one) for route in here for one in subjects]
    found: set[int] = set()
    for start in range(0, len(keys), 900):
        known = ToldSubject.objects.filter(key__in=keys[start : start + 900])
        found.update(known.values_list("delivery", flat=True))
    if silences:
        kept = Delivery.objects.filter(silence__in=silences).order_by("-id").values_list("pk", flat=True)[:TOLD]
        hushed = ToldSubject.objects.filter(delivery__in=list(kept), subject__in=subjects)
        found.update(hushed.values_list("delivery", flat=True))
    rows = Delivery.objects.filter(pk__in=sorted(found)[-TOLD:]).defer("text", "items").order_by("-id")
    return [delivery_line(one) for one in rows]


def choices_of(incident: Incident) -> list[Chosen]:
    """What people did to the grouping of it, the newest first."""
    both = Q(source=incident) | Q(target=incident)
    rows = IncidentChoice.objects.filter(both).select_related("source", "target").order_by("-id")[:20]
    holding = [one for one in rows if one.undone_at is None]
    free = holding[0].pk if holding and later_than(holding[0]) is None else None
    return [Chosen(one, Deed(one.deed), one.pk != free) for one in rows]

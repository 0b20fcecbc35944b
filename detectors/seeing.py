"""How is it stored that an attempt's log cannot be seen, or can be seen again?"""

from datetime import datetime

from django.db import transaction

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.trail import Actor, Entry, record
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role
from detectors.models import Anomaly
from detectors.turned import Turned
from workloads.models import Attempt
from workloads.subjects import subject_of

READER = Actor(ActorKind.DETECTOR, "reading")


def store_sight(turned: Turned, now: datetime) -> list[Entry]:
    """Store a change of sight inside the caller's transaction: one anomaly and one event for each time."""
    attempt, sight = turned.attempt, turned.sight
    if not sight.changed and (not sight.blind or sight.reason == attempt.blind_reason):
        return []
    mine = Attempt.objects.filter(pk=attempt.pk)
    if not sight.changed:
        mine.update(blind_reason=sight.reason, changed_at=now)
        return []
    if sight.blind:
        return [_go_blind(attempt, sight.reason, now)]
    mine.update(blind_since=None, blind_reason="", changed_at=now)
    Anomaly.objects.filter(attempt=attempt, kind=AnomalyKind.BLIND.value, refuted_at=None).update(refuted_at=now)
    since = attempt.blind_since
    seconds = int((now - since).total_seconds()) if since else 0
    sentence = f"Sees the log of attempt {attempt.label} again after {seconds} s."
    return [_entry(attempt, EventType.SIGHT_REGAINED, sentence, Level.INFO)]


def store_broken(attempt: Attempt, error: Exception, now: datetime) -> None:
    """Reading fails on the attempt's log: whoever cannot understand it is blind on it, and says so once."""
    reason = f"reading fails on its log ({type(error).__name__}); the site's own log tells where"
    with transaction.atomic():
        if Attempt.objects.filter(pk=attempt.pk, blind_since=None).update(blind_since=now):
            record([_go_blind(attempt, reason, now)], now)


def _go_blind(attempt: Attempt, reason: str, now: datetime) -> Entry:
    Attempt.objects.filter(pk=attempt.pk).update(blind_since=now, blind_reason=reason, changed_at=now)
    Anomaly.objects.create(
        attempt=attempt,
        key=f"blind:{now.isoformat()}",
        kind=AnomalyKind.BLIND.value,
        layer=Layer.UNKNOWN.value,
        role=Role.NONE.value,
        sentence=reason,
        confidence=1.0,
        happened_at=now,
        basis="state",
        detected_at=now,
    )
    return _entry(attempt, EventType.BLIND, f"Blind on attempt {attempt.label}: {reason}", Level.WARNING)


def _entry(attempt: Attempt, kind: EventType, sentence: str, level: Level) -> Entry:
    return Entry(
        type=kind,
        subject=subject_of(attempt),
        actor=READER,
        sentence=sentence,
        level=level,
        payload={"reason": attempt.blind_reason} if kind is EventType.SIGHT_REGAINED else {},
    )

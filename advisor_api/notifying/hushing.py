"""What is not told, because a person silenced it? It is kept as a message that was not sent, which says so.

What was silenced is not told: when the silence is over and the same is seen again, people are told of it.
"""

import hashlib
import uuid
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from advisor_api.notification_models import Delivery, NotificationRoute, ToldSubject
from advisor_api.notifying.gathering_up import said_of
from advisor_api.notifying.message import LISTED, Thing
from advisor_api.silence_facts import of_attempts, of_incidents
from advisor_api.silence_models import Silence
from advisor_api.silencing import Spoken, active_silences, covers, silenced_by
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.trail import Actor, Entry, Subject, record
from detectors.models import Incident

NOTIFIER = Actor(ActorKind.RULE, "notifications")
GATHERED = timedelta(hours=1)  # for which one message stands for what a silence keeps from a route


def silences_over(things: Sequence[Thing], now: datetime) -> dict[Thing, Silence]:
    """Which silence covers each thing that one covers. One query where none holds, else a fixed number."""
    holding = list(active_silences(now).order_by("-until"))
    places = {one.cluster.name for one in holding}
    asked = [thing for thing in things if thing.cluster in places]
    if not asked:
        return {}
    spoken = _spoken(asked, holding)
    found = {}
    for thing in asked:
        about = spoken.get(thing) or Spoken(thing.cluster, nodes=frozenset(filter(None, (thing.node,))))
        by = next((one for one in holding if covers(one, about)), None)
        if by is not None:
            found[thing] = by
    return found


def hush(route: NotificationRoute, things: Sequence[tuple[Thing, Silence]], now: datetime) -> None:
    """Keep what is not told to a route, in a transaction; each subject once for each silence."""
    keyed = {_key(route, thing.subject, silence): (thing, silence) for thing, silence in things}
    known = set(ToldSubject.objects.filter(key__in=list(keyed)).values_list("key", flat=True))
    groups: dict[tuple[str, bool, int], dict[str, tuple[Thing, Silence]]] = defaultdict(dict)
    for key, (thing, silence) in keyed.items():
        if key not in known:
            groups[thing.topic, thing.would, silence.pk][key] = (thing, silence)
    for of_kind in groups.values():
        kept = [thing for thing, _silence in of_kind.values()]
        row = _kept(route, kept, next(iter(of_kind.values()))[1], now)
        told = [ToldSubject(key=key, delivery=row, subject=one.subject) for key, (one, _by) in of_kind.items()]
        ToldSubject.objects.bulk_create(told, batch_size=500)


def _spoken(things: Sequence[Thing], holding: Sequence[Silence]) -> dict[Thing, Spoken]:
    ids = {UUID(thing.job) for thing in things if thing.job}
    attempts = of_attempts(ids) if ids else {}
    named = {thing.incident for thing in things if thing.incident}
    keys = {str(uid): pk for pk, uid in Incident.objects.filter(uuid__in=named).values_list("pk", "uuid")}
    incidents = of_incidents(list(keys.values()), holding) if keys else {}
    found = {}
    for thing in things:
        if thing.incident in keys:
            found[thing] = incidents[keys[thing.incident]]
        elif thing.job and UUID(thing.job) in attempts:
            found[thing] = attempts[UUID(thing.job)]
    return found


def _kept(route: NotificationRoute, things: Sequence[Thing], silence: Silence, now: datetime) -> Delivery:
    """The message of the last hour with these in it, or a new one with its event."""
    first, kind = things[0], {"topic": things[0].topic, "would": things[0].would}
    recent = Delivery.objects.filter(route=route, silence=silence, **kind, made_at__gt=now - GATHERED)
    row = recent.order_by("-id").first()
    known = row.items if row else []
    items = [*known, *(thing.as_item() for thing in things[: max(0, LISTED - len(known))])]
    count = (row.count if row else 0) + len(things)
    first_at = min([*([row.first_at] if row else []), *(thing.at for thing in things)])
    columns = {
        "items": items,
        "count": count,
        "first_at": first_at,
        "last_at": max([*([row.last_at] if row else []), *(thing.at for thing in things)]),
        "over_at": now,
        **said_of(route, first, items, count, first_at),
    }
    if row is not None and Delivery.objects.filter(pk=row.pk, count=row.count).update(**columns):
        return row
    made = Delivery.objects.create(
        route=route,
        name=route.name,
        kind=route.kind,
        whom=route.whom,
        key=uuid.uuid4().hex,
        level=first.level,
        cluster=first.cluster,
        made_at=now,
        outcome="silenced",
        silence=silence,
        said=silenced_by(silence),
        **kind,
        **columns,
    )
    record([_entry(made, silence)], now)
    return made


def _key(route: NotificationRoute, subject: str, silence: Silence) -> str:
    """What is kept once: this subject from this route by this silence. 64 characters."""
    return hashlib.sha256(f"{route.pk}\0silence {silence.pk}\0{subject}".encode()).hexdigest()


def _entry(row: Delivery, silence: Silence) -> Entry:
    return Entry(
        type=EventType.NOTIFICATION,
        subject=Subject(cluster=row.cluster),
        actor=NOTIFIER,
        sentence=f"{row.name} is not told: {row.title} ({row.said})"[:1000],
        action="silenced",
        payload={"route": row.name, "topic": row.topic, "key": row.key, "silence": str(silence.uuid)},
    )

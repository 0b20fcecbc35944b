"""What is new in the trail, and into which messages does it go?

The chain of a cluster has no gaps and no second order (`audit.sealing`), so its number is the position: what two
workers read, only one stores. What is older than the site tells (`REKINDLE_NOTIFY_HOURS`), or than the route, is
passed over: a site that was down for a day does not begin with a day of messages.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from advisor_api.notification_models import NotificationRoute, ToldSubject, TrailPosition
from advisor_api.notifying.gathering_up import put
from advisor_api.notifying.hushing import hush, silences_over
from advisor_api.notifying.message import Thing
from advisor_api.notifying.subjects import READERS, things_of
from audit.level import Level
from audit.models import AuditChain, AuditEvent, AuditSeal

AT_ONCE = 1000  # links of a chain in one transaction
ROUNDS = 5  # of one chain in one sweep; the next sweep is a second away
SLACK = timedelta(minutes=1)  # an event is sealed soon after its own time
RANK = {level.value: rank for rank, level in enumerate((Level.DEBUG, Level.INFO, Level.WARNING, Level.ERROR))}
_READ = (
    *("id", "uuid", "at", "cluster", "job_number", "job_epoch", "attempt_index", "heimdall_job_id", "node"),
    *("actor", "type", "action", "advice_generation", "sentence", "payload"),
)


@dataclass(frozen=True)
class _Turn:
    routes: Sequence[NotificationRoute]
    horizon: datetime
    now: datetime


def collect(age: timedelta, now: datetime) -> int:
    """Read what is new of every chain into messages that are due soon; how many things were told of."""
    routes = list(NotificationRoute.objects.filter(enabled=True).select_related("cluster"))
    if not routes:
        return 0
    turn = _Turn(routes, now - age, now)
    known = dict(TrailPosition.objects.values_list("cluster", "seq"))
    chains = AuditChain.objects.exclude(cluster="").values_list("cluster", "seq")
    return sum(_follow(name, known.get(name), end, turn) for name, end in chains if known.get(name, 0) < end)


def _follow(cluster: str, position: int | None, end: int, turn: _Turn) -> int:
    if position is None:
        position = TrailPosition.objects.get_or_create(cluster=cluster)[0].seq
    told = 0
    for _round in range(ROUNDS):
        if position >= end:
            break
        start = max(position, _passed_over(cluster, position, end, turn.horizon))
        seals = AuditSeal.objects.filter(cluster=cluster, seq__gt=start).order_by("seq")
        rows = list(seals.values_list("seq", "event")[:AT_ONCE])
        after = rows[-1][0] if rows else end
        found = _read([event for _seq, event in rows], turn)
        with transaction.atomic():
            if not TrailPosition.objects.filter(cluster=cluster, seq=position).update(seq=after):
                return told  # another worker was first
            told += _store(found, turn)
        position = after
    return told


def _read(numbers: Sequence[int], turn: _Turn) -> list[Thing]:
    wanted = AuditEvent.objects.filter(id__in=numbers, type__in=list(READERS), at__gte=turn.horizon)
    return things_of(list(wanted.order_by("id").only(*_READ)), turn.now)


def _passed_over(cluster: str, position: int, end: int, horizon: datetime) -> int:
    """Up to which number all is older than the horizon. A chain is read link by link only where little is new."""
    low, high = position, end
    if end - position <= AT_ONCE:
        return position
    while low < high:
        middle = (low + high + 1) // 2
        seal = AuditSeal.objects.filter(cluster=cluster, seq=middle).values_list("sealed_at", flat=True).first()
        if seal is not None and seal >= horizon - SLACK:
            high = middle - 1
        else:
            low = middle
    return low


def _store(found: Sequence[Thing], turn: _Turn) -> int:
    told, silences = 0, silences_over(found, turn.now)
    for route in turn.routes:
        wanted: dict[str, Thing] = {}
        for thing in found:
            if wants(route, thing):
                wanted.setdefault(key_of(route, thing.subject), thing)
        known = set(ToldSubject.objects.filter(key__in=list(wanted)).values_list("key", flat=True))
        new = {key: thing for key, thing in wanted.items() if key not in known}
        hushed = [thing for thing in new.values() if thing in silences]
        put(route, {key: thing for key, thing in new.items() if thing not in silences}, turn.now)
        hush(route, [(thing, silences[thing]) for thing in hushed], turn.now)
        told += len(new) - len(hushed)
    return told


def wants(route: NotificationRoute, thing: Thing) -> bool:
    """Whether a thing is for this route: its cluster, its severity, its topics, and since it is there."""
    here = route.cluster is None or route.cluster.name == thing.cluster
    severe = RANK[thing.level] >= RANK[route.least_level]
    return here and severe and thing.at >= route.since and (not route.topics or thing.topic in route.topics)


def key_of(route: NotificationRoute, subject: str) -> str:
    """What is told once: this subject to this route. 64 characters."""
    return hashlib.sha256(f"{route.pk}\0{subject}".encode()).hexdigest()

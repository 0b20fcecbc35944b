"""How is what others tell about nodes stored: once each, in whatever order it comes, and cleared when it is over?

Call it inside a transaction. The cluster's row is locked first, so that a fault and its clearing that arrive at
once see each other; everything after it is a fixed number of queries, however many events come together.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Case, QuerySet, Value, When

from audit.event_type import EventType
from audit.level import Level
from audit.masking import masked
from audit.trail import Actor, Entry, Subject, record
from detectors.attribution.told import AFTER, BEFORE
from detectors.models import HealthEvent
from schedulers.states import FAILURES
from workloads.models import Attempt, Cluster, Node

ROWS = 100  # in one statement with a condition for each row
LOOKED_THROUGH = 5_000  # rows of the same checks: nobody who tells the truth has so many
SINCE = timedelta(hours=24)  # how far back an event may make a failed attempt due again


@dataclass(frozen=True)
class Told:
    """One event as it was sent, checked and cut to the columns' sizes. `key` is the same when it is sent again.

    `healthy`: it clears what is open. `cleared_at`: the same message tells that its own fault is over.
    """

    node: str
    check: str
    happened_at: datetime
    key: str
    source: str
    component: str = ""
    entity: str = ""
    fatal: bool = False
    healthy: bool = False
    codes: tuple[str, ...] = ()
    message: str = ""
    advised: str = ""
    agent: str = ""
    cleared_at: datetime | None = None


@dataclass(frozen=True)
class TakenIn:
    """What came of some events: rows made, rows cleared, and how many speak of nodes that nobody knows."""

    stored: int = 0
    unknown_nodes: int = 0
    cleared: tuple[HealthEvent, ...] = ()


@dataclass
class _Batch:
    """The events of one request with what is stored about them."""

    cluster: Cluster
    events: Sequence[Told]
    names: dict[str, str]
    known: dict[str, HealthEvent]
    new: dict[str, HealthEvent] = field(default_factory=dict)
    closing: dict[int, datetime] = field(default_factory=dict)


def take_in(cluster: Cluster, events: Sequence[Told], actor: Actor, now: datetime) -> TakenIn:
    """Store the events, clear what they clear, write both down, and make failed attempts due that they bear on."""
    Cluster.objects.select_for_update().only("pk").get(pk=cluster.pk)
    known = HealthEvent.objects.filter(cluster=cluster, key__in={event.key for event in events})
    batch = _Batch(cluster, events, _node_names(cluster, events), {row.key: row for row in known})
    for event in events:
        _sort(batch, event, actor, now)
    _clear(batch)
    HealthEvent.objects.bulk_create(batch.new.values(), ROWS)
    cleared = _close(batch)
    record([*_entries(batch, actor), *(_cleared(cluster, row, actor) for row in cleared)], now)
    _make_due(batch, now)
    unknown = sum(event.node not in batch.names for event in events)
    return TakenIn(len(batch.new), unknown, tuple(cleared))


def _node_names(cluster: Cluster, events: Iterable[Told]) -> dict[str, str]:
    """The scheduler's name of each node that it knows: `n03.cluster.local` is `n03`."""
    told = {event.node for event in events}
    short = {name: name.partition(".")[0] for name in told}
    known = set(
        Node.objects.filter(cluster=cluster, name__in=told | set(short.values())).values_list("name", flat=True)
    )
    found = {name: name if name in known else short[name] for name in told}
    return {name: node for name, node in found.items() if node in known}


def _sort(batch: _Batch, event: Told, actor: Actor, now: datetime) -> None:
    """A new row, or an end for a row that is there."""
    row = batch.known.get(event.key) or batch.new.get(event.key)
    if row is None:
        batch.new[event.key] = HealthEvent(
            cluster=batch.cluster,
            node=batch.names.get(event.node, event.node),
            check_name=event.check,
            component=event.component,
            entity=event.entity,
            fatal=event.fatal,
            healthy=event.healthy,
            codes=list(event.codes),
            message=masked(event.message),
            advised=event.advised,
            source=event.source,
            agent=event.agent,
            key=event.key,
            happened_at=event.happened_at,
            received_at=now,
            received_from=actor.name[:128],
            cleared_at=event.cleared_at,
        )
    elif event.cleared_at is not None and row.cleared_at is None:
        if row.pk is None:
            row.cleared_at = event.cleared_at
        else:
            batch.closing[row.pk] = event.cleared_at


def _clear(batch: _Batch) -> None:
    """New faults that somebody has called healthy since, and open ones that are called healthy now."""
    faults = defaultdict(list)
    for row in (*_open_rows(batch), *batch.new.values()):
        if not row.healthy and row.cleared_at is None:
            faults[row.node, row.check_name].append(row)
    for place, ends in _ends(batch).items():
        for fault in faults[place]:
            later = (at for entity, at in ends if entity in ("", fault.entity) and at >= fault.happened_at)
            moment = min(later, default=None)
            if moment is not None and fault.pk is None:
                fault.cleared_at = moment
            elif moment is not None:
                batch.closing.setdefault(fault.pk, moment)


def _open_rows(batch: _Batch) -> list[HealthEvent]:
    stored = _stored(batch).filter(healthy=False, cleared_at=None)
    return list(stored.order_by("-happened_at")[:LOOKED_THROUGH])


def _ends(batch: _Batch) -> dict[tuple[str, str], list[tuple[str, datetime]]]:
    """By node and check: of which part it was called healthy, and when."""
    ends: dict[tuple[str, str], list[tuple[str, datetime]]] = defaultdict(list)
    for event in batch.events:
        moment = event.happened_at if event.healthy else event.cleared_at
        if moment is not None:
            ends[batch.names.get(event.node, event.node), event.check].append((event.entity, moment))
    earliest = min((row.happened_at for row in batch.new.values() if not row.healthy), default=None)
    if earliest is not None:
        told = _stored(batch).filter(healthy=True, happened_at__gte=earliest).order_by("happened_at")
        for row in told[:LOOKED_THROUGH]:
            ends[row.node, row.check_name].append((row.entity, row.happened_at))
    return ends


def _stored(batch: _Batch) -> QuerySet[HealthEvent]:
    """What was told before of the same checks on the same nodes."""
    nodes = {batch.names.get(event.node, event.node) for event in batch.events}
    checks = {event.check for event in batch.events}
    return HealthEvent.objects.filter(cluster=batch.cluster, node__in=nodes, check_name__in=checks)


def _close(batch: _Batch) -> list[HealthEvent]:
    """Move the open rows that end now, each only once; those that moved."""
    keys = sorted(batch.closing)
    moved: list[HealthEvent] = []
    for start in range(0, len(keys), ROWS):
        some = keys[start : start + ROWS]
        rows = list(HealthEvent.objects.filter(pk__in=some, cleared_at=None))
        cases = [When(pk=row.pk, then=Value(batch.closing[row.pk])) for row in rows]
        if cases:
            HealthEvent.objects.filter(pk__in=[row.pk for row in rows], cleared_at=None).update(
                cleared_at=Case(*cases)
            )
        for row in rows:
            row.cleared_at = batch.closing[row.pk]
            moved.append(row)
    return moved


def _entries(batch: _Batch, actor: Actor) -> Iterable[Entry]:
    """One line of the trail for each fault that is new; one that is healthy speaks through what it clears."""
    known = set(batch.names.values())
    for row in batch.new.values():
        if row.healthy:
            continue
        stranger = "" if row.node in known else " (no node that the scheduler knows)"
        yield Entry(
            type=EventType.HEALTH,
            subject=Subject(cluster=batch.cluster.name, node=row.node),
            actor=actor,
            sentence=f"{sentence_of(row)}{stranger}",
            level=Level.ERROR if row.fatal else Level.WARNING,
            payload=_payload(row),
        )


def _cleared(cluster: Cluster, row: HealthEvent, actor: Actor) -> Entry:
    return Entry(
        type=EventType.HEALTH,
        subject=Subject(cluster=cluster.name, node=row.node),
        actor=actor,
        sentence=f"{row.node} is told healthy again: {row.check_name}.",
        action="cleared",
        payload=_payload(row),
    )


def _payload(row: HealthEvent) -> dict[str, object]:
    return {
        "event": str(row.uuid),
        "check": row.check_name,
        "component": row.component,
        "entity": row.entity,
        "fatal": row.fatal,
        "codes": row.codes,
        "source": row.source,
        "agent": row.agent,
        "happened_at": row.happened_at.isoformat(),
        "cleared_at": row.cleared_at.isoformat() if row.cleared_at else None,
    }


def sentence_of(row: HealthEvent) -> str:
    """`GpuXidError on n03 (GPU 3): code 79, GPU has fallen off the bus`."""
    part = f" ({row.entity})" if row.entity else ""
    codes = f"code {', '.join(str(code) for code in row.codes[:4])}" if row.codes else ""
    told = ", ".join(text for text in (codes, row.message[:300]) if text)
    return f"{row.check_name} on {row.node}{part}{': ' if told else ''}{told}"


def _make_due(batch: _Batch, now: datetime) -> None:
    """Failed attempts on the node of a fatal event, about when it happened: their verdict is made again with it."""
    fatal = [row for row in batch.new.values() if row.fatal and not row.healthy and row.happened_at > now - SINCE]
    if not fatal:
        return
    first, last = min(row.happened_at for row in fatal), max(row.happened_at for row in fatal)
    ended = Attempt.objects.filter(
        job__cluster=batch.cluster,
        state__in=[state.value for state in FAILURES],
        ended_at__gte=first - AFTER,
        ended_at__lte=last + BEFORE,
    )
    keys = [
        key
        for key, nodes, ended_at in ended.values_list("pk", "nodes", "ended_at")
        if ended_at is not None and any(_bears_on(row, nodes, ended_at) for row in fatal)
    ]
    Attempt.objects.filter(pk__in=keys).update(judge_due_at=now)


def _bears_on(row: HealthEvent, nodes: Sequence[str], ended_at: datetime) -> bool:
    return row.node in nodes and row.happened_at - AFTER <= ended_at <= row.happened_at + BEFORE

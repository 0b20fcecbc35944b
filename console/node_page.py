"""What is known of one node: what runs there, what keeps it out, what failed there, and what others told of it?

What ended there is read off `Stay` (one row for each attempt and node), so nothing is searched in lists of names
but the attempts that run now.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet

from advisor_api.models import Exclusion
from advisor_api.node_facts import OUT, Stands
from advisor_api.node_standing import Standing
from advisor_api.repair_models import RepairRecord
from advisor_api.standing_view import standings_of
from audit.models import AuditEvent
from detectors.catalogue.kind import AnomalyKind
from detectors.fate import Fate
from detectors.models import Anomaly, HealthEvent, Incident, Stay, Verdict
from schedulers.states import LIVE, JobState
from workloads.models import Attempt, Cluster, Node

SHOWN = 50
EVENTS = 30
UNDO = timedelta(minutes=15)
"""How long the page offers to take a person's word back."""
_LIVE = [state.value for state in LIVE]


@dataclass(frozen=True)
class Kept:
    """One exclusion: whether it holds, what it weighs, the attempt that it rests on, and whom it was told."""

    row: Exclusion
    holds: bool
    weight: float
    attempt: Attempt | None
    records: Sequence[RepairRecord]


@dataclass(frozen=True)
class Past:
    """An attempt that ran there, with what became of it."""

    attempt: Attempt
    state: JobState
    fate: Fate | None
    ended_at: datetime | None


@dataclass(frozen=True)
class Named:
    """A verdict that names the node: in which part, and how surely."""

    verdict: Verdict
    role: str
    confidence: float | None


@dataclass(frozen=True)
class NodeNow:
    """How a node stands. `drained`: somebody at the scheduler has it out of use. `undo`: what may be taken back."""

    node: Node
    stands: Stands
    drained: bool
    running: Sequence[Attempt]
    kept: Sequence[Exclusion]
    undo: Exclusion | None


def node_now(cluster: Cluster, name: str, now: datetime) -> NodeNow:
    """How the node stands at `now`. Raises `Node.DoesNotExist`."""
    node = Node.objects.get(cluster=cluster, name=name)
    found = standings_of([cluster], now, [name]).get((cluster.pk, name), Stands(Standing.EFFECTIVE, ""))
    of_node = Exclusion.objects.filter(cluster=cluster, node=name)
    words = frozenset(node.state.lower().replace("*", "").split("+"))
    return NodeNow(
        node,
        found,
        bool(OUT & words),
        running_on(cluster, name),
        list(of_node.filter(until__gt=now, lifted_at=None).order_by("-until")),
        _undoable(list(of_node.order_by("-pk")[:SHOWN]), now),
    )


def running_on(cluster: Cluster, name: str) -> list[Attempt]:
    """The attempts that run on the node now."""
    rows = Attempt.objects.filter(job__cluster=cluster, job__live=True, state__in=_LIVE).select_related("job")
    return [attempt for attempt in rows.order_by("-pk") if name in attempt.nodes]


def kept_out(cluster: Cluster, name: str, now: datetime) -> list[Kept]:
    """Every exclusion of the node, those that hold first, then the newest."""
    rows = list(Exclusion.objects.filter(cluster=cluster, node=name).order_by("-pk")[:SHOWN])
    uuids = [row.verdict_id for row in rows if row.verdict_id]
    verdicts = {one.uuid: one for one in _verdicts().filter(uuid__in=uuids)} if uuids else {}
    records: dict[int, list[RepairRecord]] = {}
    for record in RepairRecord.objects.filter(exclusion__in=rows).defer("body").order_by("pk"):
        records.setdefault(record.exclusion_id, []).append(record)
    found = []
    for row in rows:
        verdict = verdicts.get(row.verdict_id) if row.verdict_id else None
        attempt = verdict.attempt if verdict else None
        holds = row.lifted_at is None and row.until > now
        found.append(Kept(row, holds, row.weight_at(now), attempt, records.get(row.pk, ())))
    return sorted(found, key=lambda one: not one.holds)


def past_of(cluster: Cluster, name: str) -> list[Past]:
    """The attempts that run there and those that ended there, newest first."""
    running = [Past(one, JobState(one.state), None, None) for one in running_on(cluster, name)]
    stays = Stay.objects.filter(cluster=cluster, node=name).select_related("attempt__job").order_by("-ended_at")
    return running + [
        Past(stay.attempt, JobState(stay.attempt.state), Fate(stay.fate), stay.ended_at) for stay in stays[:SHOWN]
    ]


def verdicts_naming(name: str, past: Sequence[Past]) -> list[Named]:
    """Of the attempts that ran there, the verdicts that name it, newest first."""
    rows = _verdicts().filter(attempt__in=[one.attempt for one in past]).order_by("-pk")
    return [
        Named(verdict, str(row.get("role", "")), row.get("confidence"))
        for verdict in rows[: SHOWN * 4]
        for row in verdict.implicated
        if isinstance(row, dict) and row.get("host") == name
    ][:SHOWN]


def warnings_on(name: str, past: Sequence[Past]) -> list[Anomaly]:
    """Early warnings of the node while the attempts ran there, newest first."""
    rows = Anomaly.objects.filter(
        attempt__in=[one.attempt for one in past], kind=AnomalyKind.EARLY_WARNING.value
    ).select_related("attempt__job")
    return [row for row in rows.order_by("-pk")[: SHOWN * 4] if name in row.nodes][:SHOWN]


def incidents_naming(cluster: Cluster, name: str) -> list[Incident]:
    """Incidents that name the node, newest first."""
    return list(Incident.objects.filter(cluster=cluster, nodes__node=name).order_by("-last_seen_at")[:SHOWN])


def told_of(cluster: Cluster, name: str) -> list[HealthEvent]:
    """Faults that others told of the node, newest first."""
    rows = HealthEvent.objects.filter(cluster=cluster, node=name, healthy=False)
    return list(rows.order_by("-happened_at", "-pk")[:SHOWN])


def events_of(cluster: Cluster, name: str) -> list[AuditEvent]:
    """The newest events of the trail that speak of the node."""
    rows = AuditEvent.objects.filter(cluster=cluster.name, node=name).defer("payload")
    return list(rows.order_by("-at", "-pk")[:EVENTS])


def _undoable(rows: Sequence[Exclusion], now: datetime) -> Exclusion | None:
    """The newest word of a person: an exclusion that was made, or lifted, within the last minutes."""
    lifted = [row for row in rows if row.lifted_at is not None and row.until > now]
    holding = [row for row in rows if row.lifted_at is None and row.until > now]
    if holding:
        newest = holding[0]
        return newest if newest.verdict_id is None and now - newest.since <= UNDO else None
    last = max(lifted, key=lambda row: row.lifted_at or row.since, default=None)
    return last if last is not None and last.lifted_at and now - last.lifted_at <= UNDO else None


def _verdicts() -> QuerySet[Verdict]:
    return Verdict.objects.select_related("attempt__job").defer("body")

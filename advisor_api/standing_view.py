"""How do all nodes of a cluster stand? A fixed number of queries, whatever their number."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Max, QuerySet

from advisor_api.clearing import cleared_among
from advisor_api.models import Exclusion
from advisor_api.node_facts import BLAME_STANDS, OUT, Excluded, NodeFacts, Stands, stands
from advisor_api.node_standing import Standing
from detectors.fate import Fate
from detectors.models import HealthEvent, IncidentNode, Stay, Verdict
from workloads.models import Cluster, Node

FAULTS_READ = 5_000
COLUMNS = ("cluster_id", "name", "state", "reason", "reason_at", "booted_at")
UNTOUCHED = Stands(Standing.EFFECTIVE, "")
"""A node that is in use and of which nobody has said anything."""

Named = tuple[int, str]
"""A node by its cluster's key and its name."""


def standings(cluster: Cluster, now: datetime) -> dict[str, Stands]:
    """Each node of the cluster with its field. Nine queries, however many nodes and exclusions there are."""
    return {name: one for (_cluster, name), one in standings_of([cluster], now).items()}


def standings_of(
    clusters: Sequence[Cluster], now: datetime, names: Collection[str] | None = None
) -> dict[Named, Stands]:
    """Each node of these clusters (of those with these names) with its field, by cluster's key and name.

    The same queries, however many there are.
    """
    exclusions, faults = _exclusions(clusters, now), _faults(clusters)
    blamed, lifted, incidents = _blamed(clusters, now), _lifted(clusters, now), _incidents(clusters)
    known = exclusions.keys() | faults.keys() | blamed.keys() | incidents.keys()
    rows = Node.objects.filter(cluster__in=clusters).order_by()
    rows = rows if names is None else rows.filter(name__in=names)
    words_of: dict[str, frozenset[str]] = {}
    found = {}
    for cluster, name, state, reason, reason_at, booted_at in rows.values_list(*COLUMNS):
        key = cluster, name
        words = words_of.get(state)
        if words is None:
            words = words_of[state] = frozenset(state.lower().replace("*", "").split("+"))
        if key not in known and not words & OUT:  # almost all: there is nothing to weigh
            found[key] = UNTOUCHED
            continue
        facts = NodeFacts(
            words=words,
            reason=reason,
            reason_at=reason_at,
            booted_at=booted_at,
            exclusions=tuple(exclusions.get(key, ())),
            fault=faults.get(key, ""),
            blamed_at=blamed.get(key),
            incident_at=incidents.get(key),
            given_back_at=lifted.get(key),
        )
        found[key] = stands(facts, now)
    return found


def counted(found: Mapping[Any, Stands]) -> dict[Standing, int]:
    """How many nodes stand in each field; all four are there."""
    numbers = Counter(one.standing for one in found.values())
    return {standing: numbers[standing] for standing in Standing}


def nodes_in(cluster: Cluster, found: Mapping[str, Stands], standing: str) -> QuerySet[Node]:
    """The nodes of the cluster in one field; all of them when `standing` is empty."""
    rows = Node.objects.filter(cluster=cluster)
    if not standing:
        return rows
    return rows.filter(name__in=[name for name, one in found.items() if one.standing.value == standing])


def _exclusions(clusters: Sequence[Cluster], now: datetime) -> dict[Named, list[Excluded]]:
    rows = list(Exclusion.objects.filter(cluster__in=clusters, until__gt=now, lifted_at=None))
    uuids = {row.verdict_id for row in rows if row.verdict_id is not None}
    verdicts = {one.uuid: one for one in Verdict.objects.select_related("attempt__job").filter(uuid__in=uuids)}
    blamed = [(verdicts[row.verdict_id], row.node) for row in rows if row.verdict_id in verdicts]
    cleared = cleared_among(blamed)
    found: dict[Named, list[Excluded]] = defaultdict(list)
    for row in rows:
        verdict, key = verdicts.get(row.verdict_id) if row.verdict_id is not None else None, _named(row)
        if verdict is None:
            found[key].append(Excluded(None if row.verdict_id is None else row.since))
        else:
            found[key].append(Excluded(verdict.happened_at, (verdict.pk, row.node) in cleared))
    return found


def _named(row: Exclusion) -> Named:
    return row.cluster_id, row.node


def _faults(clusters: Sequence[Cluster]) -> dict[Named, str]:
    rows = HealthEvent.objects.filter(cluster__in=clusters, fatal=True, healthy=False, cleared_at=None)
    told = rows.order_by("happened_at").values_list("cluster_id", "node", "check_name")[:FAULTS_READ]
    return {(cluster, node): check for cluster, node, check in told}


def _blamed(clusters: Sequence[Cluster], now: datetime) -> dict[Named, datetime]:
    rows = Stay.objects.filter(cluster__in=clusters, fate=Fate.BLAMED.value, ended_at__gt=now - BLAME_STANDS)
    last = rows.order_by().values("cluster_id", "node").annotate(at=Max("ended_at"))
    return {(row["cluster_id"], row["node"]): row["at"] for row in last}


def _lifted(clusters: Sequence[Cluster], now: datetime) -> dict[Named, datetime]:
    rows = Exclusion.objects.filter(cluster__in=clusters, lifted_at__gt=now - BLAME_STANDS)
    last = rows.order_by().values("cluster_id", "node").annotate(at=Max("lifted_at"))
    return {(row["cluster_id"], row["node"]): row["at"] for row in last}


def _incidents(clusters: Sequence[Cluster]) -> dict[Named, datetime]:
    """Nodes that an open incident names; of a shared cause nodes are victims."""
    rows = IncidentNode.objects.filter(
        incident__cluster__in=clusters, incident__ended_at=None, incident__shared=False
    )
    last = rows.order_by().values("incident__cluster_id", "node").annotate(at=Max("incident__last_seen_at"))
    return {(row["incident__cluster_id"], row["node"]): row["at"] for row in last}

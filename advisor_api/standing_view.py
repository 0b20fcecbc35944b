"""How do all nodes of a cluster stand? A fixed number of queries, whatever their number."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import datetime

from django.db.models import Max, QuerySet

from advisor_api.clearing import cleared_among
from advisor_api.gathering import active_exclusions
from advisor_api.models import Exclusion
from advisor_api.node_facts import BLAME_STANDS, Excluded, NodeFacts, Stands, stands
from advisor_api.node_standing import Standing
from detectors.fate import Fate
from detectors.models import HealthEvent, IncidentNode, Stay, Verdict
from workloads.models import Cluster, Node

FAULTS_READ = 5_000
COLUMNS = ("name", "state", "reason", "reason_at", "booted_at")


def standings(cluster: Cluster, now: datetime) -> dict[str, Stands]:
    """Each node of the cluster with its field. Nine queries, however many nodes and exclusions there are."""
    exclusions, faults = _exclusions(cluster, now), _faults(cluster)
    blamed, lifted, incidents = _blamed(cluster, now), _lifted(cluster, now), _incidents(cluster)
    found = {}
    for node in Node.objects.filter(cluster=cluster).only(*COLUMNS):
        facts = NodeFacts(
            words=frozenset(node.state.lower().replace("*", "").split("+")),
            reason=node.reason,
            reason_at=node.reason_at,
            booted_at=node.booted_at,
            exclusions=tuple(exclusions.get(node.name, ())),
            fault=faults.get(node.name, ""),
            blamed_at=blamed.get(node.name),
            incident_at=incidents.get(node.name),
            given_back_at=lifted.get(node.name),
        )
        found[node.name] = stands(facts, now)
    return found


def counted(found: Mapping[str, Stands]) -> dict[Standing, int]:
    """How many nodes stand in each field; all four are there."""
    numbers = Counter(one.standing for one in found.values())
    return {standing: numbers[standing] for standing in Standing}


def nodes_in(cluster: Cluster, found: Mapping[str, Stands], standing: str) -> QuerySet[Node]:
    """The nodes of the cluster in one field; all of them when `standing` is empty."""
    rows = Node.objects.filter(cluster=cluster)
    if not standing:
        return rows
    return rows.filter(name__in=[name for name, one in found.items() if one.standing.value == standing])


def _exclusions(cluster: Cluster, now: datetime) -> dict[str, list[Excluded]]:
    rows = list(active_exclusions(cluster, now))
    uuids = {row.verdict_id for row in rows if row.verdict_id is not None}
    verdicts = {one.uuid: one for one in Verdict.objects.select_related("attempt__job").filter(uuid__in=uuids)}
    blamed = [(verdicts[row.verdict_id], row.node) for row in rows if row.verdict_id in verdicts]
    cleared = cleared_among(blamed)
    found: dict[str, list[Excluded]] = defaultdict(list)
    for row in rows:
        verdict = verdicts.get(row.verdict_id) if row.verdict_id is not None else None
        if verdict is None:
            found[row.node].append(Excluded(None if row.verdict_id is None else row.since))
        else:
            found[row.node].append(Excluded(verdict.happened_at, (verdict.pk, row.node) in cleared))
    return found


def _faults(cluster: Cluster) -> dict[str, str]:
    rows = HealthEvent.objects.filter(cluster=cluster, fatal=True, healthy=False, cleared_at=None)
    return dict(rows.order_by("happened_at").values_list("node", "check_name")[:FAULTS_READ])


def _blamed(cluster: Cluster, now: datetime) -> dict[str, datetime]:
    rows = Stay.objects.filter(cluster=cluster, fate=Fate.BLAMED.value, ended_at__gt=now - BLAME_STANDS)
    return {row["node"]: row["at"] for row in rows.order_by().values("node").annotate(at=Max("ended_at"))}


def _lifted(cluster: Cluster, now: datetime) -> dict[str, datetime]:
    rows = Exclusion.objects.filter(cluster=cluster, lifted_at__gt=now - BLAME_STANDS)
    return {row["node"]: row["at"] for row in rows.order_by().values("node").annotate(at=Max("lifted_at"))}


def _incidents(cluster: Cluster) -> dict[str, datetime]:
    """Nodes that an open incident names; of a shared cause nodes are victims."""
    rows = IncidentNode.objects.filter(incident__cluster=cluster, incident__ended_at=None, incident__shared=False)
    last = rows.order_by().values("node").annotate(at=Max("incident__last_seen_at"))
    return {row["node"]: row["at"] for row in last}

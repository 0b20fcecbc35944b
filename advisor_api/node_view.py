"""What happened on a node: which attempts ran there, which failures is it blamed for, is it excluded?

Lists of nodes are JSON and are not searched by the database: the newest attempts and verdicts are looked through.
"""

from dataclasses import dataclass
from datetime import datetime

from advisor_api.models import Exclusion
from advisor_api.refusals import NotFound
from detectors.models import HealthEvent, Verdict
from workloads.models import Attempt, Cluster, Node

LOOKED_THROUGH = 1000  # newest attempts, and newest verdicts, of the cluster
SHOWN = 100


@dataclass(frozen=True)
class Incident:
    """A verdict that names the node."""

    verdict: Verdict
    role: str
    confidence: float | None


@dataclass(frozen=True)
class SeenNode:
    """A node with its history, newest first."""

    node: Node
    exclusions: tuple[Exclusion, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    incidents: tuple[Incident, ...] = ()
    health_events: tuple[HealthEvent, ...] = ()


def excluded_nodes(cluster: Cluster, now: datetime) -> set[str]:
    """Names of the nodes that are excluded at `now`."""
    rows = Exclusion.objects.filter(cluster=cluster, until__gt=now, lifted_at=None)
    return set(rows.values_list("node", flat=True))


def seen_node(cluster: Cluster, name: str) -> SeenNode:
    """One node with its history. Five queries. Raises `NotFound`."""
    node = Node.objects.filter(cluster=cluster, name=name).first()
    if node is None:
        raise NotFound(f"{cluster.name} has no node {name[:64]!r}.")
    exclusions = Exclusion.objects.select_related("cluster").filter(cluster=cluster, node=name).order_by("-id")
    attempts = Attempt.objects.select_related("job").filter(job__cluster=cluster).order_by("-id")[:LOOKED_THROUGH]
    told = HealthEvent.objects.filter(cluster=cluster, node=name, healthy=False)
    return SeenNode(
        node,
        tuple(exclusions[:SHOWN]),
        tuple(attempt for attempt in attempts if name in attempt.nodes)[:SHOWN],
        _incidents(cluster, name),
        tuple(told.order_by("-happened_at", "-id")[:SHOWN]),
    )


def _incidents(cluster: Cluster, name: str) -> tuple[Incident, ...]:
    verdicts = Verdict.objects.select_related("attempt__job").defer("body").filter(attempt__job__cluster=cluster)
    found = [
        Incident(verdict, str(row.get("role", "")), row.get("confidence"))
        for verdict in verdicts.order_by("-id")[:LOOKED_THROUGH]
        for row in verdict.implicated
        if isinstance(row, dict) and row.get("host") == name
    ]
    return tuple(found[:SHOWN])

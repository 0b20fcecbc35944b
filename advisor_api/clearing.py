"""Which exclusions does a health event lift? Those that rest on the very faults that it clears.

A verdict rests on a fault that it quotes of the node under the signature by which it blames the node. All of these
must be cleared, after the failure, and by a checker that says *healthy*: a resolved alarm or a metric that fell can
mean that nothing is measured any more. A fault that is still open keeps the node out, and a person's exclusion is
theirs to lift.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from advisor_api.excluding import end
from advisor_api.gathering import active_exclusions
from advisor_api.models import Exclusion
from audit.trail import Actor
from detectors.attribution.told import EVENTS
from detectors.models import HealthEvent, Verdict
from workloads.models import Cluster


def lift_cleared(cluster: Cluster, nodes: Collection[str], actor: Actor, now: datetime) -> list[Exclusion]:
    """Lift what rests on nothing but cleared faults of these nodes; those lifted. Call it in the transaction."""
    rows = active_exclusions(cluster, now).filter(node__in=nodes, verdict_id__isnull=False)
    lifted = []
    for row in rows.select_related("cluster"):
        if row.verdict_id is None:
            continue
        verdict = Verdict.objects.select_related("attempt__job").filter(uuid=row.verdict_id).first()
        cleared = cleared_faults(verdict, row.node) if verdict else []
        if cleared and not _open_faults(cluster, row.node):
            named = ", ".join(sorted({fault.check_name for fault in cleared}))
            if end(row, actor, now, f": what it was excluded for is cleared ({named})."):
                lifted.append(row)
    return lifted


def cleared_faults(verdict: Verdict, node: str) -> list[HealthEvent]:
    """The faults of the node that the verdict rests on, when all of them are cleared; else none."""
    keys = faults_under(verdict.body if isinstance(verdict.body, dict) else {}, node)
    cluster = verdict.attempt.job.cluster_id
    faults = list(HealthEvent.objects.filter(pk__in=keys, cluster_id=cluster, node=node))
    whole = bool(keys) and len(faults) == len(keys)
    return faults if whole and all(_said_healthy(fault, verdict.happened_at) for fault in faults) else []


def faults_under(body: Mapping[str, Any], node: str) -> set[int]:
    """Keys of the health events of `node` that say the same as what the verdict blames it by. Pure."""
    proof = {one for row in _rows(body, "implicated") if _blames(row, node) for one in row.get("evidence") or ()}
    quotes = list(_rows(body, "evidence"))
    signatures = {row.get("signature_id") for row in quotes if row.get("id") in proof} - {None, ""}
    return {
        row["offset"]
        for row in quotes
        if row.get("host") == node
        and row.get("signature_id") in signatures
        and str(row.get("file", "")).startswith(EVENTS)
        and type(row.get("offset")) is int
    }


def _blames(row: Mapping[str, Any], node: str) -> bool:
    return row.get("host") == node and row.get("role") == "culprit"


def _rows(body: Mapping[str, Any], name: str) -> Iterable[Mapping[str, Any]]:
    stored = body.get(name)
    return [row for row in stored if isinstance(row, dict)] if isinstance(stored, list) else []


def _said_healthy(fault: HealthEvent, failed_at: datetime) -> bool:
    """Whether a checker looked at it after the failure and found it healthy."""
    if fault.cleared_at is None or fault.cleared_at <= failed_at:
        return False
    said = HealthEvent.objects.filter(cluster_id=fault.cluster_id, node=fault.node, check_name=fault.check_name)
    return said.filter(healthy=True, happened_at=fault.cleared_at, entity__in={"", fault.entity}).exists()


def _open_faults(cluster: Cluster, node: str) -> bool:
    open_ones = HealthEvent.objects.filter(cluster=cluster, node=node, cleared_at=None)
    return open_ones.filter(fatal=True, healthy=False).exists()

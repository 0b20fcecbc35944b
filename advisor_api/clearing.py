"""Which exclusions does a health event lift? Those that rest on the very faults that it clears.

A verdict rests on a fault that it quotes of the node under the signature by which it blames the node. All of these
must be cleared, after the failure, and by a checker that says *healthy*: a resolved alarm or a metric that fell can
mean that nothing is measured any more. A fault that is still open keeps the node out, and a person's exclusion is
theirs to lift.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
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
    return cleared_among([(verdict, node)]).get((verdict.pk, node), [])


def cleared_among(blamed: Sequence[tuple[Verdict, str]]) -> dict[tuple[int, str], list[HealthEvent]]:
    """The same for many, by verdict's key and node: those of which all faults are cleared. Two queries in all."""
    keys = {(verdict.pk, node): faults_under(_body(verdict), node) for verdict, node in blamed}
    events = HealthEvent.objects.in_bulk({key for some in keys.values() for key in some})
    healthy = _said_healthy(list(events.values()))
    found = {}
    for verdict, node in blamed:
        own, cluster = keys[verdict.pk, node], verdict.attempt.job.cluster_id
        faults = [events[key] for key in sorted(own) if key in events]
        faults = [fault for fault in faults if (fault.cluster_id, fault.node) == (cluster, node)]
        cleared = all(fault.pk in healthy and _after(fault, verdict.happened_at) for fault in faults)
        if own and len(faults) == len(own) and cleared:
            found[verdict.pk, node] = faults
    return found


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


def _body(verdict: Verdict) -> Mapping[str, Any]:
    return verdict.body if isinstance(verdict.body, dict) else {}


def _after(fault: HealthEvent, failed_at: datetime) -> bool:
    """Whether it was cleared after the failure."""
    return fault.cleared_at is not None and fault.cleared_at > failed_at


def _said_healthy(faults: Collection[HealthEvent]) -> set[int]:
    """Keys of those that a checker looked at when they were cleared, and found healthy."""
    cleared = [fault for fault in faults if fault.cleared_at is not None]
    said = HealthEvent.objects.filter(
        healthy=True,
        cluster_id__in={fault.cluster_id for fault in cleared},
        node__in={fault.node for fault in cleared},
        check_name__in={fault.check_name for fault in cleared},
        happened_at__in={fault.cleared_at for fault in cleared},
    )
    names = ("cluster_id", "node", "check_name", "happened_at", "entity")
    there = set(said.values_list(*names)) if cleared else set()
    return {
        fault.pk
        for fault in cleared
        for entity in {"", fault.entity}
        if (fault.cluster_id, fault.node, fault.check_name, fault.cleared_at, entity) in there
    }


def _open_faults(cluster: Cluster, node: str) -> bool:
    open_ones = HealthEvent.objects.filter(cluster=cluster, node=node, cleared_at=None)
    return open_ones.filter(fatal=True, healthy=False).exists()

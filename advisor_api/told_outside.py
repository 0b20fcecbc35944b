"""Which nodes does anything blame that the job itself cannot write?

A job writes its own log, kernel lines included. What it cannot write are health events, metrics, the scheduler's
own accounts of a node, and lines that come by the selector of node lines of a log store. A node that the scheduler
itself found dead under the attempt needs no line at all.
"""

from collections.abc import Collection, Mapping
from typing import Any

from detectors.models import Verdict
from detectors.store_asking import place_of
from schedulers.states import JobState
from workloads.models import Cluster

OUTSIDE = frozenset({"health_event", "metric", "scheduler"})
"""Sources of evidence, as a verdict names them (`detectors.attribution.body`)."""
NODE_DIED = frozenset({JobState.NODE_FAIL.value, JobState.BOOT_FAIL.value})


def told_outside(verdict: Verdict, nodes: Collection[str]) -> frozenset[str]:
    """Those of `nodes` with a witness outside of the job's log. Reads the verdict's body, and its cluster."""
    if verdict.attempt.state in NODE_DIED:
        return frozenset(nodes)
    stored = verdict.body.get("evidence") if isinstance(verdict.body, Mapping) else None
    of_nodes = _stream_of_nodes(verdict.attempt.job.cluster)
    rows = [row for row in stored or () if isinstance(row, Mapping) and _outside(row, of_nodes)]
    return frozenset(nodes).intersection(str(row.get("host")) for row in rows)


def _outside(row: Mapping[str, Any], of_nodes: str) -> bool:
    return row.get("source") in OUTSIDE or bool(of_nodes and row.get("file") == of_nodes)


def _stream_of_nodes(cluster: Cluster) -> str:
    """The stream of node lines of the cluster's log store; none where it has none, or jobs write there, too."""
    if not cluster.log_store:
        return ""
    place = place_of(cluster)
    own = place.node_lines and place.node_lines != place.job_lines
    return place.stream(place.node_lines) if own else ""

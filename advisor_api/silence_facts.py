"""What does a silence look at? Of attempts and of incidents: fingerprints, signatures, nodes and partitions.

A fixed number of queries, however many are asked about.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any
from uuid import UUID

from advisor_api.silencing import Spoken
from detectors.models import Incident, IncidentNode, Verdict
from workloads.models import Attempt

BLAMED = frozenset({"culprit", "suspect"})
NONE = frozenset[str]()


def of_attempts(ids: Collection[UUID]) -> dict[UUID, Spoken]:
    """By their Heimdall ids. Three queries."""
    attempts = Attempt.objects.filter(heimdall_id__in=ids).select_related("job__cluster")
    rows = Verdict.objects.filter(attempt__heimdall_id__in=ids, newer=None).select_related("incident")
    verdicts = {row.attempt_id: row for row in rows.defer("body")}
    return {row.heimdall_id: _of_attempt(row, verdicts.get(row.pk)) for row in attempts}


def of_incidents(keys: Collection[int]) -> dict[int, Spoken]:
    """By their keys. Three queries."""
    found: dict[int, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    standing = Verdict.objects.filter(incident__in=keys, newer=None).order_by()
    columns = ("incident", "signature", "attempt__job__partition")
    for key, signature, partition in standing.values_list(*columns).distinct():
        found[key]["signatures"].add(signature)
        found[key]["partitions"].update(partition.split(","))
    for key, node in IncidentNode.objects.filter(incident__in=keys).order_by().values_list("incident", "node"):
        found[key]["nodes"].add(node)
    rows = Incident.objects.filter(pk__in=keys).values_list("pk", "cluster__name", "fingerprint")
    return {
        key: Spoken(
            cluster,
            frozenset({fingerprint}),
            frozenset(found[key]["signatures"]),
            frozenset(found[key]["nodes"]),
            frozenset(found[key]["partitions"]),
        )
        for key, cluster, fingerprint in rows
    }


def _of_attempt(attempt: Attempt, verdict: Verdict | None) -> Spoken:
    partitions = frozenset(attempt.job.partition.split(","))
    cluster = attempt.job.cluster.name
    if verdict is None:
        return Spoken(cluster, NONE, NONE, frozenset(attempt.nodes), partitions)
    marks = {verdict.fingerprint, verdict.incident.fingerprint if verdict.incident else ""} - {""}
    named = _named(verdict.implicated) or frozenset(attempt.nodes)
    return Spoken(cluster, frozenset(marks), frozenset({verdict.signature}), named, partitions)


def _named(implicated: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    return frozenset(str(one["host"]) for one in implicated if one.get("role") in BLAMED)

"""What does a silence look at? Of attempts and of incidents: fingerprints, signatures, nodes and partitions.

A fixed number of queries, however many are asked about.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from advisor_api.silence_models import Silence
from advisor_api.silencing import Spoken, may_cover
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


def of_incidents(keys: Collection[int], silences: Collection[Silence]) -> dict[int, Spoken]:
    """By their keys, as far as it is for these silences (with their clusters) to ask. Three queries at most.

    Signatures and partitions stand on the verdicts and their jobs, thousands in a large incident: they are read
    only where all else of a silence fits that names one.
    """
    rows = Incident.objects.filter(pk__in=keys).values_list("pk", "cluster__name", "fingerprint")
    nodes = _nodes_of(keys) if any(one.node for one in silences) else {}
    found = {
        key: Spoken(cluster, frozenset({fingerprint}), nodes=frozenset(nodes.get(key, ())))
        for key, cluster, fingerprint in rows
    }
    asking = [one for one in silences if one.signature or one.partition]
    asked = [key for key, spoken in found.items() if any(may_cover(one, spoken) for one in asking)]
    if asked:
        for key, (signatures, partitions) in _standing_in(asked).items():
            found[key] = replace(found[key], signatures=frozenset(signatures), partitions=frozenset(partitions))
    return found


def _nodes_of(keys: Collection[int]) -> dict[int, set[str]]:
    found: dict[int, set[str]] = defaultdict(set)
    for key, node in IncidentNode.objects.filter(incident__in=keys).order_by().values_list("incident", "node"):
        found[key].add(node)
    return found


def _standing_in(keys: Collection[int]) -> dict[int, tuple[set[str], set[str]]]:
    """By incident the signatures of the verdicts that stand in it, and the partitions of their jobs."""
    found: dict[int, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    standing = Verdict.objects.filter(incident__in=keys, newer=None).order_by()
    columns = ("incident", "signature", "attempt__job__partition")
    for key, signature, partition in standing.values_list(*columns).distinct():
        found[key or 0][0].add(signature)
        found[key or 0][1].update(partition.split(","))
    return found


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

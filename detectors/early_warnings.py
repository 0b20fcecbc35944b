"""Is a fatal fault, or a metric's warning, told of a node of a live attempt? Nothing is restarted for it.

Two queries for a batch of attempts, another one only when something is told (decisions 21). What the scheduler's
own accounts say of a node that they took out of use counts, too (`detectors.node_warnings`).
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from django.db.models import Q

from detectors.attribution.told import BEFORE
from detectors.catalogue.health import BASIS, Proof
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.metric_signals import SIGNALS, SOURCE
from detectors.catalogue.records import Evidence, Finding
from detectors.catalogue.role import Role
from detectors.health_events import sentence_of
from detectors.health_facts import fingerprint_of_row, proof_of_row, stream_of
from detectors.models import HealthEvent
from detectors.node_warnings import NodeWarnings, trains
from workloads.models import Attempt, Node

MOST_OPEN = 1000  # open faults looked through, the newest first
MOST_OF_ONE = 20  # warnings that one attempt keeps: a check that flaps must not fill its page
KEY = "health:"
WARNINGS = tuple(sorted(one.id for one in SIGNALS.values() if one.warns))
"""Metric signals that warn though they prove nothing by themselves: throttling, links with errors."""


class EarlyWarnings:
    """The open fatal faults of the nodes of some attempts, as they stand now."""

    def __init__(self, attempts: Sequence[Attempt] = ()) -> None:
        self._rows: dict[int, list[tuple[HealthEvent, Proof]]] = {}
        self._booted: dict[tuple[int, str], datetime] = {}
        self._nodes = NodeWarnings(attempts)
        running = [one for one in attempts if trains(one)]
        starts = [one.started_at for one in running if one.started_at is not None]
        clusters = {one.job.cluster_id for one in running}
        if not starts:
            self.complete = True
            return
        warning = Q(fatal=True) | Q(source=SOURCE, check_name__in=WARNINGS)
        told = HealthEvent.objects.filter(warning, cluster__in=clusters, healthy=False, cleared_at=None)
        rows = list(told.filter(happened_at__gte=min(starts) - BEFORE).order_by("-happened_at", "-pk")[:MOST_OPEN])
        self.complete = len(rows) < MOST_OPEN
        if rows:
            self._sort(rows, running)

    def _sort(self, rows: Sequence[HealthEvent], running: Sequence[Attempt]) -> None:
        """Keep what is told of hardware on which one of the attempts runs."""
        used = {(one.job.cluster_id, node) for one in running for node in one.nodes}
        for row in rows:
            proof = proof_of_row(row)
            if (proof.of_hardware or not row.fatal) and (row.cluster_id, row.node) in used:
                self._rows.setdefault(row.cluster_id, []).append((row, proof))
        self._ask_for_boots()

    def of(self, attempt: Attempt, known: frozenset[str]) -> tuple[Finding, ...]:
        """Warnings that the attempt does not have yet; `known` are the keys of its anomalies."""
        if not trains(attempt):
            return ()
        room = MOST_OF_ONE - sum(key.startswith(KEY) for key in known)
        fresh = [pair for pair in self._open(attempt) if f"{KEY}{pair[0].uuid}" not in known]
        told = tuple(_finding(row, proof) for row, proof in fresh[: max(room, 0)])
        return told + self._nodes.of(attempt, known)

    def over(self, attempt: Attempt, warned: frozenset[str]) -> tuple[str, ...]:
        """Keys of open warnings whose fault was cleared."""
        back = self._nodes.over(attempt, warned)
        if not warned or not self.complete or not trains(attempt):
            return back
        still = {f"{KEY}{row.uuid}" for row, _proof in self._open(attempt)}
        return (*sorted(key for key in warned - still if key.startswith(KEY)), *back)

    def _open(self, attempt: Attempt) -> list[tuple[HealthEvent, Proof]]:
        """Faults of its own nodes since it started, told of the machine that runs now (trap 14)."""
        cluster, started_at = attempt.job.cluster_id, attempt.started_at
        rows = self._rows.get(cluster)
        if not rows:
            return []
        nodes = set(attempt.nodes)
        return [
            (row, proof)
            for row, proof in rows
            if row.node in nodes
            and started_at is not None
            and row.happened_at >= started_at - BEFORE
            and (cluster, row.node) in self._booted
            and self._booted[cluster, row.node] <= row.happened_at
        ]

    def _ask_for_boots(self) -> None:
        """When the nodes started; one that the scheduler does not know is not there, and nobody is warned of it."""
        places = Q()
        for cluster, rows in self._rows.items():
            places |= Q(cluster=cluster, name__in={row.node for row, _proof in rows})
        if not places:
            return
        for cluster, name, booted_at in Node.objects.filter(places).values_list("cluster_id", "name", "booted_at"):
            self._booted[cluster, name] = booted_at or datetime.min.replace(tzinfo=UTC)


def _finding(row: HealthEvent, proof: Proof) -> Finding:
    sentence = sentence_of(row)
    return Finding(
        key=f"{KEY}{row.uuid}",
        kind=AnomalyKind.EARLY_WARNING,
        sentence=sentence,
        happened_at=row.happened_at,
        basis=BASIS,
        signature=proof.signature,
        layer=proof.layer,
        role=Role.ROOT if proof.of_hardware else Role.CANDIDATE,
        fingerprint=fingerprint_of_row(row, proof),
        nodes=(row.node,),
        evidence=(Evidence(stream_of(row), row.pk, sentence, row.happened_at, row.node),),
        confidence=proof.confidence,
    )

"""What of a node's stored health events bears on an attempt, as symptoms of its verdict? One query."""

import hashlib
from collections.abc import Collection
from datetime import datetime

from django.db.models import Q

from detectors.attribution.facts import QUOTE_LIMIT, Quote, Symptom
from detectors.attribution.told import AFTER, BEFORE, EVENTS, METRICS
from detectors.catalogue.health import BASIS, Proof, proof_of
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.metric_signals import SOURCE
from detectors.health_events import sentence_of
from detectors.models import HealthEvent
from workloads.models import Attempt

MOST = 100  # events of one attempt; the fatal ones first


def health_of(attempt: Attempt, nodes: Collection[str]) -> tuple[Symptom, ...]:
    """What was told of `nodes`, those of the attempt that the scheduler knows, about when it failed.

    From 10 minutes before the last progress, else before the end or the start, to 5 minutes after the end.
    """
    anchor = attempt.last_step_at or attempt.ended_at or attempt.started_at
    if anchor is None or not nodes:
        return ()
    since = Q(happened_at__gte=anchor - BEFORE)
    if attempt.ended_at is None and attempt.started_at is not None:  # what still holds may slow it down
        since |= Q(source=SOURCE, cleared_at=None, happened_at__gte=attempt.started_at - BEFORE)
    rows = HealthEvent.objects.filter(since, cluster_id=attempt.job.cluster_id, node__in=nodes, healthy=False)
    if attempt.ended_at is not None:
        rows = rows.filter(happened_at__lte=attempt.ended_at + AFTER)
    failed_at = attempt.last_step_at or attempt.ended_at
    return tuple(_symptom(row, failed_at) for row in rows.order_by("-fatal", "happened_at", "pk")[:MOST])


def proof_of_row(row: HealthEvent) -> Proof:
    """What a stored event proves."""
    return proof_of(
        check=row.check_name,
        component=row.component,
        fatal=row.fatal,
        codes=[str(code) for code in row.codes],
        advised=row.advised,
        source=row.source,
    )


def fingerprint_of_row(row: HealthEvent, proof: Proof) -> str:
    """The same check with the same meaning, on whatever node."""
    return hashlib.sha256(f"{proof.signature}|{row.check_name}".encode()).hexdigest()


def stream_of(row: HealthEvent) -> str:
    """Where a quote of it stands."""
    return f"{METRICS}{row.check_name}" if row.source == SOURCE else f"{EVENTS}{row.agent or row.source}"


def _symptom(row: HealthEvent, failed_at: datetime | None) -> Symptom:
    """`refuted`: its node was healthy again before the failure."""
    proof, sentence = proof_of_row(row), sentence_of(row)
    return Symptom(
        key=f"health:{row.uuid}",
        kind=AnomalyKind.CRASH,
        signature=proof.signature,
        layer=proof.layer,
        role=proof.role,
        sentence=sentence,
        happened_at=row.happened_at,
        action=proof.action,
        basis=BASIS,
        fingerprint=fingerprint_of_row(row, proof),
        nodes=(row.node,),
        evidence=(Quote(stream_of(row), row.pk, sentence[:QUOTE_LIMIT], row.happened_at, row.node),),
        confidence=proof.confidence,
        refuted=row.cleared_at is not None and failed_at is not None and row.cleared_at < failed_at,
    )

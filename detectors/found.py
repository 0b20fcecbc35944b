"""How are the anomalies of a turn stored? Once per attempt and key, with one event; later only counts grow."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.masking import masked
from audit.trail import Actor, Entry
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.masking import masked_in_place
from detectors.catalogue.records import Evidence, Finding
from detectors.catalogue.role import Role
from detectors.models import Anomaly
from detectors.turned import Turned
from workloads.models import Attempt
from workloads.subjects import subject_of

KEPT = 500  # anomalies of one attempt; the detectors keep fewer
SENTENCE_LIMIT = 1000  # characters; the column's width
GROWING = ("sentence", "nodes", "ranks", "evidence", "count", "happened_at", "basis", "confidence", "step")
LARGEST_COUNT = 2**31 - 1


def store_findings(turned: Turned, now: datetime) -> list[Entry]:
    """Store what was found and refuted, inside the caller's transaction; the events that speak of it."""
    attempt = turned.attempt
    room = KEPT - len(turned.past.keys)
    new = turned.new_findings[: max(room, 0)]
    again = [finding for finding in turned.outcome.findings if finding.key in turned.past.keys]
    if new:
        Anomaly.objects.bulk_create([_row(attempt, finding, turned.found_at) for finding in new], 100)
    if again:
        _grow(attempt, again)
    if turned.refuted:
        Anomaly.objects.filter(attempt=attempt, key__in=turned.refuted, refuted_at=None).update(refuted_at=now)
    if new or turned.refuted:
        Attempt.objects.filter(pk=attempt.pk).update(changed_at=now)
    return [*(_event(turned, finding) for finding in new), *_endings(attempt, turned.refuted)]


def store_told(attempt: Attempt, finding: Finding, now: datetime) -> list[Entry]:
    """Store what others than lines tell of an attempt, once, in the caller's transaction; the event, if it is new.

    One that was taken back stands again.
    """
    values = _values(finding)
    row, new = Anomaly.objects.get_or_create(
        attempt=attempt, key=finding.key, defaults={**values, "detected_at": now}
    )
    again = row.refuted_at is not None
    if not new and (again or any(getattr(row, name) != values[name] for name in GROWING)):
        Anomaly.objects.filter(pk=row.pk).update(**{name: values[name] for name in GROWING}, refuted_at=None)
    if not new and not again:
        return []
    Attempt.objects.filter(pk=attempt.pk).update(changed_at=now)
    return [_told(attempt, finding, now, "")]


def take_back(row: Anomaly, sentence: str, now: datetime) -> list[Entry]:
    """An anomaly is over, in the caller's transaction; nothing when somebody was first."""
    if not Anomaly.objects.filter(pk=row.pk, refuted_at=None).update(refuted_at=now):
        return []
    Attempt.objects.filter(pk=row.attempt_id).update(changed_at=now)
    return [_ending(row.attempt, row.key, sentence)]


def _grow(attempt: Attempt, again: Sequence[Finding]) -> None:
    """The same anomaly with more lines; nothing is written when it says the same."""
    stored = {row.key: row for row in Anomaly.objects.filter(attempt=attempt, key__in=[f.key for f in again])}
    grown = []
    for finding in again:
        row = stored.get(finding.key)
        if row is None:
            continue
        values = _values(finding)
        if any(getattr(row, name) != values[name] for name in GROWING):
            for name in GROWING:
                setattr(row, name, values[name])
            grown.append(row)
    if grown:
        Anomaly.objects.bulk_update(grown, list(GROWING), 100)


def _row(attempt: Attempt, finding: Finding, found_at: datetime) -> Anomaly:
    return Anomaly(attempt=attempt, key=finding.key[:128], detected_at=found_at, **_values(finding))


def _values(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind.value,
        "signature": finding.signature,
        "layer": finding.layer.value,
        "role": finding.role.value,
        "sentence": masked(finding.sentence)[:SENTENCE_LIMIT],
        "fingerprint": finding.fingerprint,
        "step": finding.step,
        "nodes": list(finding.nodes),
        "ranks": list(finding.ranks),
        "evidence": [_evidence(line) for line in finding.evidence],
        "confidence": finding.confidence,
        "count": min(finding.count, LARGEST_COUNT),
        "happened_at": finding.happened_at,
        "basis": finding.basis,
    }


def finding_of(row: Anomaly) -> Finding:
    """The finding that a row was stored from."""
    return Finding(
        key=row.key,
        kind=AnomalyKind(row.kind),
        sentence=row.sentence,
        happened_at=row.happened_at,
        basis=row.basis,
        signature=row.signature,
        layer=Layer(row.layer),
        role=Role(row.role),
        fingerprint=row.fingerprint,
        step=row.step,
        nodes=tuple(row.nodes),
        ranks=tuple(row.ranks),
        evidence=tuple(
            Evidence(**{**line, "at": datetime.fromisoformat(line["at"]) if line["at"] else None})
            for line in row.evidence
        ),
        confidence=row.confidence,
        count=row.count,
    )


def _evidence(line: Evidence) -> dict[str, Any]:
    return {**asdict(line), "line": masked_in_place(line.line), "at": line.at.isoformat() if line.at else None}


def _event(turned: Turned, finding: Finding) -> Entry:
    return _told(turned.attempt, finding, turned.found_at, turned.catalogue)


def _told(attempt: Attempt, finding: Finding, now: datetime, catalogue: str) -> Entry:
    return Entry(
        type=EventType.ANOMALY,
        subject=subject_of(attempt, finding.nodes[0] if len(finding.nodes) == 1 else ""),
        actor=Actor(ActorKind.DETECTOR, finding.kind.value),
        sentence=masked(finding.sentence),
        level=_level(finding),
        pattern=finding.signature,
        payload={
            "key": finding.key,
            **_values(finding),
            "evidence": [_evidence(line) for line in finding.evidence[:3]],
            "happened_at": finding.happened_at.isoformat(),
            "latency_seconds": round((now - finding.happened_at).total_seconds(), 3),
            "catalogue": catalogue,
        },
    )


def _endings(attempt: Attempt, keys: Sequence[str]) -> list[Entry]:
    return [_ending(attempt, key, f"Attempt {attempt.label} moved again: {key} is over.") for key in keys]


def _ending(attempt: Attempt, key: str, sentence: str) -> Entry:
    return Entry(
        type=EventType.ANOMALY,
        subject=subject_of(attempt),
        actor=Actor(ActorKind.DETECTOR, "refuted"),
        sentence=sentence,
        payload={"key": key, "refuted": True},
    )


def _level(finding: Finding) -> Level:
    if finding.role is Role.ROOT and finding.kind is AnomalyKind.CRASH:
        return Level.ERROR
    if finding.kind in (AnomalyKind.HANG, AnomalyKind.IDLE) or finding.role in (Role.ROOT, Role.CANDIDATE):
        return Level.WARNING
    return Level.INFO

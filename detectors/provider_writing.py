"""What of a stored verdict leaves the site? Bounded, masked, and nothing that is not listed here.

Never sent: the user, the job's name and folders, other jobs, whole logs, and the history of nodes.
"""

from collections.abc import Iterable, Mapping
from posixpath import basename
from typing import Any

from audit.masking import masked
from detectors.provider_models import ProviderQuestion
from detectors.providers.provider import Asked, Cause, Evidence, Suspected
from workloads.stored_text import storable

MOST_NODES = 1024
MOST_SUSPECTS = 64
MOST_EVIDENCE = 20
MOST_CAUSES = 5
LONGEST_LINE = 500  # characters, as a verdict quotes


def asked_of(question: ProviderQuestion) -> Asked:
    """The question as it is sent. Reads provider, verdict, attempt, job and cluster of its row."""
    verdict, attempt = question.verdict, question.attempt
    body = verdict.body if isinstance(verdict.body, Mapping) else {}
    state = body.get("workload") if isinstance(body.get("workload"), Mapping) else {}
    return Asked(
        workload_id=str(attempt.heimdall_id),
        verdict_id=str(verdict.uuid),
        fingerprint=verdict.fingerprint,
        cluster=attempt.job.cluster.name,
        job=str(attempt.job.number),
        attempt=attempt.index,
        phase=question.phase,
        kind=verdict.kind,
        signal=verdict.signature,
        sentence=_line(verdict.sentence),
        state=str((state or {}).get("state") or attempt.state),
        exit_code=attempt.exit_code,
        exit_signal=attempt.exit_signal,
        happened_at=verdict.happened_at,
        started_at=attempt.started_at,
        ended_at=attempt.ended_at,
        nodes=tuple(str(node) for node in attempt.nodes[:MOST_NODES]),
        suspects=tuple(_suspects(verdict.implicated)),
        causes=tuple(_causes(body.get("hypotheses"))),
        evidence=tuple(_evidence(body.get("evidence"))),
        confidence=verdict.confidence,
        seconds=float(question.provider.timeout_seconds) if question.provider else 0.0,
    )


def _line(value: Any) -> str:
    # Masked before it is cut: half a secret would not be known for one.
    return masked(storable(str(value or ""), 4 * LONGEST_LINE))[:LONGEST_LINE]


def _rows(stored: Any, most: int) -> Iterable[Mapping[str, Any]]:
    items = stored if isinstance(stored, list) else []
    return [item for item in items[:most] if isinstance(item, Mapping)]


def _suspects(stored: Any) -> Iterable[Suspected]:
    for row in _rows(stored, MOST_SUSPECTS):
        yield Suspected(
            str(row.get("host")), str(row.get("role")), row.get("rank"), float(row.get("confidence") or 0.0)
        )


def _causes(stored: Any) -> Iterable[Cause]:
    for row in _rows(stored, MOST_CAUSES):
        yield Cause(str(row.get("layer")), str(row.get("signature_id") or ""), float(row.get("odds") or 0.0))


def _evidence(stored: Any) -> Iterable[Evidence]:
    for row in _rows(stored, MOST_EVIDENCE):
        yield Evidence(
            source=str(row.get("source") or ""),
            file=masked(basename(storable(str(row.get("file") or ""), 4096)))[:255],
            line=_line(row.get("quote")),
            at=row.get("event_time"),
            host=row.get("host"),
            rank=row.get("rank"),
            signature=str(row.get("signature_id") or ""),
        )

"""Which fields has the verdict of a diagnosis? Those of attribution section 8.1; what is not known is null."""

import uuid
from typing import Any

from advisor_api.diagnosing.recommending import Recommendation
from detectors.attribution.schema import Beside, shaped
from detectors.diagnosing.accounting import Told
from detectors.diagnosing.judging import Diagnosis
from detectors.diagnosing.reading import Answer
from schedulers.states import JobState

POLICY = "default"
_NAMESPACE = uuid.UUID("3f7f2b52-6d0c-5d3e-9a55-3d9a0d3f1c11")


def verdict_of(diagnosis: Diagnosis, answer: Answer, told: Told, advised: Recommendation) -> dict[str, Any]:
    """The verdict as JSON values."""
    body = diagnosis.judgement.body
    detection = body["detection"]
    witnesses = [one for one in detection["witnesses"] if one != "scheduler" or told.state is not None]
    rule = advised.rule or advised.basis
    return shaped(
        {**body, "detection": {**detection, "witnesses": witnesses}},
        Beside(
            verdict_id=str(uuid.uuid5(_NAMESPACE, body["input_hash"])),
            phase="fast",
            mode="observe",
            policy_version=POLICY,
            recommendation=advised.fields(),
            workload={
                "cluster": told.cluster or None,
                "job_id": told.job or None,
                "submit_time": told.submitted_at.isoformat() if told.submitted_at else None,
                "user": told.user or None,
            },
            log_lag_seconds=_lag(answer, told),
            lines=answer.found.numbers,
            rules=({"id": f"policy.{rule}", "fired": True, "because": advised.because},),
            missing=missing_evidence(diagnosis, answer, told),
            nothing=diagnosis.nothing,
        ),
    )


def _lag(answer: Answer, told: Told) -> float | None:
    """From the newest stamp of the logs to the newest moment that the scheduler knows; unknown without either."""
    last = answer.found.last_line_at
    if last is None or told.until is None:
        return None
    return round(max(0.0, (told.until - last).total_seconds()), 3)


def missing_evidence(diagnosis: Diagnosis, answer: Answer, told: Told) -> list[str]:
    """What would have told more and was not there."""
    ended = "the end is taken from the text" if diagnosis.assumed else "it is taken to run"
    rows = (
        (told.state is None, f"no scheduler state (--scheduler): {ended}"),
        (told.state is JobState.UNKNOWN, f"the scheduler's word {told.word[:40]!r} is not understood"),
        (not answer.dated, "no time stamps: nothing tells the order across files, and silence proves nothing"),
        (
            answer.found.passed_over > 0,
            "counts are lower bounds: what a speaker repeats was passed over",
        ),
        (not told.nodes, "no list of nodes: only hosts that the text itself speaks of are known"),
    )
    own = [sentence for missing, sentence in rows if missing]
    kept = [] if diagnosis.nothing else diagnosis.judgement.body["missing_evidence"]
    return [*own, *kept, *(f"not read: {trouble}" for trouble in answer.troubles)]

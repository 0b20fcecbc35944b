"""Which fields has the verdict of a diagnosis? Those of attribution section 8.1; what is not known is null."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from advisor_api.diagnosing.recommending import Recommendation
from detectors.attribution.ending import NEVER
from detectors.attribution.evidence_status import EvidenceStatus
from detectors.catalogue.layer import Layer
from detectors.diagnosing.accounting import Told
from detectors.diagnosing.judging import Diagnosis
from detectors.diagnosing.reading import Answer
from schedulers.states import JobState

NOTHING = "none"
POLICY = "default"
CLOCK_DOUBT_SECONDS = 5
_CAUSE = ("signature_id", "text", "fingerprint", "evidence_status", "confidence", "calibration")
_NAMESPACE = uuid.UUID("3f7f2b52-6d0c-5d3e-9a55-3d9a0d3f1c11")
_NOT_YET = {
    "hardware": "kernel log and health checks of the host show nothing",
    "network": "the port counters at both ends show nothing",
    "system": "kernel log and driver of the host show nothing",
    "storage": "the file system answers on all hosts",
    "scheduler": "the accounting shows another end",
    "framework": "an earlier line of another rank shows a cause",
    "application": "the same program runs through on other nodes",
    "data": "the same input is read without an error",
    "unknown": "any line, kernel log or accounting shows a cause",
}


def verdict_of(diagnosis: Diagnosis, answer: Answer, told: Told, advised: Recommendation) -> dict[str, Any]:
    """The verdict as JSON values."""
    body = diagnosis.judgement.body
    rivals = [] if diagnosis.nothing else body["hypotheses"]
    return {
        "schema_version": body["schema_version"],
        "verdict_id": str(uuid.uuid5(_NAMESPACE, body["input_hash"])),
        "supersedes": None,
        "phase": body["phase"],
        "mode": "observe",
        "policy_version": POLICY,
        "engine_version": body["engine_version"],
        "catalogue_version": body["catalogue_version"],
        "workload": _workload(diagnosis, told),
        **(_nothing() if diagnosis.nothing else _something(body, told)),
        "symptoms": [_symptom(one) for one in body["symptoms"]],
        "evidence": [_evidence(one, answer, rivals) for one in body["evidence"]],
        "hypotheses": _hypotheses(rivals),
        "rules": [*body["rules"], *_policy_rule(advised)],
        "vetoed": body.get("vetoed", []),
        "missing_evidence": missing_evidence(diagnosis, answer, told),
        "coverage": _coverage(diagnosis, body["coverage"]),
        "progress": {
            name: body["progress"][name] for name in ("last_step", "last_checkpoint", "max_step_before", "advance")
        },
        "history": {
            **{name: body["history"][name] for name in ("same_fingerprint", "no_advance", "attempts")},
            "nodes": {},
        },
        "recommendation": advised.fields(),
        "input_hash": body["input_hash"],
    }


def _something(body: Mapping[str, Any], told: Told) -> dict[str, Any]:
    """What was found."""
    detection, outcome, cause = body["detection"], body["outcome"], body["root_cause"]
    return {
        "detection": {
            "kind": detection["kind"],
            "signal": detection["signal"],
            "event_time": _time(detection["event_time"]),
            "seen_at": None,
            "latency_s": None,
            "witnesses": [one for one in detection["witnesses"] if one != "scheduler" or told.state is not None],
        },
        "outcome": {
            "layer": outcome["layer"],
            "domain": outcome["domain"],
            "compound": outcome.get("compound", []),
            "label": outcome["label"],
        },
        "root_cause": {name: cause[name] for name in _CAUSE},
        "affected_entity": {name: body["affected_entity"][name] for name in ("kind", "id")},
        "implicated": [_implicated(one, body) for one in body["implicated"]],
        "timeline": [{"t": _time(one["t"]), "what": one["what"]} for one in body["timeline"]],
    }


def _nothing() -> dict[str, Any]:
    """The same where nothing was found."""
    detection = dict.fromkeys(("signal", "event_time", "seen_at", "latency_s"))
    cause = {**dict.fromkeys(_CAUSE), "evidence_status": EvidenceStatus.UNKNOWN.value, "confidence": 0.0}
    return {
        "detection": {"kind": NOTHING, **detection, "witnesses": []},
        "outcome": {"layer": NOTHING, "domain": NOTHING, "compound": [], "label": "Nothing found"},
        "root_cause": cause,
        "affected_entity": {"kind": NOTHING, "id": None},
        "implicated": [],
        "timeline": [],
    }


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


def _workload(diagnosis: Diagnosis, told: Told) -> dict[str, Any]:
    attempt = diagnosis.facts.attempt
    return {
        "cluster": told.cluster or None,
        "job_id": told.job or None,
        "submit_time": told.submitted_at.isoformat() if told.submitted_at else None,
        "attempt": attempt.index,
        "cycle": 0,
        "user": told.user or None,
        "nodes": len(attempt.nodes),
        "gpus": None,
        "framework": None,
        "phase": attempt.phase,
    }


def _implicated(one: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    entity = body["affected_entity"]
    host, _, pci = (entity["id"] or "").partition("/")
    of_gpu = entity["kind"] == "gpu" and host == one["host"]
    return {
        "host": one["host"],
        "rank": one["rank"],
        "local_rank": None,
        "gpu": {"index": None, "uuid": None, "pci": pci if of_gpu and pci else None},
        "nic": None,
        "role": one["role"],
        "confidence": one["confidence"],
        "evidence": one["evidence"],
        "excludable": one["excludable"],
    }


def _symptom(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "signature_id": one["signature_id"],
        "role": one["role"],
        "count": one["count"],
        "first": _time(one["first"]),
        "last": _time(one.get("last")),
        "hosts": one["hosts"],
    }


def _evidence(one: Mapping[str, Any], answer: Answer, hypotheses: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    signature = one["signature_id"]
    return {
        "id": one["id"],
        "source": one["source"],
        "host": one["host"],
        "file": one["file"],
        "offset": one["offset"],
        "line": answer.found.numbers.get((one["file"], one["offset"])),
        "event_time": _time(one["event_time"]),
        "clock_doubt_s": CLOCK_DOUBT_SECONDS if _time(one["event_time"]) else None,
        "quote": one["quote"],
        "signature_id": signature,
        "supports": [each["id"] for each in hypotheses if signature and each["signature_id"] == signature],
        "refutes": one.get("refutes", []),
    }


def _hypotheses(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "id": one["id"],
            "layer": one["layer"],
            "odds": one["odds"],
            "would_change_if": one.get("would_change_if") or _NOT_YET[_domain(one["layer"])],
        }
        for one in rows
    ]


def _domain(layer: str) -> str:
    domain = Layer(layer).domain
    return domain if domain in _NOT_YET else "unknown"


def _policy_rule(advised: Recommendation) -> list[dict[str, Any]]:
    rule = advised.rule or advised.basis
    return [{"id": f"policy.{rule}", "fired": True, "because": advised.because}]


def _coverage(diagnosis: Diagnosis, coverage: Mapping[str, Any]) -> dict[str, Any]:
    ranks = [rank for rank, _host in diagnosis.facts.ranks]
    return {
        "ranks_expected": max(ranks) + 1 if ranks else None,
        "ranks_seen": coverage["ranks_seen"],
        "hosts_seen": coverage["hosts_seen"],
        "log_lag_s": None,
        "gaps": coverage["gaps"],
    }


def _time(text: str | None) -> str | None:
    """No time where no fact has one."""
    return None if text is None or text == NEVER.isoformat() else text

"""Which fields has a verdict, exactly? Those of attribution section 8.1, for whoever reads it outside.

The stored body holds more (its inputs, keys of symptoms); what is no function of the facts comes from beside it.
Null or empty is what nobody can know from what is stored:

- `diagnose` reads afterwards and keeps nothing: `supersedes`, `detection.seen_at` and `latency_s`,
  `progress.max_step_before` and `history.nodes` are a site's alone. Without `--scheduler` nobody knows the end, and
  `coverage.log_lag_s` is null.
- A site knows offsets, not lines: `evidence[].line` is counted where the stored copy of the file begins at its
  first byte, and null behind the 256 KiB that are kept of an end (`detectors.quoted_lines`). `log_lag_s` is null
  once what is known of the reading was forgotten.
- `outcome.compound` is empty where one cause explains everything, `evidence[].refutes` where no order is certain.
- `implicated[].gpu.uuid` is told where the line or health event that proves the cause holds it, as few do.
- `recommendation.guards` is empty until something was decided; an advice made by another version tells no caps.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from detectors.attribution.ending import NEVER
from detectors.attribution.evidence_status import EvidenceStatus

NOTHING = "none"
CLOCK_DOUBT_SECONDS = 5
CAUSE = ("signature_id", "text", "fingerprint", "evidence_status", "confidence", "calibration")
WORKLOAD = (
    "cluster",
    "job_id",
    "submit_time",
    "attempt",
    "cycle",
    "user",
    "nodes",
    "gpus",
    "framework",
    "phase",
)
IMPLICATED = (
    "host",
    "rank",
    "local_rank",
    "gpu",
    "nic",
    "role",
    "confidence",
    "evidence",
    "excludable",
)
COVERAGE = ("ranks_expected", "ranks_seen", "hosts_seen", "log_lag_s", "gaps")
PROGRESS = ("last_step", "last_checkpoint", "max_step_before", "advance")
HISTORY = ("same_fingerprint", "no_advance", "attempts", "nodes")
Body = Mapping[str, Any]


@dataclass(frozen=True)
class Beside:
    """What is told beside the body.

    `lines`: line numbers by file and byte offset, where they are known. `log_lag_seconds`: from the last line that
    was read to the end of the attempt, or to the moment at which one that runs is judged.
    """

    verdict_id: str
    phase: str
    mode: str
    policy_version: str | None
    recommendation: Mapping[str, Any]
    supersedes: str | None = None
    workload: Mapping[str, Any] = field(default_factory=dict)
    seen_at: str | None = None
    latency_seconds: float | None = None
    log_lag_seconds: float | None = None
    lines: Mapping[tuple[str, int], int] = field(default_factory=dict)
    rules: Sequence[Mapping[str, Any]] = ()
    missing: Sequence[str] | None = None
    nothing: bool = False  # nothing was found


def shaped(body: Body, beside: Beside) -> dict[str, Any]:
    """The verdict as JSON values. What an older body does not hold is null or empty."""
    return {
        "schema_version": body.get("schema_version"),
        "verdict_id": beside.verdict_id,
        "supersedes": beside.supersedes,
        "phase": beside.phase,
        "mode": beside.mode,
        "policy_version": beside.policy_version,
        "engine_version": body.get("engine_version"),
        "catalogue_version": body.get("catalogue_version"),
        "workload": {**_picked(body.get("workload"), WORKLOAD), **beside.workload},
        **(_nothing() if beside.nothing else _something(body, beside)),
        "symptoms": [_symptom(one) for one in body.get("symptoms", ())],
        "evidence": [_evidence(one, beside) for one in body.get("evidence", ())],
        "hypotheses": [] if beside.nothing else [_hypothesis(one) for one in body.get("hypotheses", ())],
        "rules": [*body.get("rules", ()), *beside.rules],
        "vetoed": list(body.get("vetoed", ())),
        "missing_evidence": list(body.get("missing_evidence", ()) if beside.missing is None else beside.missing),
        "coverage": {**_picked(body.get("coverage"), COVERAGE), "log_lag_s": beside.log_lag_seconds},
        "progress": _picked(body.get("progress"), PROGRESS),
        "history": _picked(body.get("history"), HISTORY),
        "recommendation": dict(beside.recommendation),
        "input_hash": body.get("input_hash"),
    }


def _something(body: Body, beside: Beside) -> dict[str, Any]:
    detection, outcome = body.get("detection", {}), body.get("outcome", {})
    return {
        "detection": {
            "kind": detection.get("kind"),
            "signal": detection.get("signal"),
            "event_time": _time(detection.get("event_time")),
            "seen_at": beside.seen_at,
            "latency_s": beside.latency_seconds,
            "witnesses": list(detection.get("witnesses", ())),
        },
        "outcome": {
            "layer": outcome.get("layer"),
            "domain": outcome.get("domain"),
            "compound": list(outcome.get("compound") or ()),
            "label": outcome.get("label"),
        },
        "root_cause": _picked(body.get("root_cause"), CAUSE),
        "affected_entity": _picked(body.get("affected_entity"), ("kind", "id")),
        "implicated": [_implicated(one) for one in body.get("implicated", ())],
        "timeline": [{"t": _time(one.get("t")), "what": one.get("what")} for one in body.get("timeline", ())],
    }


def _nothing() -> dict[str, Any]:
    """The same where nothing was found."""
    detection = dict.fromkeys(("signal", "event_time", "seen_at", "latency_s"))
    cause = {**dict.fromkeys(CAUSE), "evidence_status": EvidenceStatus.UNKNOWN.value, "confidence": 0.0}
    return {
        "detection": {"kind": NOTHING, **detection, "witnesses": []},
        "outcome": {"layer": NOTHING, "domain": NOTHING, "compound": [], "label": "Nothing found"},
        "root_cause": cause,
        "affected_entity": {"kind": NOTHING, "id": None},
        "implicated": [],
        "timeline": [],
    }


def _implicated(one: Body) -> dict[str, Any]:
    return {**_picked(one, IMPLICATED), "gpu": _picked(one.get("gpu"), ("index", "uuid", "pci"))}


def _symptom(one: Body) -> dict[str, Any]:
    times = {name: _time(one.get(name)) for name in ("first", "last")}
    return {**_picked(one, ("signature_id", "role", "count")), **times, "hosts": one.get("hosts")}


def _evidence(one: Body, beside: Beside) -> dict[str, Any]:
    at = _time(one.get("event_time"))
    return {
        **_picked(one, ("id", "source", "host", "file", "offset")),
        "line": beside.lines.get((str(one.get("file")), int(one.get("offset") or 0))),
        "event_time": at,
        "clock_doubt_s": CLOCK_DOUBT_SECONDS if at else None,
        **_picked(one, ("quote", "signature_id")),
        "supports": [] if beside.nothing else list(one.get("supports", ())),
        "refutes": list(one.get("refutes", ())),
    }


def _hypothesis(one: Body) -> dict[str, Any]:
    return _picked(one, ("id", "layer", "odds", "would_change_if"))


def _picked(told: Any, names: Sequence[str]) -> dict[str, Any]:
    stored = told if isinstance(told, Mapping) else {}
    return {name: stored.get(name) for name in names}


def _time(text: Any) -> str | None:
    """No time where no fact has one."""
    return text if isinstance(text, str) and text != NEVER.isoformat() else None

"""How is a verdict written down? The schema of attribution section 8.1, version 1.0.

The row adds what is not a function of the facts: its uuid, what it supersedes, the mode and the policy.
"""

from datetime import UTC, datetime
from typing import Any

from detectors.attribution.calibration import measured_at
from detectors.attribution.candidates import Candidate
from detectors.attribution.compound import compound, cycle_of, refuted_by
from detectors.attribution.details import (
    framework_of,
    gpu_of,
    last_of,
    local_rank,
    nic_of,
    ranks_expected,
    would_change_if,
)
from detectors.attribution.facts import Facts, Quote
from detectors.attribution.history import advance, entity_of, same_before, step_before, without_advance
from detectors.attribution.hosts import hosts_seen, named_by
from detectors.attribution.judgement import Implicated, Judgement
from detectors.attribution.naming import Search
from detectors.attribution.quoting import Quotes
from detectors.attribution.recorded import missing_dumps
from detectors.attribution.remedies import Remedy
from detectors.attribution.unheard import unheard
from detectors.attribution.weighing import Weighed
from detectors.catalogue.health import BASIS

SCHEMA_VERSION = "1.0"
MOST_SYMPTOMS = 100
MOST_RIVALS = 4


def write_body(
    judgement: Judgement, weighed: Weighed, search: Search, remedy: Remedy, quotes: Quotes
) -> dict[str, Any]:
    """The whole verdict as JSON values; `judgement` is complete but for its body."""
    facts, cause = weighed.facts, weighed.cause
    kind, entity = entity_of(weighed.case, cause)
    return {
        "schema_version": SCHEMA_VERSION,
        "phase": "fast",
        "engine_version": facts.versions.engine,
        "catalogue_version": facts.versions.catalogue,
        "workload": _workload(facts),
        **_found(judgement, weighed),
        "root_cause": _root_cause(judgement, weighed),
        "affected_entity": {"kind": kind, "id": entity or None},
        "implicated": [_implicated(one, weighed) for one in judgement.implicated],
        "symptoms": [_symptom(c, facts) for c in weighed.case.candidates[:MOST_SYMPTOMS]],
        "evidence": [
            _supporting(line, row, weighed, search) for line, row in zip(quotes.lines, quotes.rows, strict=True)
        ],
        "hypotheses": _hypotheses(weighed, search),
        "vetoed": [{"look_alike": name, "count": count} for name, count in facts.witnesses.vetoed],
        "rules": [{"id": rule.id, "fired": rule.fired, "because": rule.because} for rule in judgement.rules],
        "missing_evidence": missing_evidence(weighed),
        "coverage": _coverage(facts),
        "timeline": _timeline(weighed),
        "progress": _progress(facts),
        "history": _history(facts, judgement.fingerprint),
        "recommendation": {
            "action": remedy.then.value,
            "exclude": list(weighed.excludable) if remedy.then.value == "restart_exclude" else [],
            "backoff_s": remedy.backoff_seconds,
            "basis": remedy.basis,
        },
        "input_hash": f"sha256:{judgement.input_hash}",
        "inputs": weighed.case.given.canonical(),
    }


def _found(judgement: Judgement, weighed: Weighed) -> dict[str, Any]:
    """What happened, and in which layer."""
    cause = weighed.cause
    return {
        "detection": {
            "kind": cause.kind.value,
            "signal": cause.signature or None,
            "event_time": _time(cause.happened_at),
            "witnesses": _witnesses(weighed),
        },
        "outcome": {
            "layer": cause.layer.value,
            "domain": cause.layer.domain,
            "compound": compound(weighed),
            "label": judgement.sentence,
            "shared": _shared(weighed),
        },
    }


def _root_cause(judgement: Judgement, weighed: Weighed) -> dict[str, Any]:
    candidate = weighed.cause.candidate
    return {
        "signature_id": weighed.cause.signature or None,
        "text": candidate.symptom.sentence if candidate else None,
        "fingerprint": judgement.fingerprint,
        "evidence_status": weighed.status.value,
        "confidence": weighed.confidence,
        "calibration": measured_at(weighed.confidence),
    }


def missing_evidence(weighed: Weighed) -> list[str]:
    """What would have decided and was not there (section 6.1, rule 4)."""
    facts, cause = weighed.facts, weighed.cause
    attempt = facts.attempt
    of_kernel = any(s.signature.startswith(("xid.", "kernel.")) for s in facts.symptoms)
    rows = (
        (bool(attempt.blind_reason), f"no log could be read: {attempt.blind_reason}"),
        (
            not facts.ranks and len(attempt.nodes) > 1,
            "no rank map: ranks in the log cannot be turned into hosts",
        ),
        (not facts.nodes and bool(attempt.nodes), "the states of the nodes are not known"),
        (cause.candidate is None, "no line says what the first cause was"),
        (cause.tier == 9 and not cause.named.hosts, "no line or dump says which rank did not join"),
        (cause.tier in (6, 7, 8) and not of_kernel, "no kernel log of the nodes"),
        (
            cause.rule == "cause.node_failure" and not cause.named.hosts,
            "no node of the attempt is down now",
        ),
    )
    told = (sentence for missing, sentence in rows if missing)
    return [*unheard(facts, cause.kind), *told, *missing_dumps(facts)]


def _workload(facts: Facts) -> dict[str, Any]:
    attempt = facts.attempt
    return {
        "cluster": attempt.cluster,
        "job_id": str(attempt.job_number),
        "job_epoch": attempt.job_epoch,
        "attempt": attempt.index,
        "cycle": cycle_of(facts),
        "user": attempt.user,
        "partition": attempt.partition,
        "nodes": len(attempt.nodes),
        "gpus": len(facts.ranks) or None,  # one process for each GPU is what every launcher here starts
        "framework": framework_of(facts),
        "phase": attempt.phase,
        "state": attempt.state.value,
        "reason": attempt.reason,
        "exit_code": attempt.exit_code,
        "exit_signal": attempt.exit_signal,
    }


def _witnesses(weighed: Weighed) -> list[str]:
    proof = weighed.cause.candidate.symptom if weighed.cause.candidate else None
    log = proof is not None and proof is not weighed.case.ending and proof.basis != BASIS
    told = [one for one in weighed.case.candidates if one.symptom.basis == BASIS and one.counts]
    return [
        *(["log"] if log else []),
        *(["health event"] if told or (proof is not None and proof.basis == BASIS) else []),
        *(["scheduler"] if weighed.facts.attempt.ended else []),
        *(["node state"] if any(node.down for node in weighed.facts.nodes) else []),
    ]


def _supporting(quote: Quote, row: dict[str, Any], weighed: Weighed, search: Search) -> dict[str, Any]:
    """The quote with the hypotheses that it speaks for and against."""
    rivals = _rivals(weighed, search)
    named = [weighed.cause.signature, *(rival.symptom.signature for rival in rivals)]
    own = row["signature_id"]
    supports = [f"h{number}" for number, name in enumerate(named, 1) if own and name == own]
    against = refuted_by(quote.at, own, weighed.cause, rivals)
    return {**row, "supports": supports, "refutes": [one for one in against if one not in supports]}


def _rivals(weighed: Weighed, search: Search) -> list[Candidate]:
    return [c for c in search.order if c is not weighed.cause.candidate][:MOST_RIVALS]


def _implicated(one: Implicated, weighed: Weighed) -> dict[str, Any]:
    return {
        "host": one.host,
        "rank": one.rank,
        "local_rank": local_rank(one, weighed.facts),
        "gpu": gpu_of(one, weighed),
        "nic": nic_of(one, weighed),
        "role": one.role,
        "confidence": one.confidence,
        "evidence": list(one.evidence),
        "excludable": one.excludable,
    }


def _symptom(candidate: Candidate, facts: Facts) -> dict[str, Any]:
    symptom = candidate.symptom
    return {
        "key": symptom.key,
        "signature_id": symptom.signature or None,
        "kind": symptom.kind.value,
        "layer": symptom.layer.value,
        "role": symptom.role.value if candidate.counts else "secondary",
        "tier": candidate.tier.number,
        "demoted_by": candidate.demoted_by or None,
        "count": symptom.count,
        "first": _time(symptom.happened_at),
        "last": _time(last_of(symptom)),
        "hosts": len(named_by(symptom, facts).hosts),
    }


def _hypotheses(weighed: Weighed, search: Search) -> list[dict[str, Any]]:
    """The cause and its rivals. What confidence leaves over is shared out by the rivals' own and the unknown."""
    rivals = _rivals(weighed, search)
    left = 1.0 - weighed.confidence
    whole = sum(rival.symptom.confidence for rival in rivals) + 0.3
    rows: list[dict[str, Any]] = [
        {
            "id": "h1",
            "layer": weighed.cause.layer.value,
            "signature_id": weighed.cause.signature or None,
            "odds": weighed.confidence,
            "would_change_if": would_change_if(weighed.cause.layer),
        }
    ]
    rows += [
        {
            "id": f"h{number}",
            "layer": rival.symptom.layer.value,
            "signature_id": rival.symptom.signature or None,
            "odds": round(left * rival.symptom.confidence / whole, 4),
            "would_change_if": would_change_if(rival.symptom.layer),
            "hosts": list(rival.named.hosts),
        }
        for number, rival in enumerate(rivals, 2)
    ]
    return rows


def _coverage(facts: Facts) -> dict[str, Any]:
    seen = hosts_seen(facts)
    return {
        "ranks_expected": ranks_expected(facts),
        "ranks_seen": len(facts.ranks),
        "hosts_expected": len(facts.attempt.nodes),
        "hosts_seen": len(seen),
        "gaps": [] if not seen else [node for node in facts.attempt.nodes if node not in seen][:16],
    }


def _timeline(weighed: Weighed) -> list[dict[str, Any]]:
    attempt = weighed.facts.attempt
    told = weighed.facts.witnesses
    waits = [one.begun or one.at for one in told.waits]
    waits += [one.begun for one in told.recorded if one.begun is not None]
    broken = [one.at for one in weighed.facts.witnesses.edges]
    moments = [
        (attempt.started_at, "started"),
        (_moment(waits), "first rank waits for the others"),
        (_moment(broken), "first connection broke"),
        (attempt.last_step_at, f"last step {attempt.last_step}"),
        (weighed.cause.happened_at, weighed.cause.sentence),
        (attempt.ended_at, f"ended: {attempt.state.label.lower()}"),
    ]
    known = [(moment, what) for moment, what in moments if moment is not None]
    return [{"t": _time(moment), "what": what} for moment, what in sorted(known, key=lambda pair: pair[0])]


def _moment(seconds: list[float]) -> datetime | None:
    return datetime.fromtimestamp(min(seconds), UTC) if seconds else None


def _progress(facts: Facts) -> dict[str, Any]:
    attempt = facts.attempt
    return {
        "first_step": attempt.first_step,
        "last_step": attempt.last_step,
        "last_checkpoint": attempt.last_checkpoint_step,
        "loaded_checkpoint": attempt.loaded_checkpoint_step,
        "max_step_before": step_before(facts),
        "advance": advance(facts),
    }


def _shared(weighed: Weighed) -> dict[str, Any] | None:
    """One cause for several hosts or jobs, which blames no node; `with` are the attempts of other jobs."""
    shared = weighed.shared
    if shared is None:
        return None
    labels = sorted({one.label for one in shared.by})
    return {"rule": shared.rule, "because": shared.because, "with": labels[:MOST_SYMPTOMS]}


def _history(facts: Facts, fingerprint: str) -> dict[str, Any]:
    return {
        "attempts": len(facts.earlier) + 1,
        "same_fingerprint": same_before(facts, fingerprint),
        "no_advance": without_advance(facts),
        "nodes": {
            one.node: {
                "incidents_30d": one.failures,
                "jobs": one.jobs,
                "attempts": one.attempts,
                "exposure_node_h": one.hours,
            }
            for one in facts.around.exposures
        },
    }


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None

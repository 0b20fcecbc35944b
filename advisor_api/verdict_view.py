"""How does a stored verdict look whole, with what stands beside it? The fields of attribution section 8.1."""

from typing import Any

from advisor_api.models import Advice
from advisor_api.policy.operation import Operation
from advisor_api.verdict_guards import guards_of
from detectors.attribution.action import VerdictAction
from detectors.attribution.schema import Beside, shaped
from detectors.models import Anomaly, Verdict
from detectors.quoted_lines import line_numbers, log_lag_seconds
from workloads.mode import Mode

_ACTIONS = {
    Operation.TERMINATE.value: VerdictAction.STOP,
    Operation.WAIT.value: VerdictAction.ASK,
    Operation.RELEASE.value: VerdictAction.RESTART,
}


def whole_verdict(verdict: Verdict) -> dict[str, Any]:
    """The verdict (with `supersedes`, attempt, job and cluster) as it is served: six more queries at most."""
    attempt, job = verdict.attempt, verdict.attempt.job
    advice = Advice.objects.filter(verdict=verdict).order_by("-generation").first()
    seen = Anomaly.objects.filter(attempt=attempt, kind=verdict.kind).order_by("detected_at").first()
    seen_at = seen.detected_at if seen is not None else verdict.judged_at
    mode = Mode(advice.mode_at_decision) if advice is not None else Mode(job.cluster.mode)
    body = verdict.body if isinstance(verdict.body, dict) else {}
    return shaped(
        body,
        Beside(
            verdict_id=str(verdict.uuid),
            phase=verdict.speed,
            mode="observe" if mode is Mode.MONITOR else mode.value,
            policy_version=str(advice.policy_id) if advice is not None and advice.policy_id else None,
            recommendation=_recommendation(verdict, body.get("recommendation", {}), advice, mode),
            supersedes=str(verdict.supersedes.uuid) if verdict.supersedes else None,
            workload={"submit_time": attempt.submitted_at.isoformat() if attempt.submitted_at else None},
            seen_at=seen_at.isoformat(),
            log_lag_seconds=log_lag_seconds(verdict),
            lines=line_numbers(verdict),
            latency_seconds=round(max(0.0, (seen_at - verdict.happened_at).total_seconds()), 3),
        ),
    )


def _recommendation(
    verdict: Verdict, suggested: dict[str, Any], advice: Advice | None, mode: Mode
) -> dict[str, Any]:
    """What the policy made of it; without advice what the verdict suggests."""
    action, excluded = suggested.get("action"), list(suggested.get("exclude", ()))
    backoff, why_not = suggested.get("backoff_s", 0), "no advice was given"
    if advice is not None:
        restart = VerdictAction.RESTART_EXCLUDE if advice.excluded_nodes else VerdictAction.RESTART
        action, excluded = _ACTIONS.get(advice.operation, restart).value, list(advice.excluded_nodes)
        backoff = round((advice.not_before - advice.created_at).total_seconds())
        why_not = "" if mode is Mode.ACTION else f"{'observe' if mode is Mode.MONITOR else mode.value} mode"
    return {
        "action": action,
        "exclude": excluded,
        "backoff_s": backoff,
        "basis": suggested.get("basis"),
        "budget": _budget(advice),
        "guards": guards_of(verdict, advice),
        "may_act": advice is not None and mode is Mode.ACTION,
        "why_not": why_not or None,
    }


def _budget(advice: Advice | None) -> dict[str, int | None]:
    """Restarts that are left for this cause, by the policy of the advice."""
    values = advice.judged_by.get("values", {}) if advice is not None else {}
    if advice is None or "max_restarts_per_cause" not in values:
        return {"left": None, "of": None}
    of = int(values["max_restarts_per_cause"])
    return {"left": max(0, of - int(advice.facts.get("restarts_for_cause", 0))), "of": of}

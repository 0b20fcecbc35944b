"""What if a later verdict says something else than the one that was acted on? It is written down, and acts no more.

A verdict that comes before the first command has its advice replaced (`advisor_api.deciding`). After it the attempt
is over as far as actions go: the difference is a correction. What it names counts in the next attempt's history.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from advisor_api.models import Advice, Milestone
from advisor_api.policy.values import Policy
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.models import AuditEvent
from audit.trail import Actor, Entry
from detectors.attribution.action import VerdictAction
from detectors.models import Verdict
from workloads.models import Attempt
from workloads.subjects import subject_of

CORRECTOR = Actor(ActorKind.RULE, "correction")
COMPARED = ("kind", "layer", "signature", "action", "culprits", "excluded")


def correction_of(verdict: Verdict, now: datetime) -> Entry | None:
    """The event that says how `verdict` differs from the one that was acted on, once for each verdict.

    `None` when nothing was acted on, when the same verdict was, and when both conclude the same.
    """
    advice = acted_on(verdict.attempt)
    if advice is None or advice.verdict is None or advice.verdict.pk >= verdict.pk:
        return None
    sure = sure_from(advice)
    before, after = concluded(advice.verdict, sure), concluded(verdict, sure)
    changed = {name: {"was": before[name], "is": after[name]} for name in COMPARED if before[name] != after[name]}
    key = f"correction:{verdict.uuid}"
    if not changed or AuditEvent.objects.filter(producer_key=key).exists():
        return None
    return Entry(
        type=EventType.CORRECTION,
        subject=subject_of(verdict.attempt),
        actor=CORRECTOR,
        sentence=_sentence(advice, verdict, changed),
        level=Level.WARNING,
        pattern=verdict.signature,
        action=verdict.action,
        verdict_id=verdict.uuid,
        advice_generation=advice.generation,
        payload={
            "acted_on": str(advice.verdict.uuid),
            "changed": changed,
            "seconds_after": round((now - advice.verdict.judged_at).total_seconds(), 3),
        },
        producer_key=key,
    )


def acted_on(attempt: Attempt) -> Advice | None:
    """The newest advice on an attempt for which a command was announced or done, with its verdict."""
    announced = AuditEvent.objects.filter(
        heimdall_job_id=attempt.heimdall_id, type=EventType.INTENT.value, advice_generation__isnull=False
    ).values_list("advice_generation", flat=True)
    done = Milestone.objects.filter(sequence__advice__attempt=attempt).values_list(
        "sequence__advice__generation", flat=True
    )
    generations = {int(one) for one in (*announced, *done) if one is not None}
    rows = Advice.objects.filter(attempt=attempt, generation__in=generations).select_related("verdict")
    return rows.order_by("-generation").first()


def sure_from(advice: Advice) -> float:
    """How sure a host must be named to be left out, by the policy that judged the advice."""
    values = advice.judged_by.get("values") if isinstance(advice.judged_by, Mapping) else None
    told = values.get("exclude_confidence") if isinstance(values, Mapping) else None
    known = isinstance(told, int | float) and not isinstance(told, bool)
    return float(told) if known and told is not None else Policy().exclude_confidence


def concluded(verdict: Verdict, sure: float) -> dict[str, Any]:
    """What of a verdict an action can be based on. Of another confidence alone no correction is made.

    `excluded`: the hosts that a restart would leave out: culprits that may be, named with `sure` or more.
    """
    blamed = [
        one
        for one in verdict.implicated
        if isinstance(one, Mapping) and one.get("host") and one.get("role") == "culprit"
    ]
    left_out = {str(one["host"]) for one in blamed if one.get("excludable") is True and _confidence(one) >= sure}
    return {
        "kind": verdict.kind,
        "layer": verdict.layer,
        "signature": verdict.signature,
        "action": verdict.action,
        "culprits": sorted({str(one["host"]) for one in blamed}),
        "excluded": sorted(left_out),
    }


def _confidence(one: Mapping[str, Any]) -> float:
    """Of an implicated host; 0 where the row is of another shape."""
    told = one.get("confidence")
    return float(told) if isinstance(told, int | float) and not isinstance(told, bool) else 0.0


def _sentence(advice: Advice, verdict: Verdict, changed: Mapping[str, Any]) -> str:
    """`What was acted on for 42-0 (advice 1) is corrected: …; it counts for the next attempt.`"""
    before, after = advice.verdict.sentence.rstrip(". ") if advice.verdict else "", verdict.sentence.rstrip(". ")
    parts = [f"{before} is now {after}"] if set(changed) - {"action", "excluded"} else []
    if "action" in changed:
        was, now_is = (VerdictAction(changed["action"][side]).label for side in ("was", "is"))
        parts.append(f"it suggested {was.lower()} and suggests {now_is.lower()} now")
    if "excluded" in changed:
        left, leaves = (", ".join(changed["excluded"][side]) or "no node" for side in ("was", "is"))
        parts.append(f"it would have left out {left} and would leave out {leaves} now")
    said = "; ".join(parts)
    return (
        f"What advice {advice.generation} on {verdict.attempt.label} was based on is corrected: {said}. "
        "Nothing is done about it now; it counts for the next attempt."
    )[:1000]

"""What if a later verdict says something else than the one that was acted on? It is written down, and acts no more.

A verdict that comes before the first command has its advice replaced (`advisor_api.deciding`). After it the attempt
is over as far as actions go: the difference is a correction. What it names counts in the next attempt's history.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from advisor_api.models import Advice, Milestone
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
COMPARED = ("kind", "layer", "signature", "action", "culprits")


def correction_of(verdict: Verdict, now: datetime) -> Entry | None:
    """The event that says how `verdict` differs from the one that was acted on, once for each verdict.

    `None` when nothing was acted on, when the same verdict was, and when both conclude the same.
    """
    advice = acted_on(verdict.attempt)
    if advice is None or advice.verdict is None or advice.verdict.pk >= verdict.pk:
        return None
    before, after = concluded(advice.verdict), concluded(verdict)
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


def concluded(verdict: Verdict) -> dict[str, Any]:
    """What of a verdict an action can be based on. Of another confidence alone no correction is made."""
    named = {
        str(one["host"])
        for one in verdict.implicated
        if isinstance(one, Mapping) and one.get("host") and one.get("role") == "culprit"
    }
    return {
        "kind": verdict.kind,
        "layer": verdict.layer,
        "signature": verdict.signature,
        "action": verdict.action,
        "culprits": sorted(named),
    }


def _sentence(advice: Advice, verdict: Verdict, changed: Mapping[str, Any]) -> str:
    """`What was acted on for 42-0 (advice 1) is corrected: …; it counts for the next attempt.`"""
    before = advice.verdict.sentence.rstrip(". ") if advice.verdict else ""
    parts = [f"{before} is now {verdict.sentence.rstrip('. ')}"] if set(changed) - {"action"} else []
    if "action" in changed:
        was, now_is = (VerdictAction(changed["action"][side]).label for side in ("was", "is"))
        parts.append(f"it suggested {was.lower()} and suggests {now_is.lower()} now")
    said = "; ".join(parts)
    return (
        f"What advice {advice.generation} on {verdict.attempt.label} was based on is corrected: {said}. "
        "Nothing is done about it now; it counts for the next attempt."
    )[:1000]

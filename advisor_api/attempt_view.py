"""What was concluded and decided on one attempt?"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from advisor_api.handing import Handed, handed
from advisor_api.models import Advice
from advisor_api.refusals import NotFound
from audit.event_type import EventType
from audit.models import AuditEvent
from detectors.models import Verdict
from workloads.models import Attempt


@dataclass(frozen=True)
class SeenDecision:
    """The newest decision on an attempt: an advice, or the reason why there is none."""

    rule: str
    because: str
    decided_at: datetime
    policy_version: int | None = None
    advice: Handed | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    trace: list[dict[str, Any]] = field(default_factory=list)


def newest_verdict(attempt: Attempt) -> Verdict:
    """The newest verdict; `NotFound` without any."""
    verdict = Verdict.objects.select_related("supersedes").filter(attempt=attempt).order_by("-id").first()
    if verdict is None:
        raise NotFound(f"There is no verdict on {attempt.label}.")
    verdict.attempt = attempt
    return verdict


def newest_decision(attempt: Attempt, now: datetime) -> SeenDecision:
    """The newest decision, be it to leave it alone; `NotFound` without any. Reads `attempt.job.cluster`."""
    related = ("attempt__job__cluster", "verdict", "sequence")
    advice = Advice.objects.select_related(*related).filter(attempt=attempt).order_by("-generation").first()
    left = AuditEvent.objects.filter(heimdall_job_id=attempt.heimdall_id, type=EventType.NO_ADVICE.value)
    event = left.order_by("-id").first()
    if advice is not None and (event is None or advice.created_at >= event.at):
        return SeenDecision(
            advice.rule,
            advice.because,
            advice.created_at,
            advice.policy_id,
            handed([advice], attempt.job.cluster, now)[0],
            advice.facts,
            advice.trace,
        )
    if event is None:
        raise NotFound(f"Nothing was decided on {attempt.label} yet.")
    said = event.payload
    return SeenDecision(said.get("rule", ""), said.get("because", ""), event.at, trace=said.get("trace", []))

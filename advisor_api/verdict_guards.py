"""Which guards stood between a verdict and an action, and what did each say? As the schema (8.1) words it."""

from collections.abc import Iterable, Mapping
from typing import Any

from advisor_api.models import Advice
from advisor_api.policy.caps import checks
from advisor_api.policy.guards import GUARDS
from advisor_api.policy.stored import Unreadable, read_facts, read_resolved
from audit.event_type import EventType
from audit.models import AuditEvent
from detectors.models import Verdict

OK, STOPPED = "ok", "stopped"
_NAMES = frozenset(rule.name for rule in GUARDS)


def guards_of(verdict: Verdict, advice: Advice | None) -> list[str]:
    """`name:ok` or `name:stopped`: first the caps on the nodes that would be left out, then the policy's guards.

    Without advice they are those of the newest decision to leave it alone; empty while nothing is decided.
    """
    if advice is None:
        return list(_said(_left_alone(verdict)))
    return [*_caps(advice), *_said(advice.trace)]


def _caps(advice: Advice) -> Iterable[str]:
    """Computed again from the facts that the advice was made from, so one of another version tells none."""
    values = advice.judged_by.get("values") if isinstance(advice.judged_by, Mapping) else None
    try:
        facts, policy = read_facts(advice.facts), read_resolved(values if isinstance(values, Mapping) else {})
    except Unreadable:
        return
    for name, within in checks(facts, policy):
        yield _word(name, not within)


def _left_alone(verdict: Verdict) -> Any:
    rows = AuditEvent.objects.filter(
        heimdall_job_id=verdict.attempt.heimdall_id, type=EventType.NO_ADVICE.value, verdict_id=verdict.uuid
    )
    payload = rows.order_by("-id").values_list("payload", flat=True).first()
    return payload.get("trace") if isinstance(payload, Mapping) else None


def _said(trace: Any) -> Iterable[str]:
    rows = [row for row in trace if isinstance(row, Mapping)] if isinstance(trace, list) else []
    for row in rows:
        if row.get("rule") in _NAMES:
            yield _word(str(row["rule"]), bool(row.get("applied")))


def _word(name: str, stopped: bool) -> str:
    return f"{name}:{STOPPED if stopped else OK}"

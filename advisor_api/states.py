"""How does an advice move from one state to the next?"""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from advisor_api.commanding import forget_command
from advisor_api.models import Advice
from advisor_api.policy.advice_state import MOVES, AdviceState
from advisor_api.policy.reconciliation_reason import ReconciliationReason
from advisor_api.refusals import Stale
from audit.event_type import EventType
from audit.in_sight import in_full_sight
from audit.level import Level
from audit.trail import Actor, Entry, record
from workloads.subjects import subject_of


@dataclass(frozen=True)
class Move:
    """One step along `MOVES`, with its reason and who takes it. `sentence` overrides the usual one."""

    to: AdviceState
    reason: ReconciliationReason
    actor: Actor
    sentence: str = ""


def move(advice: Advice, step: Move, now: datetime) -> Advice:
    """Compare-and-swap from the state that `advice` holds, with its event; returns the advice as it is now.

    Reads `advice.attempt.job.cluster`. Raises `Stale` when the table forbids the move or somebody was first.
    """
    before = AdviceState(advice.state)
    if step.to not in MOVES[before]:
        raise Stale(f"The advice stands at '{before.label}' and cannot become '{step.to.label}'.")
    with transaction.atomic(), in_full_sight():
        moved = Advice.objects.filter(pk=advice.pk, state=before.value).update(
            state=step.to.value, state_reason=step.reason.value, state_at=now
        )
        if not moved:
            raise Stale("Somebody was first: the advice has moved meanwhile.")
        if step.to is AdviceState.ABANDONED:
            forget_command(advice.attempt)
        record([_entry(advice, before, step)], now)
    advice.state, advice.state_reason, advice.state_at = step.to.value, step.reason.value, now
    return advice


def _entry(advice: Advice, before: AdviceState, step: Move) -> Entry:
    to = step.to
    usual = (
        f"Advice {advice.generation} on {advice.attempt.label}: {to.label.lower()}; {step.reason.label.lower()}."
    )
    return Entry(
        type=EventType.ADVICE_STATE,
        subject=subject_of(advice.attempt),
        actor=step.actor,
        sentence=step.sentence or usual,
        level=Level.WARNING if to is AdviceState.ABANDONED else Level.INFO,
        pattern=advice.rule,
        action=advice.operation,
        advice_generation=advice.generation,
        payload={"from": before.value, "to": to.value, "reason": step.reason.value},
    )

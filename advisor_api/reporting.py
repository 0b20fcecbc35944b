"""What did a controller see and do? Reconciliation states and completed scheduler actions."""

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q

from advisor_api.commanding import note_command
from advisor_api.models import Advice, Milestone, Sequence
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.operation import Operation
from advisor_api.policy.reconciliation_reason import ReconciliationReason
from advisor_api.policy.scheduler_action import SchedulerAction
from advisor_api.refusals import Bad, Stale
from advisor_api.states import Move, move
from audit.event_type import EventType
from audit.trail import Actor, Entry, record
from workloads.models import Cluster
from workloads.subjects import subject_of

AHEAD = timedelta(minutes=5)  # how far a controller's clock may be off
AT_ALL = timedelta(days=1)  # beyond that it is no time of a clock that was set wrong
ACTIONS = {
    Operation.RESTART: {
        SchedulerAction.SLURM_REQUEUE_HOLD,
        SchedulerAction.SLURM_UPDATE_CONSTRAINTS,
        SchedulerAction.SLURM_RELEASE,
    },
    Operation.TERMINATE: {SchedulerAction.SLURM_CANCEL},
    Operation.RELEASE: {SchedulerAction.SLURM_UPDATE_CONSTRAINTS, SchedulerAction.SLURM_RELEASE},
}


@dataclass(frozen=True)
class Done:
    """One completed scheduler action as a controller reports it. `key` is unique within its cluster."""

    key: str
    operation: Operation
    action: SchedulerAction
    done_at: datetime


def reconcile(
    advice: Advice,
    generation: int,
    state: AdviceState,
    reason: ReconciliationReason,
    *,
    actor: Actor,
    now: datetime,
) -> Advice:
    """Store what a controller saw of the newest generation. The same report again changes nothing.

    Reached without the approval that it waits for, it is abandoned as satisfied. Raises `Stale` for another
    generation, and for a final state that differs from the one reported before.
    """
    if generation != advice.generation:
        raise Stale(f"Generation {generation} was reported; the newest is {advice.generation}.")
    with transaction.atomic():
        # Locked, so that the same report twice at once is one move and two equal answers.
        advice.state = Advice.objects.select_for_update().values_list("state", flat=True).get(pk=advice.pk)
        if advice.state == state:
            return advice
        if state is AdviceState.PENDING:
            if advice.state == AdviceState.AWAITING_APPROVAL:
                return advice
            raise Stale(f"Generation {generation} is {advice.state} already.")
        if state is AdviceState.CONVERGED and advice.state == AdviceState.AWAITING_APPROVAL:
            return move(advice, _answered(advice, actor), now)
        return move(advice, Move(state, reason, actor), now)


def _answered(advice: Advice, actor: Actor) -> Move:
    """What waits for a yes came about without it: nobody has to answer any more."""
    sentence = f"Advice {advice.generation} on {advice.attempt.label} is closed: it came about without a yes."
    return Move(AdviceState.ABANDONED, ReconciliationReason.ALREADY_SATISFIED, actor, sentence)


def milestone(sequence: Sequence, done: Done, actor: Actor, now: datetime) -> tuple[Milestone, bool]:
    """Store a completed action once; the stored one, and whether it is new.

    Reads `sequence.advice.attempt.job.cluster`. Raises `Bad` for an action that does not belong to the operation
    or a time a day away, `Stale` when the key was used for another action.
    """
    _check(sequence, done, now)
    told_at, done = done.done_at, _within(done, sequence, now)
    key = scoped_key(sequence.advice.attempt.job.cluster, done.key)
    try:
        with transaction.atomic():
            row = Milestone.objects.filter(idempotency_key=key).first()
            if row is not None:
                return _first_answer(row, sequence, done), False
            return _store(sequence, done, key, told_at=told_at, actor=actor, now=now), True
    except IntegrityError:  # the same report arrived twice at once: the other one was first
        return _first_answer(Milestone.objects.get(idempotency_key=key), sequence, done), False


def scoped_key(cluster: Cluster, key: str) -> str:
    """A client's idempotency key within its cluster: no cluster can take another one's keys. 64 characters."""
    return hashlib.sha256(f"{cluster.name}\0{key}".encode()).hexdigest()


def _check(sequence: Sequence, done: Done, now: datetime) -> None:
    if sequence.advice.operation != done.operation:
        raise Bad(f"The sequence is of operation {sequence.advice.operation}, not {done.operation.value}.")
    if done.action not in ACTIONS.get(done.operation, set()):
        raise Bad(f"{done.action.value} is no action of the operation {done.operation.value}.")
    if done.done_at > now + AT_ALL:
        raise Bad("The time of the action lies in the future.")
    if done.done_at < min(sequence.advised_at, now) - AT_ALL:
        raise Bad("The time of the action lies before the advice.")


def _within(done: Done, sequence: Sequence, now: datetime) -> Done:
    """What was done was done, whatever the clocks say: a time that cannot be becomes the nearest one that can.

    A clock was set back or forward, here or there, since the advice was given or the action was done.
    """
    earliest = min(sequence.advised_at, now)
    if earliest - AHEAD <= done.done_at <= now + AHEAD:
        return done
    return replace(done, done_at=min(max(done.done_at, earliest), now))


def _first_answer(row: Milestone, sequence: Sequence, done: Done) -> Milestone:
    if (row.sequence_id, row.operation, row.action) != (sequence.pk, done.operation.value, done.action.value):
        raise Stale("The idempotency key was used for another action.")
    return row


def _store(
    sequence: Sequence, done: Done, key: str, *, told_at: datetime, actor: Actor, now: datetime
) -> Milestone:
    row = Milestone.objects.create(
        sequence=sequence,
        idempotency_key=key,
        operation=done.operation.value,
        action=done.action.value,
        done_at=done.done_at,
        received_at=now,
    )
    earlier = Sequence.objects.filter(pk=sequence.pk).filter(
        Q(commanded_at=None) | Q(commanded_at__lt=done.done_at)
    )
    earlier.update(commanded_at=done.done_at)
    advice = sequence.advice
    if done.action in {SchedulerAction.SLURM_REQUEUE_HOLD, SchedulerAction.SLURM_CANCEL}:
        note_command(advice.attempt, done.done_at, now)
    record(
        [
            Entry(
                type=EventType.ACTION,
                subject=subject_of(advice.attempt),
                actor=actor,
                sentence=f"{done.action.label}: {advice.attempt.label}.",
                pattern=advice.rule,
                action=done.action.value,
                advice_generation=advice.generation,
                scheduler_at=done.done_at,
                payload=_payload(sequence, done, told_at),
                trace_id=sequence.trace_id,
            )
        ],
        now,
    )
    return row


def _payload(sequence: Sequence, done: Done, told_at: datetime) -> dict[str, Any]:
    """With the time that was told, where it could not be: then no latency is known."""
    if told_at != done.done_at:
        return {"told_at": told_at.isoformat()}
    return {"seconds_since_advice": (done.done_at - sequence.advised_at).total_seconds()}

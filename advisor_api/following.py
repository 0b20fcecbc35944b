"""What becomes of the advice that was given? Outcomes of open recoveries, and advice that nobody carried out."""

import logging
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from advisor_api.acting import Acting, acting_on
from advisor_api.models import Advice, Sequence
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.operation import Operation
from advisor_api.policy.outcome import Ending, Later, Outcome, outcome_of
from advisor_api.policy.reconciliation_reason import ReconciliationReason
from advisor_api.refusals import Stale
from advisor_api.states import Move, move
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.trail import Actor, Entry, record
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.models import Verdict
from schedulers.states import FINAL, LIVE, NOT_A_FAILURE, WAITING, JobState
from workloads.mode import Mode
from workloads.models import Attempt
from workloads.opt_in import read_stored
from workloads.progress_models import ProgressPoint
from workloads.subjects import subject_of

log = logging.getLogger(__name__)

REPORT_WAIT = timedelta(minutes=10)  # for the report of a controller that has begun
MOST_GENERATIONS = 24  # of an advice that nobody carries out: six hours with the default life of 15 minutes
RECOVERED_FOR = timedelta(minutes=5)  # until a question about a hang closes itself
READING = timedelta(minutes=2)  # for the last lines of an attempt that has ended
CLOCK_SET_BACK = "the site's clock was set back since it was made"
CLOCKS_DIFFER = timedelta(minutes=1)
"""How far the clocks of the site's machines may be apart: what was made later than that was made before the site's
clock was set back, and must not hold longer for it."""
CHUNK = 500  # sequences looked at together: a fixed number of queries each
HELD = "held_by_scheduler"  # the rule that asks a person to let a job go
POLICY = Actor(ActorKind.RULE, "following")
OPEN = (AdviceState.PENDING.value, AdviceState.AWAITING_APPROVAL.value)
STATIONS = (
    ("restarted_at", EventType.ALLOCATION_RESTARTED, "runs again"),
    ("resumed_at", EventType.PROGRESS_RESUMED, "made a step beyond the last one before the failure"),
    ("completed_at", EventType.TRAINING_COMPLETED, "completed"),
)


def follow(now: datetime) -> int:
    """Close what is over, write down what has come about; returns how many open recoveries were looked at.

    About six queries per `CHUNK` open recoveries, and a transaction for each one in which something has changed.
    """
    _close_late_advice(now)
    seen = 0
    for sequences in _chunks():
        attempts = _attempts(sequences)
        seen += len(sequences)
        for sequence in sequences:
            _write(sequence, _outcome(sequence, attempts[sequence.advice.attempt.job_id], now), now)
    return seen


def _chunks() -> Iterator[list[Sequence]]:
    after = 0
    rows = Sequence.objects.filter(closed_at=None).select_related("advice__attempt__job__cluster")
    while chunk := list(rows.filter(pk__gt=after).order_by("pk").defer("advice__trace", "advice__facts")[:CHUNK]):
        yield chunk
        after = chunk[-1].pk


def _close_late_advice(now: datetime) -> None:
    """What nobody carried out in time, and questions that have answered themselves since they were asked."""
    rows = Advice.objects.select_related("attempt__job__cluster", "sequence", "verdict").order_by("pk")
    rows = rows.defer("trace", "facts", "verdict__body")
    over = Q(expires_at__lte=now) | Q(created_at__gt=now + CLOCKS_DIFFER)
    late = list(rows.filter(over, state__in=OPEN)[:CHUNK])
    acting = acting_on([advice.attempt.job for advice in late])
    for advice in late:
        if not _half_done(advice, now):
            said_only, ahead = _said_only(advice, acting), advice.created_at > now + CLOCKS_DIFFER
            why = CLOCK_SET_BACK if ahead else _why_late(advice)
            _abandon(advice, ReconciliationReason.ADVICE_EXPIRED, said_only or why, now)
            if not said_only:
                _decide_again(advice, now, asked=ahead)
    held = rows.filter(rule=HELD, state__in=OPEN).exclude(attempt__state=JobState.HELD.value)
    for advice in held[:CHUNK]:
        _abandon(advice, ReconciliationReason.ALREADY_SATISFIED, "the job is not held any more", now)
    asked = rows.filter(Q(operation=Operation.WAIT.value) | Q(state=AdviceState.AWAITING_APPROVAL.value))
    newer = Attempt.objects.filter(job=OuterRef("attempt__job"), index__gt=OuterRef("attempt__index"))
    ended = Q(attempt__state__in=[state.value for state in NOT_A_FAILURE])
    answered = asked.annotate(requeued=Exists(newer)).filter(Q(requeued=True) | ended | _moves_again(now))
    for advice in answered.filter(state__in=OPEN)[:CHUNK]:
        _abandon(advice, ReconciliationReason.ALREADY_SATISFIED, _answer(advice, requeued=advice.requeued), now)


def _moves_again(now: datetime) -> Q:
    """What was asked of a hang that made steps `RECOVERED_FOR` ago, and still does."""
    steps = ProgressPoint.objects.filter(attempt=OuterRef("attempt"), at__gt=OuterRef("created_at"))
    hanging = Q(verdict__kind=AnomalyKind.HANG.value, attempt__state__in=[state.value for state in LIVE])
    still = Q(attempt__last_step_at__gt=now - RECOVERED_FOR)
    return hanging & still & Q(Exists(steps.filter(at__lte=now - RECOVERED_FOR)))


def _answer(advice: Advice, *, requeued: bool) -> str:
    state = JobState(advice.attempt.state)
    if requeued:
        return "the job was requeued meanwhile"
    if state in NOT_A_FAILURE:
        return f"the job ended meanwhile ({state.label.lower()})"
    return f"the job has made steps again for {RECOVERED_FOR // timedelta(minutes=1)} min"


def _said_only(advice: Advice, acting: Acting) -> str:
    """Why nobody was to carry it out, where failures of its class are only advised on: that is said once."""
    if advice.operation == Operation.WAIT or advice.state == AdviceState.AWAITING_APPROVAL:
        return ""
    layer = Layer(advice.verdict.layer) if advice.verdict is not None else Layer.UNKNOWN
    return acting.why_not(advice.attempt.job, layer.domain)


def _decide_again(advice: Advice, now: datetime, *, asked: bool) -> None:
    """A controller that was away finds a fresh advice when it comes back: a hanging job hangs until somebody acts.

    Only where advice is carried out without a person (`asked`: what waits for one, too), and `MOST_GENERATIONS`
    times at most; the guards look first at whether there is still anything to do.
    """
    job, wish = advice.attempt.job, read_stored(advice.attempt.job.opt_in)
    wanted = not wish.wants_peace if job.cluster.opt_out else wish.wants_action
    acted_on = job.cluster.mode == Mode.ACTION == advice.mode_at_decision and advice.operation != Operation.WAIT
    acted_on = acted_on or (asked and job.cluster.mode != Mode.MONITOR)
    again = acted_on and wanted and job.live and advice.generation < MOST_GENERATIONS
    if again and advice.verdict_id is not None:
        Verdict.objects.filter(pk=advice.verdict_id, decide_due_at=None).update(decide_due_at=now)


def _half_done(advice: Advice, now: datetime) -> bool:
    """Whether a controller is at it: a job that we hold is carried through to its release (decisions 22)."""
    sequence = getattr(advice, "sequence", None)
    at_it = sequence is not None and sequence.commanded_at is not None
    return at_it and now < max(advice.hold_until, advice.expires_at) + REPORT_WAIT


def _why_late(advice: Advice) -> str:
    if advice.state == AdviceState.AWAITING_APPROVAL:
        return "nobody approved it in time"
    return "nobody answered" if advice.operation == Operation.WAIT else "nobody carried it out in time"


def _abandon(advice: Advice, reason: ReconciliationReason, why: str, now: datetime) -> None:
    sentence = f"Advice {advice.generation} on {advice.attempt.label} is closed: {why}."
    try:
        move(advice, Move(AdviceState.ABANDONED, reason, POLICY, sentence), now)
    except Stale:
        log.debug("advice %s has moved meanwhile", advice.pk)


def _attempts(sequences: list[Sequence]) -> dict[int, list[Attempt]]:
    """All attempts of the jobs concerned, by job, oldest first."""
    jobs = {sequence.advice.attempt.job_id for sequence in sequences}
    found = defaultdict(list)
    for attempt in Attempt.objects.filter(job__in=jobs).defer("nodes").order_by("job", "index"):
        found[attempt.job_id].append(attempt)
    return found


def _outcome(sequence: Sequence, attempts: list[Attempt], now: datetime) -> Outcome:
    advice, source = sequence.advice, sequence.advice.attempt
    if advice.operation == Operation.TERMINATE:
        ended = source.state in FINAL or not source.job.live
        return Outcome(ending=Ending.OVER if ended and advice.state not in OPEN else None)
    first = source.index if advice.operation == Operation.RELEASE else source.index + 1
    before = max(
        (each.last_step for each in attempts if each.index < first and each.last_step is not None), default=-1
    )
    later = [_as_later(sequence, each, before, now) for each in attempts if each.index >= first]
    found = outcome_of(later, listed=source.job.live)
    if not later and found.ending is None and advice.state == AdviceState.ABANDONED:
        found = Outcome(ending=Ending.FAILED, because=f"it was abandoned ({advice.state_reason.lower()})")
    tried = sequence.commanded_at is not None or found.restarted_at is not None
    # Advice that nobody acted on, as in monitor mode, cannot fail.
    return found if tried or found.ending is not Ending.FAILED else replace(found, ending=Ending.OVER, because="")


def _as_later(sequence: Sequence, attempt: Attempt, before: int, now: datetime) -> Later:
    beyond_at = None
    if attempt.last_step is not None and attempt.last_step > before:
        beyond_at = sequence.resumed_at or _first_beyond(attempt, before)
    return Later(
        index=attempt.index,
        state=JobState(attempt.state),
        started_at=None if attempt.state in WAITING else attempt.started_at,  # an estimate while it waits
        ended_at=attempt.ended_at,
        beyond_at=beyond_at,
        read=attempt.read_due_at is None or (attempt.ended_at or now) < now - READING,
    )


def _first_beyond(attempt: Attempt, before: int) -> datetime | None:
    points = ProgressPoint.objects.filter(attempt=attempt, step__gt=before)
    return points.order_by("at").values_list("at", flat=True).first() or attempt.last_step_at


def _write(sequence: Sequence, outcome: Outcome, now: datetime) -> None:
    """Store what is new, each moment once (compare-and-swap on its empty column), with its event."""
    reached = [(column, type_, what, getattr(outcome, column)) for column, type_, what in STATIONS]
    new = [each for each in reached if each[3] is not None and getattr(sequence, each[0]) is None]
    if not new and outcome.ending is None:
        return
    with transaction.atomic():
        for column, type_, what, moment in new:
            empty = Sequence.objects.filter(pk=sequence.pk, **{f"{column}__isnull": True})
            if empty.update(**{column: moment}):
                setattr(sequence, column, moment)
                record([_station(sequence, type_, what, moment)], now)
        if outcome.ending is None:
            return
        closed = Sequence.objects.filter(pk=sequence.pk, closed_at=None).update(closed_at=now)
        if closed and outcome.ending is Ending.FAILED:
            record([_failure(sequence, outcome, now)], now)


def _station(sequence: Sequence, type_: EventType, what: str, moment: datetime) -> Entry:
    advice = sequence.advice
    number = f"Job {advice.attempt.job.number}"
    return Entry(
        type=type_,
        subject=subject_of(advice.attempt),
        actor=POLICY,
        sentence=f"{number} {what}, {_since(sequence.happened_at, moment):.0f} s after the failure.",
        pattern=advice.rule,
        action=advice.operation,
        advice_generation=advice.generation,
        scheduler_at=moment,
        payload=latencies(sequence, moment),
        trace_id=sequence.trace_id,
    )


def _failure(sequence: Sequence, outcome: Outcome, now: datetime) -> Entry:
    advice = sequence.advice
    return Entry(
        type=EventType.RECOVERY_FAILED,
        subject=subject_of(advice.attempt),
        actor=POLICY,
        sentence=f"The recovery of {advice.attempt.label} failed: {outcome.because}.",
        level=Level.ERROR,
        pattern=advice.rule,
        action=advice.operation,
        advice_generation=advice.generation,
        payload=latencies(sequence, now),
        trace_id=sequence.trace_id,
    )


def latencies(sequence: Sequence, moment: datetime) -> dict[str, Any]:
    """Seconds from each earlier station of the recovery to `moment`; `None` where there was no command."""
    return {
        "seconds_since_failure": _since(sequence.happened_at, moment),
        "seconds_since_detection": _since(sequence.detected_at, moment),
        "seconds_since_advice": _since(sequence.advised_at, moment),
        "seconds_since_command": None if sequence.commanded_at is None else _since(sequence.commanded_at, moment),
    }


def _since(start: datetime, moment: datetime) -> float:
    return round((moment - start).total_seconds(), 3)

"""May an advice that waits for a person go ahead? What a person's yes, no and "no longer" do."""

from dataclasses import replace
from datetime import datetime

from django.db import transaction

from advisor_api.acting import acting_on
from advisor_api.array_facts import look_again
from advisor_api.excluding import exclude_named
from advisor_api.gates import closed_for_approval
from advisor_api.gathering import active_exclusions, look_at_partition
from advisor_api.models import Advice, PolicyVersion
from advisor_api.pausing import active_pauses
from advisor_api.policies import policy_for
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.caps import cap_on
from advisor_api.policy.decision import sentence as said
from advisor_api.policy.facts import Facts
from advisor_api.policy.operation import Operation
from advisor_api.policy.reconciliation_reason import ReconciliationReason
from advisor_api.policy.stops import OF_MANY
from advisor_api.policy.stored import Unreadable, read_facts
from advisor_api.policy.values import Policy
from advisor_api.recent_restarts import recent_restarts
from advisor_api.refusals import Bad, NotFound, Stale
from advisor_api.states import Move, move
from audit.trail import Actor
from detectors.catalogue.kind import AnomalyKind
from detectors.models import Verdict
from schedulers.states import LIVE, NOT_A_FAILURE, JobState
from workloads.models import Attempt
from workloads.stored_text import storable

REASON_LIMIT = 500


def newest_advice(attempt: Attempt) -> Advice:
    """The newest generation of an attempt's advice, with what states and gates read; `NotFound` without any."""
    advice = (
        Advice.objects.select_related("attempt__job__cluster", "verdict", "sequence")
        .filter(attempt=attempt)
        .order_by("-generation")
        .first()
    )
    if advice is None:
        raise NotFound(f"There is no advice on {attempt.label}.")
    return advice


def approve(advice: Advice, generation_seen: int, reason: str, actor: Actor, now: datetime) -> Advice:
    """Let it be carried out. Raises `Bad` for an empty reason; `Stale` when it is another generation, has moved,
    came too late, when the attempt has recovered meanwhile (trap 27), when a gate is closed (a yes that does
    nothing now would do it later, when nobody looks), or when so much was excluded or restarted since that a cap
    forbids it: then it is decided anew.
    """
    _check(advice, generation_seen, reason)
    if advice.expires_at <= now:
        raise Stale(f"The approval came too late: it was open until {advice.expires_at:%Y-%m-%d %H:%M:%S} UTC.")
    if recovered := recovered_sentence(advice):
        raise Stale(recovered)
    if advice.state == AdviceState.AWAITING_APPROVAL and (closed := _closed_gate(advice, now)):
        raise Stale(f"A yes would do nothing: {closed}.")
    sentence = f"{actor.name} approved advice {advice.generation} on {advice.attempt.label}: {reason}"
    step = Move(AdviceState.PENDING, ReconciliationReason.UNSPECIFIED, actor, sentence)
    try:
        with transaction.atomic():
            if advice.state == AdviceState.AWAITING_APPROVAL:
                _keep_within_caps(advice, now)
            move(advice, step, now)
            if advice.operation == Operation.RESTART:
                exclude_named(advice, _named(advice), now)
    except _Capped as capped:
        if advice.verdict is not None:
            Verdict.objects.filter(pk=advice.verdict.pk, decide_due_at=None).update(decide_due_at=now)
        raise Stale(str(capped)) from None
    return advice


class _Capped(Exception):
    """The sentence that says which cap was reached since the advice was given."""


def _closed_gate(advice: Advice, now: datetime) -> str:
    job = advice.attempt.job
    pauses = active_pauses(job.cluster, now)
    return closed_for_approval(advice, job.cluster, job, pauses, acting_on([job]), now)


def _keep_within_caps(advice: Advice, now: datetime) -> None:
    """Each of many questions was within the caps when it was asked, for nothing is done before the answer.

    Approvals and decisions on one cluster come one after the other, as decisions do. Raises `_Capped`.
    """
    if advice.operation != Operation.RESTART:
        return
    job = advice.attempt.job
    policy = policy_for(job, now)
    PolicyVersion.objects.select_for_update().get(pk=policy.base.pk)
    restarted = recent_restarts(job, policy.policy, now)
    try:
        stored = read_facts(advice.facts)
    except Unreadable as error:
        raise _Capped(f"What it was judged by cannot be read, so it is decided anew: {error}") from None
    facts = replace(stored, partition_restarts=restarted.in_partition, user_restarts=restarted.of_user)
    for rule in OF_MANY:
        if rule.applies(facts, policy.policy):
            because = said(rule, facts, policy.policy)
            raise _Capped(f"Other jobs were restarted since this was asked, so it is decided anew: {because}.")
    if named := tuple(_named(advice)):
        _keep_exclusions_capped(advice, named, facts, policy.policy, now)


def _keep_exclusions_capped(
    advice: Advice, named: tuple[str, ...], facts: Facts, policy: Policy, now: datetime
) -> None:
    job = advice.attempt.job
    own = Verdict.objects.filter(attempt=advice.attempt).values("uuid")
    partition = look_at_partition(job, active_exclusions(job.cluster, now).exclude(verdict_id__in=own), now)
    seen = replace(
        facts,
        partition_size=partition.size,
        partition_available=partition.available,
        excluded=partition.excluded,
    )
    if cap := cap_on(named, seen, policy):
        raise _Capped(f"Other nodes were excluded since this was asked, so it is decided anew: {cap}.")


def reject(advice: Advice, generation_seen: int, reason: str, actor: Actor, now: datetime) -> Advice:
    """Never carry it out. Works while it waits for approval and while it is open. Raises `Bad` or `Stale`."""
    _check(advice, generation_seen, reason)
    sentence = f"{actor.name} rejected advice {advice.generation} on {advice.attempt.label}: {reason}"
    with transaction.atomic():
        moved = move(advice, Move(AdviceState.ABANDONED, ReconciliationReason.REJECTED, actor, sentence), now)
        look_again(moved, now)
    return moved


def expire(advice: Advice, generation_seen: int, reason: str, actor: Actor, now: datetime) -> Advice:
    """Close it before its time, without saying no to the next one. Raises `Bad` or `Stale`."""
    _check(advice, generation_seen, reason)
    sentence = f"{actor.name} closed advice {advice.generation} on {advice.attempt.label}: {reason}"
    return move(advice, Move(AdviceState.ABANDONED, ReconciliationReason.ADVICE_EXPIRED, actor, sentence), now)


def recovered_sentence(advice: Advice) -> str:
    """Why there is nothing left to do on the attempt, or `""`. One query; reads `attempt.job` and `verdict`."""
    attempt = advice.attempt
    if Attempt.objects.filter(job=attempt.job, index__gt=attempt.index).exists():
        return f"{attempt.label} was requeued meanwhile: there is nothing left to do."
    state = JobState(attempt.state)
    if state in NOT_A_FAILURE:
        return f"{attempt.label} ended meanwhile ({state.label.lower()}): there is nothing left to do."
    moved_on = attempt.last_step_at is not None and attempt.last_step_at > advice.created_at
    hung = advice.verdict is not None and advice.verdict.kind == AnomalyKind.HANG.value
    if state in LIVE and moved_on and hung:  # a loss that is no number, or a slow job, moves all the time
        return f"{attempt.label} makes steps again: there is nothing left to do."
    return ""


def _check(advice: Advice, generation_seen: int, reason: str) -> None:
    if not reason.strip():
        raise Bad("Say why: the reason stands in the trail.")
    if len(reason) > REASON_LIMIT or storable(reason, REASON_LIMIT) != reason:
        raise Bad(f"The reason must be plain text of at most {REASON_LIMIT} characters.")
    if generation_seen != advice.generation:
        raise Stale(f"You saw advice {generation_seen}; the newest one is {advice.generation}.")


def _named(advice: Advice) -> list[str]:
    named = advice.facts.get("named", [])
    return [row["host"] for row in named if row["host"] in advice.excluded_nodes]

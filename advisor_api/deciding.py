"""How does a verdict become an advice? Facts, rules, and everything that follows from them in one transaction."""

import logging
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, cast

from django.db import OperationalError, transaction
from django.db.models import F

from advisor_api.correcting import correction_of
from advisor_api.excluding import exclude_named, withdraw
from advisor_api.gathering import gather
from advisor_api.models import Advice, LeftAlone, PolicyVersion, Sequence
from advisor_api.policies import InForce, policy_for
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.decision import Decision, Watched, as_json
from advisor_api.policy.decision import decide as by_rules
from advisor_api.policy.facts import Facts
from advisor_api.policy.operation import Operation
from advisor_api.policy.reconciliation_reason import ReconciliationReason
from advisor_api.policy.rules import RULES
from advisor_api.policy.values import Policy
from advisor_api.states import Move, move
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.models import AuditEvent
from audit.trail import Actor, Entry, record
from detectors.models import Anomaly, Verdict
from workloads.mode import Mode
from workloads.models import Attempt
from workloads.subjects import subject_of
from workloads.taking_turns import LOOKED_AT, in_turns

log = logging.getLogger(__name__)

DUE_LIMIT = 100  # verdicts per sweep; the next sweep is a second away
RETRY_SECONDS = 30  # a verdict that could not be decided is looked at again
NAMING = frozenset(rule.name for rule in RULES if rule.names_nodes)
TOO_LATE = frozenset({"already_requeued", "command_given"})
"""Rules that leave an attempt alone because an action was begun."""
OPEN = frozenset({AdviceState.PENDING.value, AdviceState.AWAITING_APPROVAL.value})


@dataclass(frozen=True)
class _Judged:
    """A decision, and what it was made from."""

    version: PolicyVersion
    judged_by: dict[str, Any]
    facts: Facts
    decision: Decision


def decide_all_due(now: datetime) -> int:
    """Decide what is due, each user's oldest first; returns how many.

    One that fails is logged and does not stop the others.
    """
    due = Verdict.objects.filter(decide_due_at__lte=now).order_by("decide_due_at", "id")
    rows = due.annotate(cluster=F("attempt__job__cluster"), user=F("attempt__job__user"))
    waiting = rows.only("uuid", "decide_due_at")[:LOOKED_AT]
    verdicts = in_turns(waiting, attrgetter("cluster", "user"), DUE_LIMIT)
    for verdict in verdicts:
        try:
            decide(verdict, now)
        except OperationalError as error:  # a deadlock or a busy database: it is still due
            log.warning("verdict %s could not be decided just now: %s", verdict.uuid, error)
        except Exception:  # one bad row must not stop every recovery of the site
            log.exception("verdict %s could not be decided; again in %s s", verdict.uuid, RETRY_SECONDS)
            _claim(verdict, now + timedelta(seconds=RETRY_SECONDS))
    return len(verdicts)


def decide(verdict: Verdict, now: datetime) -> Advice | None:
    """Decide on the attempt of `verdict` in one transaction; the new advice, or `None` when there is none.

    Takes the verdict by compare-and-swap on `decide_due_at`: two workers never decide twice. Decisions on one
    cluster come one after the other (the row of its own policy, or else of all clusters', is locked), so that caps
    and the storm limit hold whatever partitions and users have policies of their own.
    """
    with transaction.atomic():
        if not _claim(verdict, None):
            return None
        attempt = Attempt.objects.select_related("job__cluster").get(verdicts=verdict.pk)
        policy = policy_for(attempt.job, now)
        PolicyVersion.objects.select_for_update().get(pk=policy.base.pk)
        # Before the facts are read: a controller that begins with it now is either seen in them or refused.
        older = Advice.objects.select_for_update().filter(attempt=attempt).order_by("-generation").first()
        # Read anew: since the sweep began the attempt may have been cancelled or requeued.
        verdict = Verdict.objects.select_related("attempt__job__cluster").defer("body").get(pk=verdict.pk)
        judged = _judge(verdict, policy, now)
        decision = judged.decision
        if decision.operation is None:
            _left_alone(verdict, judged, now)
            _correct(verdict, decision, now)
            return None
        if older is not None and _says_the_same(older, decision):
            same = f"Advice {older.generation} says the same already ({decision.because})."
            record([_no_advice(verdict, decision, same)], now)
            _keep(verdict, judged, now)
            return None
        return _advise(verdict, judged, older, now)


def _claim(verdict: Verdict, due_at: datetime | None) -> bool:
    mine = Verdict.objects.filter(pk=verdict.pk, decide_due_at=verdict.decide_due_at, decide_due_at__isnull=False)
    return bool(mine.update(decide_due_at=due_at))


def _judge(verdict: Verdict, policy: InForce, now: datetime) -> _Judged:
    """Gather and decide. What is counted by a policy value is told by the value's name (`counted_by`)."""
    read: dict[str, Any] = {}
    facts = gather(verdict, cast(Policy, Watched(policy.policy, "", read)), now)
    judged_by = policy.stored() | {"counted_by": sorted(name.removeprefix(".") for name in read)}
    return _Judged(policy.version, judged_by, facts, by_rules(facts, policy.policy, now))


def _left_alone(verdict: Verdict, judged: _Judged, now: datetime) -> None:
    """Nothing is to be done; a guard that only postpones is written down once and looked at again."""
    decision = judged.decision
    if decision.again_at is None:
        record([_no_advice(verdict, decision)], now)
        _keep(verdict, judged, now)
        return
    Verdict.objects.filter(pk=verdict.pk).update(decide_due_at=decision.again_at)
    key = f"postponed:{verdict.uuid}:{decision.rule}"
    if not AuditEvent.objects.filter(producer_key=key).exists():
        record([_no_advice(verdict, decision, key=key)], now)
        _keep(verdict, judged, now, key)


def _keep(verdict: Verdict, judged: _Judged, now: datetime, key: str | None = None) -> None:
    """So that a decision without advice can be made again, too (`advisor_api.replaying`)."""
    decision = judged.decision
    LeftAlone.objects.create(
        key=key,
        attempt=verdict.attempt,
        policy=judged.version,
        judged_by=judged.judged_by,
        operation=decision.operation or "",
        excluded_nodes=list(decision.excluded_nodes),
        rule=decision.rule,
        because=decision.because[:1000],
        facts=as_json(judged.facts),
        decided_at=now,
    )


def _correct(verdict: Verdict, decision: Decision, now: datetime) -> None:
    """Whether it came too late for what it says, because something was done already."""
    correction = correction_of(verdict, now) if decision.rule in TOO_LATE else None
    if correction is not None:
        record([correction], now)


def _says_the_same(older: Advice, decision: Decision) -> bool:
    """Whether a newer verdict leads where the open advice leads, or where a person has said no."""
    equal = older.operation == decision.operation and older.excluded_nodes == list(decision.excluded_nodes)
    rejected = older.state_reason == ReconciliationReason.REJECTED.value
    return equal and (older.state in OPEN or rejected)


def _advise(verdict: Verdict, judged: _Judged, older: Advice | None, now: datetime) -> Advice:
    attempt, decision = verdict.attempt, judged.decision
    generation = older.generation + 1 if older else 1
    actor = Actor(ActorKind.RULE, decision.rule)
    if older is not None and older.state in OPEN:
        older.attempt = attempt
        sentence = f"Advice {older.generation} on {attempt.label} is replaced by advice {generation}."
        move(older, Move(AdviceState.ABANDONED, ReconciliationReason.SUPERSEDED, actor, sentence), now)
        withdraw(older, actor, now)
    advice = Advice.objects.create(
        **_columns(decision, now, Mode(attempt.job.cluster.mode)),
        attempt=attempt,
        generation=generation,
        verdict=verdict,
        policy=judged.version,
        judged_by=judged.judged_by,
        facts=as_json(judged.facts),
    )
    if advice.operation != Operation.WAIT:
        _open_sequence(advice, verdict, now)
    record([_advice_entry(advice, verdict)], now)
    if advice.mode_at_decision == Mode.ACTION and decision.new_exclusions:
        exclude_named(advice, decision.new_exclusions, now)
    return advice


def _columns(decision: Decision, now: datetime, mode: Mode) -> dict[str, Any]:
    asks = mode is Mode.APPROVE and decision.operation is not Operation.WAIT
    state = AdviceState.AWAITING_APPROVAL if asks else AdviceState.PENDING
    return {
        "operation": decision.operation,
        "excluded_nodes": list(decision.excluded_nodes),
        "rule": decision.rule,
        "because": decision.because[:1000],
        "trace": decision.stored_trace(),
        "mode_at_decision": mode,
        "not_before": decision.not_before,
        "hold_until": decision.hold_until,
        "expires_at": decision.expires_at,
        "created_at": now,
        "state": state.value,
        "state_at": now,
    }


def _open_sequence(advice: Advice, verdict: Verdict, now: datetime) -> None:
    symptoms = Anomaly.objects.filter(attempt=verdict.attempt, kind=verdict.kind)
    first = symptoms.order_by("detected_at").values_list("detected_at", flat=True).first()
    advice.sequence = Sequence.objects.create(
        advice=advice,
        trace_id=uuid.uuid4().hex,
        happened_at=verdict.happened_at,
        detected_at=first or verdict.judged_at,
        advised_at=now,
    )


def _advice_entry(advice: Advice, verdict: Verdict) -> Entry:
    sequence = advice.sequence if advice.operation != Operation.WAIT else None
    return Entry(
        type=EventType.ADVICE,
        subject=subject_of(verdict.attempt),
        actor=Actor(ActorKind.RULE, advice.rule),
        sentence=headline(advice),
        level=Level.WARNING if advice.operation == Operation.WAIT else Level.INFO,
        pattern=verdict.signature,
        action=advice.operation,
        verdict_id=verdict.uuid,
        advice_generation=advice.generation,
        payload={
            "excluded_nodes": advice.excluded_nodes,
            "rule": advice.rule,
            "policy": advice.policy_id,
            "mode": advice.mode_at_decision,
            "state": advice.state,
            "not_before": advice.not_before.isoformat(),
            "expires_at": advice.expires_at.isoformat(),
            "seconds_since_detection": _seconds(advice.created_at - sequence.detected_at) if sequence else None,
            "sequence": str(sequence.uuid) if sequence else None,
        },
        trace_id=sequence.trace_id if sequence else "",
    )


def headline(advice: Advice) -> str:
    """`Restart 12345-0 without n03: …`: what is advised and why, for people. Reads `advice.attempt.job`."""
    of = " about" if advice.operation == Operation.WAIT else ""
    verb = Operation(advice.operation).label
    return f"{verb}{of} {advice.attempt.label}{left_out(advice)}: {advice.because}."[:1000]


def left_out(advice: Advice) -> str:
    """` without n03`, or `, still without n03` when an earlier failure is the reason; empty without any node."""
    names = ", ".join(str(node) for node in advice.excluded_nodes)
    if not names:
        return ""
    return f" without {names}" if advice.rule in NAMING else f", still without {names}"


def _no_advice(verdict: Verdict, decision: Decision, sentence: str = "", key: str | None = None) -> Entry:
    return Entry(
        type=EventType.NO_ADVICE,
        subject=subject_of(verdict.attempt),
        actor=Actor(ActorKind.RULE, decision.rule),
        sentence=sentence or f"{verdict.attempt.label} is left alone: {decision.because}.",
        level=Level.INFO,
        pattern=verdict.signature,
        verdict_id=verdict.uuid,
        payload={"rule": decision.rule, "because": decision.because, "trace": decision.stored_trace()},
        producer_key=key,
    )


def _seconds(span: timedelta) -> float:
    return round(max(0.0, span.total_seconds()), 3)

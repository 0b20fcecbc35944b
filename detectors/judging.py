"""Why did an attempt fail? Collects the stored facts, lets the search judge them and stores the verdict."""

import json
import logging
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.db import transaction

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.trail import Actor, Entry, record
from detectors.attribution.action import VerdictAction
from detectors.attribution.attributing import ENGINE, attribute
from detectors.attribution.facts import (
    AttemptFacts,
    EarlierAttempt,
    Facts,
    NodeFacts,
    Symptom,
    Versions,
)
from detectors.attribution.judgement import Judgement
from detectors.attribution.naming import is_warning
from detectors.attribution.symptoms import symptom_of
from detectors.attribution.witnesses import read_witnesses
from detectors.catalogue.catalogue import Catalogue
from detectors.catalogue.kind import JUDGED_ALIVE, AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.dump_files import Spending
from detectors.dump_noting import AGAIN, note_dumps
from detectors.dump_noting import TOPICS as DUMPS
from detectors.elsewhere import surroundings_of
from detectors.found import finding_of
from detectors.health_facts import health_of
from detectors.holds import KEY as HOLD
from detectors.holds import note_hold
from detectors.incident_counts import count_stored
from detectors.incidents import join, leave, look_again
from detectors.models import Anomaly, Observation, Verdict
from detectors.own_part import own_part
from detectors.provider_asking import answers_about, ask_about
from detectors.second_look import next_look
from detectors.site_catalogues import site_catalogues
from detectors.stays import leave_unharmed, settle
from detectors.storing import RANK_HOSTS, READING, TOPICS
from detectors.turned import NO_VERDICT
from schedulers.states import FINAL, WAITING, JobState
from workloads.models import Attempt, Node
from workloads.subjects import subject_of

log = logging.getLogger(__name__)
JUDGE = Actor(ActorKind.RULE, "attribution")
SYMPTOMS_KEPT = 500
EARLIER_KEPT = 20  # attempts of the same job before this one


def judge(attempt: Attempt, now: datetime, spending: Spending | None = None) -> Verdict | None:
    """Judge an attempt (with job and cluster) that is due, and store the verdict; `None` when there is none.

    None is stored for an attempt that ended well or is healthy, when the same facts were judged before, and when
    somebody else was first. `spending`: what the judgements of one sweep may spend on reading dumps.
    """
    note_hold(attempt, now)
    look_at = note_dumps(attempt, now, spending or Spending())
    latest = Verdict.objects.filter(attempt=attempt).order_by("-pk").first()
    facts = collect_facts(attempt)
    judgement = attribute(facts, now) if _to_be_judged(attempt, facts, latest) else None
    with transaction.atomic():
        due = Attempt.objects.filter(pk=attempt.pk, judge_due_at=attempt.judge_due_at, state=attempt.state)
        first = latest is None and judgement is not None
        if not due.update(judge_due_at=_next_at(next_look(attempt, first, now, _first_at(latest)), look_at, now)):
            log.info("dropped a verdict on attempt %s: it changed meanwhile", attempt.label)
            return None
        if judgement is None or _said_before(attempt, judgement, latest):
            if facts.attempt.ended:
                leave_unharmed([attempt], now)
            return None
        verdict = _store(attempt, judgement, latest, now)
        ask_about(attempt, verdict, facts, now)
        return verdict


def _next_at(wanted: datetime | None, look_at: datetime | None, now: datetime) -> datetime | None:
    """When to judge again: for late dumps earlier than else, and beyond it while there is more to be read."""
    if look_at is None:
        return wanted
    if wanted is None:
        return look_at if look_at - now < AGAIN else None
    return min(wanted, look_at)


def _first_at(latest: Verdict | None) -> datetime | None:
    """When the attempt was judged first."""
    if latest is None or latest.supersedes_id is None:
        return latest.judged_at if latest else None
    rows = Verdict.objects.filter(attempt_id=latest.attempt_id).order_by("pk")
    return rows.values_list("judged_at", flat=True).first()


def _said_before(attempt: Attempt, judgement: Judgement, latest: Verdict | None) -> bool:
    """Whether these facts were judged already, or all that is new happened elsewhere and changes nothing."""
    if Verdict.objects.filter(attempt=attempt, input_hash=judgement.input_hash).exists():
        return True
    return latest is not None and own_part(latest.body) == own_part(json.loads(json.dumps(judgement.body)))


def _store(attempt: Attempt, judgement: Judgement, latest: Verdict | None, now: datetime) -> Verdict:
    """The verdict, its incident, what it tells of the nodes, and the events: all or nothing."""
    Attempt.objects.filter(pk=attempt.pk).update(changed_at=now)
    incident, joined = join(attempt, judgement, latest, now)
    verdict = Verdict.objects.create(**_row(attempt, judgement, latest, now), incident=incident)
    count_stored(verdict, latest)
    left = leave(latest, now) if latest is not None and latest.incident_id != verdict.incident_id else []
    if attempt.ended_at is not None or judgement.kind is AnomalyKind.HANG:
        settle(attempt, died_on=judgement.died_on, blamed=judgement.blamed, now=now)
    look_again(attempt, judgement, now)
    record([_event(attempt, verdict, judgement, now), *joined, *left], now)
    return verdict


def collect_facts(attempt: Attempt) -> Facts:
    """Everything stored that bears on the attempt, in a fixed number of queries whatever its size."""
    job = attempt.job
    known = site_catalogues().of(job.cluster_id)
    observed = dict(
        Observation.objects.filter(attempt=attempt, topic__in=TOPICS + DUMPS).values_list("topic", "value")
    )
    nodes = list(Node.objects.filter(cluster_id=job.cluster_id, name__in=attempt.nodes))
    symptoms, told = tuple(_symptom(row, known) for row in _anomalies(attempt)), [_node(node) for node in nodes]
    return Facts(
        attempt=_attempt_facts(attempt, observed.get(READING, {}).get("to_end")),
        versions=Versions(ENGINE, known.version),
        symptoms=symptoms,
        ranks=tuple((int(rank), host) for rank, host in observed.get(RANK_HOSTS, {}).items()),
        nodes=tuple(told),
        earlier=tuple(_earlier(attempt)),
        witnesses=read_witnesses(observed),
        health=health_of(attempt, [node.name for node in nodes]),
        around=surroundings_of(attempt, symptoms, told),
        answers=answers_about(attempt),
    )


def _node(node: Node) -> NodeFacts:
    states = tuple(node.state.split("+"))
    return NodeFacts(node.name, states, node.reason, node.reason_at, node.reason_by, node.booted_at)


def _to_be_judged(attempt: Attempt, facts: Facts, latest: Verdict | None) -> bool:
    state = JobState(attempt.state)
    if state in NO_VERDICT:
        return False
    if state is JobState.REQUEUED and latest is not None:
        return False  # the requeue answers that verdict: nothing else is to be done
    if state in FINAL:
        return True
    if state in WAITING:
        return any(symptom.key == HOLD and not symptom.refuted for symptom in facts.symptoms)
    alive = [symptom for symptom in facts.symptoms if symptom.kind in JUDGED_ALIVE or is_warning(symptom)]
    return any(not symptom.refuted for symptom in alive) or (bool(alive) and latest is not None)


def _anomalies(attempt: Attempt) -> Iterable[Anomaly]:
    """Those that bear on it; that the scheduler held it once explains nothing that came after."""
    known = Anomaly.objects.filter(attempt=attempt).exclude(kind=AnomalyKind.BLIND.value)
    known = known.exclude(key=HOLD, refuted_at__isnull=False)
    return known.order_by("happened_at", "pk")[:SYMPTOMS_KEPT]


def _symptom(row: Anomaly, known: Catalogue) -> Symptom:
    return symptom_of(finding_of(row), known, refuted=row.refuted_at is not None)


def _attempt_facts(attempt: Attempt, read_to_end: bool | None) -> AttemptFacts:
    job = attempt.job
    return AttemptFacts(
        cluster=job.cluster.name,
        job_number=job.number,
        job_epoch=job.epoch,
        index=attempt.index,
        user=job.user,
        partition=job.partition,
        state=JobState(attempt.state),
        scheduler_word=attempt.scheduler_word,
        reason=attempt.reason,
        nodes=tuple(attempt.nodes),
        exit_code=attempt.exit_code,
        exit_signal=attempt.exit_signal,
        started_at=attempt.started_at,
        ended_at=attempt.ended_at,
        phase=attempt.phase,
        first_step=attempt.first_step,
        last_step=attempt.last_step,
        last_step_at=attempt.last_step_at,
        last_checkpoint_step=attempt.last_checkpoint_step,
        loaded_checkpoint_step=attempt.loaded_checkpoint_step,
        blind_reason=attempt.blind_reason,
        read_to_end=read_to_end if JobState(attempt.state) in FINAL else None,
        command_at=attempt.command_at,
    )


def _earlier(attempt: Attempt) -> Iterable[EarlierAttempt]:
    before = Attempt.objects.filter(job_id=attempt.job_id, index__lt=attempt.index).order_by("-index")[
        :EARLIER_KEPT
    ]
    attempts = list(before)
    verdicts = {v.attempt_id: v for v in Verdict.objects.filter(attempt__in=attempts).order_by("pk")}
    for one in attempts:
        verdict = verdicts.get(one.pk)
        yield EarlierAttempt(
            index=one.index,
            state=JobState(one.state),
            last_step=one.last_step,
            last_checkpoint_step=one.last_checkpoint_step,
            ended_at=one.ended_at,
            signature=verdict.signature if verdict else "",
            fingerprint=verdict.fingerprint if verdict else "",
            layer=Layer(verdict.layer) if verdict else Layer.UNKNOWN,
            culprits=_culprits(verdict) if verdict else (),
            entity=(verdict.body.get("affected_entity", {}).get("id") or "") if verdict else "",
            nodes=tuple(one.nodes),
        )


def _culprits(verdict: Verdict) -> tuple[str, ...]:
    return tuple(one["host"] for one in verdict.implicated if one["role"] == "culprit")


def _row(attempt: Attempt, judgement: Judgement, latest: Verdict | None, now: datetime) -> dict[str, Any]:
    return {
        "attempt": attempt,
        "supersedes": latest,
        "speed": "fast" if latest is None else "slow",
        "shared": judgement.shared is not None,
        "kind": judgement.kind.value,
        "layer": judgement.layer.value,
        "signature": judgement.signature,
        "fingerprint": judgement.fingerprint,
        "sentence": judgement.sentence[:1000],
        "evidence_status": judgement.evidence_status.value,
        "confidence": judgement.confidence,
        "action": judgement.action.value,
        "implicated": [{**asdict(one), "evidence": list(one.evidence)} for one in judgement.implicated],
        "body": judgement.body,
        "input_hash": judgement.input_hash,
        "happened_at": judgement.happened_at,
        "judged_at": now,
        "decide_due_at": now,
    }


def _event(attempt: Attempt, verdict: Verdict, judgement: Judgement, now: datetime) -> Entry:
    culprits = [one.host for one in judgement.implicated if one.role == "culprit"]
    hurts = judgement.action not in (VerdictAction.NONE, VerdictAction.HOLD)
    return Entry(
        type=EventType.VERDICT,
        subject=subject_of(attempt, culprits[0] if len(culprits) == 1 else ""),
        actor=JUDGE,
        sentence=judgement.sentence,
        level=Level.WARNING if hurts else Level.INFO,
        pattern=judgement.signature,
        action=judgement.action.value,
        verdict_id=verdict.uuid,
        payload={
            "layer": judgement.layer.value,
            "evidence_status": judgement.evidence_status.value,
            "confidence": judgement.confidence,
            "culprits": culprits,
            "rule": next((rule.id for rule in judgement.rules if rule.fired and rule.id.startswith("cause.")), ""),
            "remedy": next(
                (rule.id for rule in judgement.rules if rule.fired and rule.id.startswith("remedy.")), ""
            ),
            "input_hash": judgement.input_hash,
            "happened_at": judgement.happened_at.isoformat(),
            "latency_seconds": round((now - judgement.happened_at).total_seconds(), 3),
            "supersedes": str(verdict.supersedes.uuid) if verdict.supersedes else None,
        },
    )

"""Which questions about a verdict are put to whom, when, and what is kept of what comes?

A question is a row with its own timer, made in the transaction that stores its verdict; it is asked outside any
transaction by `detectors.provider_tasks`. A usable answer that comes in time makes its attempt due to be judged
again, by the usual road: no verdict and no decision ever waits for it.
"""

import dataclasses
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.trail import Actor, Entry, record
from detectors.attribution.answers import Answer, read_answer
from detectors.attribution.attributing import attribute
from detectors.attribution.facts import Facts
from detectors.models import Verdict
from detectors.own_part import own_hash
from detectors.provider_models import AttributionProvider, ProviderQuestion
from workloads.claim_marks import own_mark
from workloads.models import Attempt
from workloads.stored_text import storable
from workloads.subjects import subject_of

log = logging.getLogger(__name__)
IN_TIME = timedelta(minutes=2)
"""From the verdict on: twice the deadline of a slow verdict. Later answers are kept, and change nothing."""
LEASE = timedelta(seconds=30)
"""On top of a provider's own time limit: a worker that dies leaves its question due again after it."""
BACK_OFF = (timedelta(seconds=2), timedelta(seconds=8), timedelta(seconds=30))
"""Before the second, third and fourth try; there is no fifth."""
MOST_QUESTIONS = 4  # to one provider about one attempt: the fast verdict and three slow ones
AT_ONCE = 50  # questions looked at in one sweep


@dataclass(frozen=True)
class Came:
    """What came of one try. `again`: it may pass, and is tried again when there is time."""

    sentence: str
    answer: Answer | None = None
    again: bool = False


def ask_about(attempt: Attempt, verdict: Verdict, facts: Facts, now: datetime) -> None:
    """Make the questions about a verdict that was just stored, inside its transaction."""
    wanted = ("both", verdict.speed)
    providers = list(
        AttributionProvider.objects.filter(cluster_id=attempt.job.cluster_id, enabled=True, phases__in=wanted)
    )
    if not providers:
        return
    # Of what an answer alone has changed, or what happened elsewhere and changes nothing, nobody is asked.
    ours = attribute(dataclasses.replace(facts, answers=()), now).body if facts.answers else verdict.body
    own = own_hash(ours)
    asked = list(ProviderQuestion.objects.filter(attempt=attempt).values_list("name", "own_hash"))
    ProviderQuestion.objects.bulk_create(
        ProviderQuestion(
            provider=provider,
            name=provider.name,
            kind=provider.kind,
            attempt=attempt,
            verdict=verdict,
            phase=verdict.speed,
            own_hash=own,
            asked_at=now,
            ends_at=now + IN_TIME,
            due_at=now,
        )
        for provider in providers
        if (provider.name, own) not in asked and sum(n == provider.name for n, _ in asked) < MOST_QUESTIONS
    )


def answers_about(attempt: Attempt) -> tuple[Answer, ...]:
    """The newest answer that each provider gave in time."""
    newest: dict[str, Answer] = {}
    rows = ProviderQuestion.objects.filter(attempt=attempt, outcome="answered").order_by("pk")
    for name, stored in rows.values_list("name", "answer"):
        try:
            newest[name] = read_answer(stored or {})
        except (KeyError, TypeError, ValueError):  # of another version: no verdict waits for it
            log.warning("an answer of %s on attempt %s cannot be read", name, attempt.label)
    return tuple(newest.values())


def due_questions(now: datetime) -> list[ProviderQuestion]:
    """What is due, the longest due first; what can no longer be answered in time is given up."""
    due = ProviderQuestion.objects.filter(due_at__lte=now).select_related("provider").order_by("due_at", "pk")
    waiting = []
    for question in due[:AT_ONCE]:
        if question.provider is None or not question.provider.enabled:
            keep(question, Came("nobody is asked there any more"), now)
        elif now >= question.ends_at:
            keep(question, Came(question.said or "it could not be asked in time"), now)
        else:
            waiting.append(question)
    return waiting


def claim(question: ProviderQuestion, now: datetime) -> ProviderQuestion | None:
    """The question with all that is to be sent, for us alone; `None` when somebody was first."""
    if question.provider is None:
        return None
    mark = own_mark(now + timedelta(seconds=question.provider.timeout_seconds) + LEASE)
    mine = ProviderQuestion.objects.filter(pk=question.pk, due_at=question.due_at)
    if not mine.update(due_at=mark, tries=question.tries + 1):
        return None
    related = ("provider", "verdict", "attempt__job__cluster")
    return ProviderQuestion.objects.select_related(*related).filter(pk=question.pk, due_at=mark).first()


def keep(question: ProviderQuestion, came: Came, now: datetime) -> bool:
    """Store what came; whether the question was still ours. One short transaction."""
    pause = BACK_OFF[question.tries - 1] if 0 < question.tries <= len(BACK_OFF) else None
    again = came.again and pause is not None and now + pause < question.ends_at
    changes: dict[str, Any] = {"said": storable(came.sentence, 500), "due_at": None}
    if again and pause is not None:
        changes["due_at"] = now + pause
    else:
        changes |= {"outcome": _outcome(question, came, now), "answered_at": now, "answer": _stored(came)}
    with transaction.atomic():
        mine = ProviderQuestion.objects.filter(pk=question.pk, due_at=question.due_at, outcome="waiting")
        if not mine.update(**changes):
            return False
        if not again:
            if changes["outcome"] == "answered":
                # Whoever judges it at this moment has not seen the answer: his due time moves, and he begins anew.
                Attempt.objects.filter(pk=question.attempt_id).update(judge_due_at=now)
            record([_event(question, changes, came, now)], now)
    return True


def _outcome(question: ProviderQuestion, came: Came, now: datetime) -> str:
    if came.answer is None:
        return "failed"
    if came.answer == Answer(came.answer.provider, about=came.answer.about):
        return "nothing"
    return "answered" if now < question.ends_at else "late"


def _stored(came: Came) -> dict[str, Any] | None:
    return json.loads(json.dumps(dataclasses.asdict(came.answer))) if came.answer is not None else None


def _event(question: ProviderQuestion, changes: Mapping[str, Any], came: Came, now: datetime) -> Entry:
    attempt = Attempt.objects.select_related("job__cluster").get(pk=question.attempt_id)
    outcome, what = str(changes["outcome"]), f"{question.name}, asked about the {question.phase} verdict"
    sentence = {
        "answered": f"{what} on {attempt.label}, answered: {came.sentence}.",
        "nothing": f"{what} on {attempt.label}, has nothing to say.",
        "late": f"{what} on {attempt.label}, answered too late, and ours stands: {came.sentence}.",
    }.get(outcome, f"{what} on {attempt.label}, gave no usable answer, and ours stands: {came.sentence}.")
    return Entry(
        type=EventType.PROVIDER,
        subject=subject_of(attempt),
        actor=Actor(ActorKind.DETECTOR, question.name),
        sentence=sentence,
        level=Level.INFO if came.answer is not None else Level.WARNING,
        verdict_id=question.verdict.uuid,
        payload={
            "provider": question.name,
            "kind": question.kind,
            "phase": question.phase,
            "outcome": outcome,
            "answer": changes["answer"],
            "tries": question.tries,
            "seconds": round((now - question.asked_at).total_seconds(), 3),
        },
        producer_key=f"provider:{question.pk}",
    )

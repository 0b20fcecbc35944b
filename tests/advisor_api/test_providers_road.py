"""Does what a provider answers reach the advice by the usual road, and never what was acted on?"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from advisor_api.deciding import decide
from advisor_api.models import Advice, Exclusion
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.models import AuditEvent
from audit.trail import Actor, Entry, record
from detectors.attribution.answers import Answer
from detectors.judging import judge
from detectors.models import Verdict
from detectors.provider_asking import Came, claim, due_questions, keep
from detectors.provider_models import AttributionProvider
from detectors.reading import read_attempt
from detectors.tasks import judge_due
from tests.detectors.rows import ECC, Log, again, end, make_attempt, make_cluster, megatron
from workloads.models import Attempt, Node
from workloads.subjects import subject_of

pytestmark = pytest.mark.django_db
CONTROLLER = Actor(ActorKind.CONTROLLER, "demo-controller")


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    """It died of an ECC error on n03, and is judged and decided on: restart without n03. Acme is being asked."""
    attempt = make_attempt(make_cluster(tmp_path, mode="action", acknowledge_scheduler_actions=True))
    for number in range(1, 41):  # enough that one may be left out
        Node.objects.create(
            cluster=attempt.job.cluster,
            name=f"n{number:02}",
            state="idle",
            available=True,
            partitions=["main"],
            seen_at=now(),
        )
    AttributionProvider.objects.create(
        cluster=attempt.job.cluster, name="acme", kind="webhook", address="http://127.0.0.1:1"
    )
    start = now() - timedelta(seconds=8)
    Log.of(attempt).write(*(megatron(n, start + timedelta(seconds=n)) for n in range(1, 6)), ECC)
    read_attempt(again(attempt), now())
    end(attempt, at=now())
    read_attempt(again(attempt), now())
    Attempt.objects.filter(pk=attempt.pk).update(judge_due_at=now())
    verdict = judge(again(attempt), now())
    assert verdict is not None
    advice = decide(verdict, now())
    assert advice is not None and (advice.operation, advice.excluded_nodes) == ("restart", ["n03"])
    return attempt


def answers(**said: Any) -> Verdict:
    """Acme answers, and what is due is judged; the newest verdict."""
    mine = claim(due_questions(now())[0], now())
    assert mine is not None
    keep(mine, Came("answered", Answer("acme", about=mine.verdict.fingerprint, **said)), now())
    judge_due()
    return Verdict.objects.order_by("-pk")[0]


def told(kind: EventType) -> list[AuditEvent]:
    return list(AuditEvent.objects.filter(type=kind.value).order_by("pk"))


def test_the_decision_is_made_before_anybody_answers(attempt: Attempt) -> None:
    assert Advice.objects.get().state == "pending" and len(due_questions(now())) == 1


def test_before_a_command_the_advice_is_replaced(attempt: Attempt) -> None:
    advice = decide(answers(confidence=0.6), now())
    assert advice is not None and (advice.generation, advice.excluded_nodes) == (2, [])
    assert Advice.objects.get(generation=1).state == "abandoned"
    assert not Exclusion.objects.filter(node="n03", lifted_at=None, until__gt=now()).exists()


def test_after_a_command_it_is_a_correction_and_the_advice_stands(attempt: Attempt) -> None:
    record([Entry(EventType.INTENT, subject_of(attempt), CONTROLLER, "now", advice_generation=1)], now())
    assert decide(answers(confidence=0.6), now()) is None
    (event,) = told(EventType.CORRECTION)
    assert event.payload["changed"] == {
        "action": {"was": "restart_exclude", "is": "restart"},
        "excluded": {"was": ["n03"], "is": []},
    }
    advice = Advice.objects.get()
    assert (advice.state, advice.excluded_nodes) == ("pending", ["n03"])
    assert Exclusion.objects.filter(node="n03", lifted_at=None).exists()


def test_an_answer_that_blames_others_changes_no_advice(attempt: Attempt) -> None:
    verdict = answers(layer="hardware", hosts=("n01", "n02", "ghost"), confidence=1.0, sentence="All of them.")
    assert decide(verdict, now()) is None
    assert Advice.objects.get().excluded_nodes == ["n03"]
    assert "says the same already" in told(EventType.NO_ADVICE)[0].sentence

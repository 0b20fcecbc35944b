"""Is a provider asked beside the way to a decision, and does what comes narrow the next verdict?"""

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from audit.models import AuditEvent
from detectors.attribution.answers import Answer
from detectors.attribution.replaying import judged_again
from detectors.judging import judge
from detectors.models import Verdict
from detectors.provider_asking import BACK_OFF, IN_TIME, MOST_QUESTIONS, Came, claim, due_questions, keep
from detectors.provider_models import AttributionProvider, ProviderQuestion
from detectors.provider_tasks import PLACES, put, start_due
from detectors.reading import read_attempt
from detectors.tasks import ask_providers, judge_due
from tests.detectors.providers.conftest import Outside
from tests.detectors.rows import ECC, Log, again, end, make_attempt, make_cluster, make_nodes, megatron
from workloads.models import Attempt, Node

pytestmark = pytest.mark.django_db
SECRET = "hunter2hunter2"


def now() -> datetime:
    return datetime.now(UTC)


def make_provider(attempt: Attempt, address: str, **changes: Any) -> AttributionProvider:
    """A webhook of the attempt's cluster."""
    values = {"name": "acme", "kind": "webhook", "address": address, "timeout_seconds": 30, **changes}
    provider = AttributionProvider(cluster=attempt.job.cluster, **values)
    provider.full_clean()
    provider.save()
    return provider


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    """An attempt that trained and died of an ECC error on n03; it is read, and not judged yet."""
    attempt = make_attempt(make_cluster(tmp_path))
    make_nodes(attempt.job.cluster)
    start = now() - timedelta(seconds=8)
    Log.of(attempt).write(
        *(megatron(n, start + timedelta(seconds=n)) for n in range(1, 6)), f"{ECC} (api_key={SECRET})"
    )
    read_attempt(again(attempt), now())
    return end(attempt, at=now())


def judged(attempt: Attempt, at: datetime | None = None) -> Verdict | None:
    """Judge it now, whenever it is due."""
    at = at or now()
    read_attempt(again(attempt), at)
    Attempt.objects.filter(pk=attempt.pk).update(judge_due_at=at)
    return judge(again(attempt), at)


def question() -> ProviderQuestion:
    return ProviderQuestion.objects.select_related("provider").order_by("-pk")[0]


def ask(at: datetime | None = None) -> ProviderQuestion:
    """What a sweep and its thread do, one after the other."""
    at = at or now()
    (due,) = due_questions(at)
    mine = claim(due, at)
    assert mine is not None
    keep(mine, put(mine), at)
    return question()


def events() -> list[AuditEvent]:
    return list(AuditEvent.objects.filter(type="provider").order_by("pk"))


def test_without_providers_nothing_is_asked(attempt: Attempt) -> None:
    assert judged(attempt) is not None and not ProviderQuestion.objects.exists()


def test_an_answer_narrows_the_next_verdict(attempt: Attempt, outside: Outside) -> None:
    make_provider(attempt, outside.at("right"))
    outside.replies(
        layer="hardware.gpu", confidence=0.6, nodes=[{"host": "n03", "gpu": 1}], sentence="Seen before."
    )
    fast = judged(attempt)
    assert fast is not None and fast.action == "restart_exclude"
    asked = ask()
    assert (asked.outcome, asked.phase, asked.verdict_id) == ("answered", "fast", fast.pk)
    (event,) = events()
    assert "acme, asked about the fast verdict" in event.sentence and event.actor == "acme"
    assert event.payload["answer"]["confidence"] == 0.6 and event.verdict_id == fast.uuid
    judge_due()
    slow = Verdict.objects.get(supersedes=fast)
    assert (slow.speed, slow.action, slow.confidence) == ("slow", "restart", 0.6)
    assert [one["excludable"] for one in slow.implicated if one["host"] == "n03"] == [False]
    assert slow.body["narrative"] == [{"provider": "acme", "text": "Seen before."}]
    assert any(row["id"] == "provider.lower" and "acme" in row["because"] for row in slow.body["rules"])
    assert ProviderQuestion.objects.count() == 1, "of what an answer alone changed nobody is asked"
    assert judged_again(slow.body, slow.judged_at).body == slow.body


def test_an_answer_that_changes_nothing_makes_no_verdict(attempt: Attempt, outside: Outside) -> None:
    make_provider(attempt, outside.at("right"))
    outside.replies(layer="hardware.gpu", confidence=1.0, nodes=["n01", "n02", "n03"])
    judged(attempt)
    assert ask().outcome == "answered"
    judge_due()
    assert Verdict.objects.count() == 1 and len(events()) == 1


def test_only_what_is_listed_leaves_the_site_and_secrets_are_masked(attempt: Attempt, outside: Outside) -> None:
    make_provider(attempt, outside.at("right"))
    make_provider(attempt, outside.at("right"), name="other", kind="contract")
    judged(attempt)
    at = now()
    for due in due_questions(at):
        mine = claim(due, at)
        assert mine is not None
        put(mine)
    sent = [json.dumps(one["body"]) for one in outside.seen()]
    assert len(sent) == 2
    for body in sent:
        assert "uncorrectable ECC error" in body and "[masked]" in body
        for secret in (SECRET, attempt.job.user, attempt.job.name, attempt.job.work_dir):
            assert secret not in body
    stored = json.dumps(Verdict.objects.get().body)
    assert SECRET not in stored, "what is quoted is masked before it is stored"


NO_ANSWER = ["text", "list", "deep", "nan", "half", "huge", "redirect", "refusing", "other"]


@pytest.mark.parametrize("mode", NO_ANSWER)
def test_what_is_no_answer_leaves_ours_and_is_told(attempt: Attempt, outside: Outside, mode: str) -> None:
    make_provider(attempt, outside.at(mode))
    outside.replies(confidence=0.0)
    judged(attempt)
    due_at = again(attempt).judge_due_at
    asked = ask()
    assert (asked.outcome, asked.due_at, asked.answer) == ("failed", None, None) and asked.said
    (event,) = events()
    assert "gave no usable answer, and ours stands" in event.sentence and event.payload["outcome"] == "failed"
    assert again(attempt).judge_due_at == due_at and Verdict.objects.count() == 1


@pytest.mark.parametrize("mode", ["silent", "broken", "gone", "dripping"])
def test_what_may_pass_is_tried_again_and_not_for_ever(attempt: Attempt, outside: Outside, mode: str) -> None:
    make_provider(attempt, outside.at(mode), timeout_seconds=1 if mode in {"silent", "dripping"} else 30)
    at = now()
    judged(attempt, at)
    for pause in BACK_OFF:
        asked = ask(at)
        assert (asked.outcome, asked.due_at) == ("waiting", at + pause) and not events()
        assert not due_questions(at + pause / 2)
        at += pause
    asked = ask(at)
    assert (asked.outcome, asked.due_at, asked.tries) == ("failed", None, 4)
    (event,) = events()
    assert event.payload["tries"] == 4 and len(outside.seen()) == 4


def test_the_second_try_succeeds(attempt: Attempt, outside: Outside) -> None:
    make_provider(attempt, outside.at("second"))
    outside.replies(confidence=0.5)
    at = now()
    judged(attempt, at)
    assert ask(at).outcome == "waiting"
    assert ask(at + BACK_OFF[0]).outcome == "answered"


def test_who_has_nothing_to_say(attempt: Attempt, outside: Outside) -> None:
    make_provider(attempt, outside.at("nothing"))
    judged(attempt)
    assert ask().outcome == "nothing" and "has nothing to say" in events()[0].sentence


def test_what_comes_too_late_is_kept_and_changes_nothing(attempt: Attempt, outside: Outside) -> None:
    make_provider(attempt, outside.at("right"))
    outside.replies(confidence=0.1)
    at = now()
    judged(attempt, at)
    mine = claim(due_questions(at)[0], at)
    assert mine is not None
    assert keep(mine, put(mine), at + IN_TIME)
    assert (question().outcome, question().answer["confidence"]) == ("late", 0.1)
    assert judged(attempt) is None and Verdict.objects.count() == 1
    assert "too late, and ours stands" in events()[0].sentence


def test_what_nobody_could_ask_in_time_is_given_up(attempt: Attempt) -> None:
    make_provider(attempt, "http://127.0.0.1:1")
    at = now()
    judged(attempt, at)
    assert due_questions(at + IN_TIME) == [] and question().outcome == "failed"
    assert "could not be asked in time" in events()[0].sentence


@pytest.mark.parametrize("how", ["disabled", "deleted"])
def test_who_is_not_to_be_asked_any_more_is_not(attempt: Attempt, how: str) -> None:
    provider = make_provider(attempt, "http://127.0.0.1:1")
    judged(attempt)
    if how == "deleted":
        provider.delete()
    else:
        AttributionProvider.objects.update(enabled=False)
    assert due_questions(now()) == []
    assert (question().outcome, question().name) == ("failed", "acme")


def test_a_question_is_claimed_once_and_kept_once(attempt: Attempt) -> None:
    make_provider(attempt, "http://127.0.0.1:1", timeout_seconds=1)
    at = now()
    judged(attempt, at)
    (first,), (second,) = due_questions(at), due_questions(at)
    mine = claim(first, at)
    assert mine is not None and claim(second, at) is None
    lost = claim(due_questions(at + timedelta(seconds=40))[0], at + timedelta(seconds=40))
    assert lost is not None, "a worker that dies leaves it due again"
    came = Came("something", Answer("acme", confidence=0.1))
    assert not keep(mine, came, at) and keep(lost, came, at) and not keep(lost, came, at)
    assert len(events()) == 1


def test_phases_and_a_bounded_number_of_questions(attempt: Attempt) -> None:
    make_provider(attempt, "http://127.0.0.1:1", name="fast", phases="fast")
    make_provider(attempt, "http://127.0.0.1:1", name="slow", phases="slow")
    make_provider(attempt, "http://127.0.0.1:1", name="off", enabled=False)
    make_provider(make_attempt(make_cluster()), "http://127.0.0.1:1", name="elsewhere")
    for number in range(7):
        log = Log.of(attempt)
        log.write(f"{ECC} number {number}")
        Attempt.objects.filter(pk=attempt.pk).update(read_due_at=now(), reason=f"reason {number}")
        assert judged(attempt) is not None
    assert Verdict.objects.count() == 7
    names = list(ProviderQuestion.objects.order_by("name").values_list("name", flat=True))
    assert names == ["fast", *["slow"] * MOST_QUESTIONS]


def test_the_answer_about_another_cause_narrows_nothing(attempt: Attempt, outside: Outside) -> None:
    make_provider(attempt, outside.at("right"), phases="fast")
    outside.replies(confidence=0.1)
    judged(attempt)
    ask()
    ProviderQuestion.objects.update(answer={**question().answer, "about": "another"})
    Node.objects.filter(name="n03").update(state="down")
    judged(attempt)
    assert Verdict.objects.order_by("-pk")[0].action == "restart_exclude"


def test_a_stored_answer_of_another_version_stops_no_verdict(attempt: Attempt) -> None:
    make_provider(attempt, "http://127.0.0.1:1", phases="fast")
    judged(attempt)
    ProviderQuestion.objects.update(outcome="answered", answer={"else": 1})
    Attempt.objects.filter(pk=attempt.pk).update(reason="another")
    assert judged(attempt) is not None


def test_a_look_that_is_due_later_is_not_lost(attempt: Attempt) -> None:
    make_provider(attempt, "http://127.0.0.1:1")
    judged(attempt)
    last = again(attempt).judge_due_at
    mine = claim(due_questions(now())[0], now())
    assert mine is not None and keep(mine, Came("x", Answer("acme", confidence=0.9)), now())
    judge_due()
    assert again(attempt).judge_due_at == last


@pytest.mark.django_db(transaction=True)
def test_nobody_waits_for_an_answer(attempt: Attempt, outside: Outside) -> None:
    make_provider(attempt, outside.at("silent"), name="slow", timeout_seconds=5)
    # Its answer comes when nobody reads: tables of a database in memory are locked for other threads meanwhile.
    make_provider(attempt, outside.at("thoughtful"), name="quick", timeout_seconds=20)
    outside.replies(confidence=0.5)
    judged(attempt)
    ask_providers()
    assert PLACES.taken, "the sweep returns while they think"
    assert start_due(now()) == 0
    until = time.monotonic() + 60
    while time.monotonic() < until and PLACES.taken:
        time.sleep(0.05)
    outcomes = dict(ProviderQuestion.objects.values_list("name", "outcome"))
    assert outcomes == {"slow": "waiting", "quick": "answered"} and not PLACES.taken
    judge_due()
    assert Verdict.objects.filter(speed="slow", action="restart").exists()

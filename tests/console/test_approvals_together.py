"""Does one answer hold for what was shown, and for nothing that came later or has changed?"""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from advisor_api.deciding import decide
from advisor_api.models import Advice
from tests.advisor_api.world import a_cluster, a_job, a_verdict, an_attempt
from workloads.models import Attempt

PAGE = "/approvals/several"
pytestmark = pytest.mark.django_db


@pytest.fixture
def asked() -> list[Advice]:
    """Two advices that wait for a person."""
    cluster = a_cluster(mode="approve", now=timezone.now())
    return [one_more(cluster, number) for number in (201, 202)]


def one_more(cluster: object, number: int) -> Advice:
    now = timezone.now()
    attempt = an_attempt(a_job(cluster, number, now), now=now)  # type: ignore[arg-type]  # a cluster
    advice = decide(a_verdict(attempt, now), now)
    assert advice is not None
    assert advice.state == "awaiting_approval"
    return advice


def answer(*advice: Advice, decision: str = "approve", reason: str = "all of them") -> dict[str, object]:
    return {"shown": [f"{one.pk}:{one.generation}" for one in advice], "decision": decision, "reason": reason}


def states(*advice: Advice) -> list[str]:
    return [Advice.objects.get(pk=one.pk).state for one in advice]


def test_the_page_says_the_effect_of_each(as_operator: Client, asked: list[Advice]) -> None:
    text = as_operator.get(PAGE).content.decode()
    assert all(f"requeues and holds job {number}" in text for number in (201, 202))
    assert all(f'value="{one.pk}:1"' in text for one in asked)
    assert PAGE in as_operator.get("/approvals").content.decode()


@pytest.mark.parametrize(("decision", "after"), [("approve", "pending"), ("reject", "abandoned")])
def test_all_that_is_ticked_is_answered(
    decision: str, after: str, as_operator: Client, asked: list[Advice]
) -> None:
    assert as_operator.post(PAGE, answer(*asked, decision=decision))["Location"] == "/approvals"
    assert states(*asked) == [after, after]


def test_what_came_after_the_page_was_shown_is_left_alone(as_operator: Client, asked: list[Advice]) -> None:
    shown = answer(*asked)
    late = one_more(asked[0].attempt.job.cluster, 203)
    as_operator.post(PAGE, shown)
    assert states(*asked, late) == ["pending", "pending", "awaiting_approval"]


def test_one_that_recovered_is_refused_and_the_others_go(as_operator: Client, asked: list[Advice]) -> None:
    Attempt.objects.filter(pk=asked[0].attempt_id).update(state="completed")
    answered = as_operator.post(PAGE, answer(*asked))
    assert answered.status_code == 409
    assert "201-0: 201-0 ended meanwhile (completed)" in answered.content.decode()
    assert states(*asked) == ["awaiting_approval", "pending"]


def test_another_generation_than_the_one_shown_is_refused(as_operator: Client, asked: list[Advice]) -> None:
    changed = answer(*asked) | {"shown": [f"{asked[0].pk}:2", f"{asked[1].pk}:1"]}
    assert as_operator.post(PAGE, changed).status_code == 409
    assert states(*asked) == ["awaiting_approval", "pending"]


UNUSABLE = [
    ("nothing is ticked", [], "Choose at least one advice"),
    ("no number", ["1; DROP"], "which advice was shown"),
    ("no generation", ["1"], "which advice was shown"),
    ("one that is none", ["999999:1"], "does not exist"),
    ("far too many", [f"{number}:1" for number in range(1, 60)], "At most 50"),
]


@pytest.mark.parametrize(("shown", "sentence"), [pytest.param(*row[1:], id=row[0]) for row in UNUSABLE])
def test_what_is_unusable_changes_nothing(
    shown: list[str], sentence: str, as_operator: Client, asked: list[Advice]
) -> None:
    answered = as_operator.post(PAGE, answer() | {"shown": shown})
    assert answered.status_code == 400
    assert sentence in answered.content.decode()
    assert states(*asked) == ["awaiting_approval", "awaiting_approval"]


def test_one_twice_changes_nothing(as_operator: Client, asked: list[Advice]) -> None:
    assert as_operator.post(PAGE, answer(asked[0], asked[0])).status_code == 400
    assert states(*asked) == ["awaiting_approval", "awaiting_approval"]


@pytest.mark.parametrize("change", [{"reason": " "}, {"decision": "perhaps"}], ids=["no reason", "no answer"])
def test_without_reason_or_answer_nothing_is_done(
    change: dict[str, str], as_operator: Client, asked: list[Advice]
) -> None:
    assert as_operator.post(PAGE, answer(*asked) | change).status_code == 400
    assert states(*asked) == ["awaiting_approval", "awaiting_approval"]


@pytest.mark.parametrize("method", ["get", "post"])
def test_without_the_permission_it_is_forbidden(method: str, as_viewer: Client, asked: list[Advice]) -> None:
    assert getattr(as_viewer, method)(PAGE, answer(*asked)).status_code == 403
    assert states(*asked) == ["awaiting_approval", "awaiting_approval"]


def test_another_site_cannot_answer(cast: dict[str, User], asked: list[Advice]) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast["operator"])
    assert client.post(PAGE, answer(*asked)).status_code == 403
    assert states(*asked) == ["awaiting_approval", "awaiting_approval"]

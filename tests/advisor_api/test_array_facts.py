"""Do the facts about an array come out of the database as they are, and what follows from an answer?"""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor_api.approving import reject
from advisor_api.array_facts import ArrayFacts, array_facts
from advisor_api.deciding import decide, decide_all_due
from advisor_api.models import Advice
from advisor_api.policy.arrays import ENOUGH
from advisor_api.policy.operation import Operation
from advisor_api.policy.values import Policy
from detectors.models import Verdict
from schedulers.states import JobState
from tests.advisor_api.world import NOW, OPERATOR, UNKNOWN, a_cluster, a_job, a_verdict, an_attempt, seconds
from workloads.models import Attempt, Cluster

pytestmark = pytest.mark.django_db
ARRAY = 500
WITHOUT_CAUSE: dict[str, Any] = UNKNOWN


def a_task(cluster: Cluster, number: int, state: JobState = JobState.FAILED, **values: Any) -> Attempt:
    """Task `number` started `number` seconds after the first, on a host of its own unless `nodes` say otherwise."""
    began = NOW - seconds(100 - number)
    job = a_job(
        cluster, ARRAY + 1 + number, array_job=values.pop("array_job", ARRAY), array_task=number, node_count=1
    )
    values = {"nodes": [f"n{number % 20 + 1:02}"], "started_at": began, "ended_at": began + seconds(30), **values}
    if state is JobState.RUNNING:
        values["ended_at"] = None
    return an_attempt(job, 0, state, **values)


def failed(cluster: Cluster, count: int, first: int = 0, **values: Any) -> list[Verdict]:
    own = {**WITHOUT_CAUSE, **values}
    return [a_verdict(a_task(cluster, first + place), **own) for place in range(count)]


def facts_of(verdict: Verdict) -> ArrayFacts:
    return array_facts(verdict, Policy(), NOW)


def test_a_job_without_array_has_no_such_facts_and_asks_nothing() -> None:
    verdict = a_verdict(an_attempt(a_job(a_cluster())))
    with CaptureQueriesContext(connection) as queries:
        assert facts_of(verdict) == ArrayFacts()
    assert len(queries) == 0


def test_six_tasks_that_die_alike_are_enough_and_five_are_not() -> None:
    cluster = a_cluster()
    five = facts_of(failed(cluster, 5)[-1])
    assert (five.array_job, five.array_tasks, five.array_failed) == (ARRAY, 5, 5)
    assert five.array_score < ENOUGH <= facts_of(failed(cluster, 1, first=5)[-1]).array_score


@pytest.mark.parametrize("count", [6, 60])
def test_the_number_of_queries_is_constant(count: int) -> None:
    verdicts = failed(a_cluster(), count)
    with CaptureQueriesContext(connection) as queries:
        facts_of(verdicts[-1])
    assert len(queries) == 3


def test_an_array_that_had_the_number_before_does_not_count() -> None:
    cluster = a_cluster()
    old = failed(cluster, 6, first=10)
    for verdict in old:
        job = verdict.attempt.job
        job.created_at = NOW - timedelta(days=90)
        job.save()
    assert facts_of(failed(cluster, 1)[0]).array_failed == 1


@pytest.mark.parametrize(
    "other", [{"user": "somebody"}, {"name": "else"}, {"array_job": 7}], ids=["user", "name", "array"]
)
def test_tasks_of_others_do_not_count(other: dict[str, Any]) -> None:
    cluster = a_cluster()
    for verdict in failed(cluster, 6, first=10):
        for name, value in other.items():
            setattr(verdict.attempt.job, name, value)
        verdict.attempt.job.save()
    assert facts_of(failed(cluster, 1)[0]).array_failed == 1


def test_a_task_that_completed_since_speaks_against() -> None:
    cluster = a_cluster()
    verdicts = failed(cluster, 6)
    before = facts_of(verdicts[-1])
    for verdict in verdicts[:3]:
        an_attempt(verdict.attempt.job, 1, JobState.COMPLETED, nodes=["n01"])
    after = facts_of(verdicts[-1])
    assert (before.array_failed, after.array_failed) == (6, 3)
    assert after.array_score < before.array_score


def test_a_task_tried_twice_counts_once() -> None:
    cluster = a_cluster()
    verdicts = failed(cluster, 3)
    again = an_attempt(verdicts[0].attempt.job, 1, nodes=["n05"])
    found = facts_of(a_verdict(again, **WITHOUT_CAUSE))
    assert (found.array_tasks, found.array_failed) == (3, 3)


def test_deaths_on_one_node_stop_no_array_while_others_run() -> None:
    cluster = a_cluster()
    for number in range(10, 30):
        a_task(cluster, number, JobState.RUNNING, started_at=NOW - seconds(300))
    last = [a_verdict(a_task(cluster, place, nodes=["n07"]), **WITHOUT_CAUSE) for place in range(9)][-1]
    assert facts_of(last).array_score < ENOUGH


def test_warnings_of_healthy_tasks_do_not_count() -> None:
    verdicts = failed(a_cluster(), 6, kind="early_warning")
    assert facts_of(verdicts[-1]) == ArrayFacts()


def test_one_person_is_asked_once_for_all() -> None:
    verdicts = failed(a_cluster(), 8)
    given = [decide(verdict, NOW) for verdict in verdicts]
    asked = [advice for advice in given if advice is not None and advice.rule == "array_systemic"]
    assert len(asked) == 1
    assert asked[0].operation == Operation.WAIT
    assert f"scontrol hold {ARRAY}" in asked[0].because
    assert given[-1] is None


def test_who_says_no_lets_every_task_be_tried_again() -> None:
    cluster = a_cluster()
    verdicts = failed(cluster, 8)
    decide_all_due(NOW)
    asked = Advice.objects.get(rule="array_systemic")
    left_alone = Verdict.objects.filter(advice=None).count()
    assert left_alone == 7
    reject(asked, asked.generation, "it was the quota, and there is more now", OPERATOR, NOW)
    assert Verdict.objects.filter(decide_due_at=NOW).count() == len(verdicts)
    decide_all_due(NOW)
    assert not Verdict.objects.filter(decide_due_at__isnull=False).exists()
    rules = set(Advice.objects.exclude(pk=asked.pk).values_list("rule", flat=True))
    assert rules <= {"unknown_cause", "restart_storm"}
    assert "unknown_cause" in rules


def test_a_question_that_nobody_answered_is_asked_again() -> None:
    cluster = a_cluster()
    for verdict in failed(cluster, 6):
        decide(verdict, NOW)
    Advice.objects.filter(rule="array_systemic").update(expires_at=NOW - seconds(1))
    advice = decide(failed(cluster, 1, first=7)[0], NOW)
    assert advice is not None
    assert advice.rule == "array_systemic"

"""Is an attempt told that we have begun to end it, so that what follows is no evidence? (design 5.9)"""

import pytest
from django.utils import timezone

from advisor_api.deciding import decide
from advisor_api.models import Advice, Milestone
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.operation import Operation
from advisor_api.policy.reconciliation_reason import ReconciliationReason
from advisor_api.policy.scheduler_action import SchedulerAction
from advisor_api.reporting import Done, milestone, reconcile
from schedulers.states import JobState
from tests.advisor_api.conftest import Api
from tests.advisor_api.test_api_events import event, send
from tests.advisor_api.world import CONTROLLER, NOW, a_job, a_verdict, an_attempt, seconds
from workloads.models import Attempt, Cluster

pytestmark = pytest.mark.django_db
HANG = {"kind": "hang", "layer": "unknown", "signature": "hang.silence", "action": "restart", "implicated": []}


def advised(cluster: Cluster, state: JobState = JobState.RUNNING, number: int = 100) -> Advice:
    """A hang that is to be restarted, or a failure."""
    now = timezone.now()
    attempt = an_attempt(a_job(cluster, number, now), state=state, now=now)
    values = HANG if state is JobState.RUNNING else {}
    advice = decide(a_verdict(attempt, now, **values), now)
    assert advice is not None and advice.operation == Operation.RESTART
    return advice


def announce(api: Api, advice: Advice, **payload: str) -> None:
    told = {"action": "requeue_hold", "generation": str(advice.generation), **payload}
    item = event(f"k{advice.pk}", heimdallJobId=str(advice.attempt.heimdall_id), payload=told)
    assert send(api, item).json["accepted"] == 1


def stored(advice: Advice) -> Attempt:
    return Attempt.objects.get(pk=advice.attempt_id)


def test_an_intent_marks_the_attempt_before_the_command_and_has_its_turn_made_again(api: Api) -> None:
    advice = advised(api.cluster)
    before = timezone.now()
    announce(api, advice)
    attempt = stored(advice)
    assert attempt.command_at is not None and before <= attempt.command_at <= timezone.now()
    assert attempt.read_due_at == attempt.command_at


def test_the_first_intent_counts(api: Api) -> None:
    advice = advised(api.cluster)
    announce(api, advice)
    first = stored(advice).command_at
    again = event("again", heimdallJobId=str(advice.attempt.heimdall_id), payload={"generation": "1"})
    assert send(api, again).json["accepted"] == 1
    assert stored(advice).command_at == first


def test_an_attempt_that_has_ended_is_not_marked(api: Api) -> None:
    """What it died of stays what it died of: its log was written before."""
    advice = advised(api.cluster, JobState.FAILED)
    announce(api, advice)
    assert stored(advice).command_at is None


@pytest.mark.parametrize("as_", ["operator", "controller"])
def test_a_refused_intent_and_one_of_a_person_mark_nothing(api: Api, as_: str) -> None:
    advice = advised(api.cluster)
    generation = "1" if as_ == "operator" else "7"
    item = event(heimdallJobId=str(advice.attempt.heimdall_id), payload={"generation": generation})
    send(api, item, as_=as_)
    assert stored(advice).command_at is None


@pytest.mark.parametrize(
    ("action", "marked"),
    [(SchedulerAction.SLURM_REQUEUE_HOLD, True), (SchedulerAction.SLURM_UPDATE_CONSTRAINTS, False)],
)
def test_a_controller_that_announces_nothing_marks_it_by_what_it_did(
    api: Api, action: SchedulerAction, marked: bool
) -> None:
    advice, now = advised(api.cluster), timezone.now()
    done = Done("m1", Operation.RESTART, action, now - seconds(1))
    milestone(advice.sequence, done, CONTROLLER, now)
    assert Milestone.objects.count() == 1
    assert stored(advice).command_at == (done.done_at if marked else None)


def test_a_time_of_the_controller_that_lies_ahead_is_not_believed(api: Api) -> None:
    advice, now = advised(api.cluster), timezone.now()
    done = Done("m1", Operation.RESTART, SchedulerAction.SLURM_REQUEUE_HOLD, now + seconds(200))
    milestone(advice.sequence, done, CONTROLLER, now)
    assert stored(advice).command_at == now


class TestThatCameToNothing:
    def abandoned(self, advice: Advice) -> Attempt:
        advice.refresh_from_db()
        reason = ReconciliationReason.ADVICE_EXPIRED
        reconcile(advice, advice.generation, AdviceState.ABANDONED, reason, actor=CONTROLLER, now=timezone.now())
        return stored(advice)

    def test_a_job_that_runs_on_speaks_for_itself_again(self, api: Api) -> None:
        advice = advised(api.cluster)
        announce(api, advice)
        assert self.abandoned(advice).command_at is None

    def test_one_that_was_ended_all_the_same_does_not(self, api: Api) -> None:
        advice = advised(api.cluster)
        announce(api, advice)
        Attempt.objects.filter(pk=advice.attempt_id).update(state=JobState.CANCELLED.value)
        assert self.abandoned(advice).command_at is not None

    def test_nor_one_of_which_the_next_attempt_is_seen_already(self, api: Api) -> None:
        advice = advised(api.cluster)
        announce(api, advice)
        an_attempt(advice.attempt.job, index=1, state=JobState.PENDING, now=NOW)
        assert self.abandoned(advice).command_at is not None

"""Is it written down what became of an advice: once, with its latencies, and for the right job?"""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor_api.deciding import decide, decide_all_due
from advisor_api.following import follow
from advisor_api.models import Advice, Sequence
from advisor_api.policy.operation import Operation
from advisor_api.policy.scheduler_action import SchedulerAction
from advisor_api.reporting import Done, milestone
from audit.event_type import EventType
from audit.models import AuditEvent
from detectors.models import Verdict
from schedulers.states import JobState
from tests.advisor_api.world import (
    CONTROLLER,
    NOW,
    UNKNOWN,
    a_cluster,
    a_job,
    a_policy,
    a_verdict,
    an_advice,
    an_attempt,
    seconds,
)
from workloads.models import Attempt, Job
from workloads.progress_models import ProgressPoint

pytestmark = pytest.mark.django_db
OUTCOMES = (
    EventType.ALLOCATION_RESTARTED,
    EventType.PROGRESS_RESUMED,
    EventType.TRAINING_COMPLETED,
    EventType.RECOVERY_FAILED,
)


def outcomes() -> list[str]:
    return list(
        AuditEvent.objects.filter(type__in=[type_.value for type_ in OUTCOMES])
        .order_by("id")
        .values_list("type", flat=True)
    )


def released(advice: Advice, after: float) -> None:
    at = NOW + seconds(after)
    for number, action in enumerate((SchedulerAction.SLURM_REQUEUE_HOLD, SchedulerAction.SLURM_RELEASE)):
        milestone(advice.sequence, Done(f"{advice.pk}-{number}", Operation.RESTART, action, at), CONTROLLER, at)


def test_the_three_moments_with_their_latencies() -> None:
    advice = an_advice(a_cluster())
    Attempt.objects.update(last_step=40)
    released(advice, 2)
    new = an_attempt(advice.attempt.job, 1, JobState.RUNNING, started_at=NOW + seconds(10))
    follow(NOW + seconds(11))
    assert outcomes() == ["allocation_restarted"]
    for step in (39, 40, 41, 42):
        ProgressPoint.objects.create(attempt=new, at=NOW + seconds(step), step=step)
    Attempt.objects.filter(pk=new.pk).update(last_step=40, last_step_at=NOW + seconds(40))
    follow(NOW + seconds(43))
    assert outcomes() == ["allocation_restarted"]  # the step where it failed is no progress
    Attempt.objects.filter(pk=new.pk).update(last_step=42, last_step_at=NOW + seconds(42))
    follow(NOW + seconds(43))
    Attempt.objects.filter(pk=new.pk).update(state="completed", ended_at=NOW + seconds(100))
    follow(NOW + seconds(101))
    follow(NOW + seconds(102))
    assert outcomes() == ["allocation_restarted", "progress_resumed", "training_completed"]
    sequence = Sequence.objects.get()
    assert sequence.commanded_at == NOW + seconds(2)
    assert sequence.restarted_at == NOW + seconds(10)
    assert sequence.resumed_at == NOW + seconds(41)
    assert (sequence.completed_at, sequence.closed_at) == (NOW + seconds(100), NOW + seconds(101))
    event = AuditEvent.objects.get(type="progress_resumed")
    assert event.payload == {
        "seconds_since_failure": 46.0,
        "seconds_since_detection": 42.0,
        "seconds_since_advice": 41.0,
        "seconds_since_command": 39.0,
    }
    assert event.sentence == ("Job 100 made a step beyond the last one before the failure, 46 s after the failure.")
    assert (event.trace_id, event.scheduler_at) == (sequence.trace_id, NOW + seconds(41))


def test_an_attempt_that_ends_between_two_looks_still_shows_its_progress() -> None:
    advice = an_advice(a_cluster())
    Attempt.objects.update(last_step=40)
    released(advice, 2)
    new = an_attempt(advice.attempt.job, 1, JobState.COMPLETED, started_at=NOW + seconds(10))
    Attempt.objects.filter(pk=new.pk).update(ended_at=NOW + seconds(20), read_due_at=NOW + seconds(20))
    follow(NOW + seconds(21))
    assert outcomes() == ["allocation_restarted"]
    Attempt.objects.filter(pk=new.pk).update(last_step=50, last_step_at=NOW + seconds(19), read_due_at=None)
    follow(NOW + seconds(22))
    assert outcomes() == ["allocation_restarted", "progress_resumed", "training_completed"]


def test_a_log_that_is_never_read_does_not_keep_a_recovery_open() -> None:
    advice = an_advice(a_cluster())
    released(advice, 2)
    new = an_attempt(advice.attempt.job, 1, JobState.COMPLETED, started_at=NOW + seconds(10))
    Attempt.objects.filter(pk=new.pk).update(ended_at=NOW + seconds(20), read_due_at=NOW + seconds(20))
    follow(NOW + seconds(20 + 121))
    assert outcomes() == ["allocation_restarted", "training_completed"]


def test_a_restart_without_a_command_of_ours_has_no_action_latency() -> None:
    advice = an_advice(a_cluster(mode="monitor"))
    an_attempt(advice.attempt.job, 1, JobState.RUNNING, started_at=NOW + seconds(10))
    follow(NOW + seconds(11))
    assert AuditEvent.objects.get(type="allocation_restarted").payload["seconds_since_command"] is None


def test_an_expected_start_is_no_start() -> None:
    advice = an_advice(a_cluster())
    an_attempt(advice.attempt.job, 1, JobState.PENDING, started_at=NOW + seconds(120))
    follow(NOW + seconds(130))
    assert outcomes() == []


def test_it_failed_again_before_it_made_progress() -> None:
    advice = an_advice(a_cluster())
    released(advice, 2)
    an_attempt(advice.attempt.job, 1, JobState.FAILED, started_at=NOW + seconds(10))
    follow(NOW + seconds(20))
    assert outcomes() == ["allocation_restarted", "recovery_failed"]
    assert "before it made progress" in AuditEvent.objects.get(type="recovery_failed").sentence
    assert Sequence.objects.get().closed_at is not None


def test_progress_is_measured_against_the_best_step_of_the_job() -> None:
    cluster = a_cluster()
    job = a_job(cluster)
    an_attempt(job, 0, last_step=500, last_checkpoint_step=300)
    second = an_attempt(job, 1, last_step=310)
    advice = decide(a_verdict(second), NOW)
    assert advice is not None
    third = an_attempt(job, 2, JobState.RUNNING, last_step=400, last_step_at=NOW + seconds(9))
    follow(NOW + seconds(10))
    assert outcomes() == ["allocation_restarted"]
    Attempt.objects.filter(pk=third.pk).update(last_step=501)
    follow(NOW + seconds(11))
    assert outcomes() == ["allocation_restarted", "progress_resumed"]


def test_two_failures_are_two_recoveries() -> None:
    cluster = a_cluster()
    first = an_advice(cluster)
    released(first, 2)
    second = an_attempt(first.attempt.job, 1, JobState.FAILED, last_step=90, last_step_at=NOW)
    Attempt.objects.filter(pk=first.attempt.pk).update(last_step=40)
    advice = decide(a_verdict(second, **UNKNOWN), NOW + seconds(5))
    assert advice is not None
    an_attempt(first.attempt.job, 2, JobState.COMPLETED, last_step=200, last_step_at=NOW + seconds(50))
    follow(NOW + seconds(60))
    one, two = Sequence.objects.order_by("id")
    assert one.resumed_at is not None
    assert one.completed_at is None
    assert two.completed_at is not None
    assert {one.closed_at, two.closed_at} == {NOW + seconds(60)}


def test_a_number_used_again_is_no_recovery() -> None:
    cluster = a_cluster()
    advice = an_advice(cluster)
    Job.objects.filter(pk=advice.attempt.job_id).update(live=False)
    an_attempt(a_job(cluster, epoch=1), 1, JobState.COMPLETED, last_step=999)
    follow(NOW + seconds(10))
    assert outcomes() == []
    assert Sequence.objects.get().closed_at == NOW + seconds(10)


class TestLateAdvice:
    def test_nobody_carried_it_out(self) -> None:
        advice = an_advice(a_cluster())
        follow(advice.expires_at - seconds(1))
        assert Advice.objects.get().state == "pending"
        follow(advice.expires_at)
        stored = Advice.objects.get()
        assert (stored.state, stored.state_reason) == ("abandoned", "ADVICE_EXPIRED")
        follow(advice.expires_at + seconds(1))
        assert Sequence.objects.get().closed_at is not None
        assert outcomes() == []  # nobody tried, so nothing failed
        event = AuditEvent.objects.get(type="advice_state")
        assert event.sentence == "Advice 1 on 100-0 is closed: nobody carried it out in time."

    def test_a_controller_that_comes_back_finds_a_fresh_one(self) -> None:
        attempt = an_attempt(a_job(a_cluster()), state=JobState.RUNNING)
        advice = decide(a_verdict(attempt, kind="hang", **UNKNOWN), NOW)
        assert advice is not None
        follow(advice.expires_at)
        decide_all_due(advice.expires_at)
        newest = Advice.objects.order_by("-generation")[0]
        assert (newest.generation, newest.state, newest.operation) == (2, "pending", "restart")
        assert newest.expires_at > advice.expires_at

    @pytest.mark.parametrize(
        "change",
        [
            {"cluster": {"mode": "monitor"}},
            {"cluster": {"mode": "approve"}},
            {"job": {"opt_in": {}}},
            {"job": {"live": False}},
            {"verdict": {"action": "ask"}},
            {"advice": {"generation": 24}},
        ],
        ids=str,
    )
    def test_but_not_for_ever_and_not_where_nobody_acts(self, change: dict[str, dict[str, object]]) -> None:
        cluster = a_cluster(**change.get("cluster", {}))
        attempt = an_attempt(a_job(cluster), state=JobState.RUNNING)
        advice = decide(a_verdict(attempt, kind="hang", **{**UNKNOWN, **change.get("verdict", {})}), NOW)
        assert advice is not None
        Job.objects.update(**change.get("job", {"live": True}))
        Advice.objects.update(**change.get("advice", {"generation": 1}))
        follow(advice.expires_at)
        assert Advice.objects.get().state == "abandoned"
        assert Verdict.objects.get().decide_due_at is None

    @pytest.mark.parametrize("acts", [0, 1])
    def test_what_is_only_advised_on_is_said_once(self, acts: int) -> None:
        cluster = a_cluster()
        a_policy({"act_on_unknown": acts}, now=NOW)
        attempt = an_attempt(a_job(cluster), state=JobState.RUNNING)
        advice = decide(a_verdict(attempt, kind="hang", **UNKNOWN), NOW)
        assert advice is not None
        follow(advice.expires_at)
        assert (Verdict.objects.get().decide_due_at is not None) is bool(acts)
        said = (
            "of the class unknown are only advised on, as the policy says"
            in AuditEvent.objects.get(type="advice_state").sentence
        )
        assert said is not bool(acts)

    def test_nobody_approved_it(self) -> None:
        advice = an_advice(a_cluster(mode="approve"))
        follow(advice.expires_at)
        assert Advice.objects.get().state == "abandoned"
        assert "nobody approved it in time" in AuditEvent.objects.get(type="advice_state").sentence

    @pytest.mark.parametrize("mode", ["action", "approve"])
    def test_what_was_made_before_the_clock_was_set_back_is_decided_anew(self, mode: str) -> None:
        advice = an_advice(a_cluster(mode=mode))
        follow(advice.created_at - seconds(59))
        assert Advice.objects.get().state != "abandoned"
        back = advice.created_at - seconds(7200)
        follow(back)
        assert Advice.objects.get().state == "abandoned"
        assert "clock was set back" in AuditEvent.objects.get(type="advice_state").sentence
        assert Verdict.objects.get().decide_due_at == back

    def test_a_recovery_that_has_begun_is_carried_through(self) -> None:
        advice = an_advice(a_cluster())
        released(advice, 2)
        follow(advice.expires_at + seconds(60))
        assert Advice.objects.get().state == "pending"
        follow(advice.expires_at + seconds(601))
        assert Advice.objects.get().state == "abandoned"
        follow(advice.expires_at + seconds(602))
        assert outcomes() == ["recovery_failed"]

    @pytest.mark.parametrize("question", ["wait", "approval"])
    def test_a_question_closes_itself_when_the_job_was_requeued(self, question: str) -> None:
        cluster = a_cluster(mode="approve" if question == "approval" else "action")
        advice = an_advice(cluster, action="ask" if question == "wait" else "restart_exclude")
        follow(NOW + seconds(1))
        assert Advice.objects.get().state == advice.state
        an_attempt(advice.attempt.job, 1, JobState.RUNNING)
        follow(NOW + seconds(2))
        stored = Advice.objects.get()
        assert (stored.state, stored.state_reason) == ("abandoned", "ALREADY_SATISFIED")

    def test_open_restarts_are_not_closed_by_their_own_success(self) -> None:
        advice = an_advice(a_cluster())
        an_attempt(advice.attempt.job, 1, JobState.RUNNING)
        follow(NOW + seconds(2))
        assert Advice.objects.get().state == "pending"  # the controller reports it


def test_a_stop_is_over_when_the_advice_is() -> None:
    advice = an_advice(a_cluster(), action="stop")
    assert advice.operation == "terminate"
    follow(NOW + seconds(1))
    assert Sequence.objects.get().closed_at is None
    Advice.objects.update(state="converged")
    follow(NOW + seconds(2))
    assert Sequence.objects.get().closed_at == NOW + seconds(2)
    assert outcomes() == []


def test_queries_do_not_grow_with_open_recoveries() -> None:
    cluster = a_cluster(nodes=20)
    a_policy({"storm_restarts": 10**6, "max_user_restarts": 10**6})
    counts = []
    for start, end in ((0, 5), (5, 60)):
        for number in range(start, end):
            an_advice(cluster, number, **UNKNOWN)
        with CaptureQueriesContext(connection) as queries:
            assert follow(NOW + seconds(1)) == end
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 6
    assert Verdict.objects.count() == 60

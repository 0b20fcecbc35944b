"""Can somebody who wants to see it do harm get round a limit? Users, operators and broken infrastructure."""

from typing import Any

import pytest

from advisor_api import deciding
from advisor_api.acting import acting_on
from advisor_api.approving import approve, newest_advice
from advisor_api.deciding import decide, decide_all_due
from advisor_api.excluding import end, lift
from advisor_api.gates import may_act
from advisor_api.gathering import active_exclusions
from advisor_api.handing import handed
from advisor_api.models import Advice, Exclusion
from advisor_api.pausing import active_pauses, pause
from advisor_api.policy.operation import Operation
from advisor_api.policy.scheduler_action import SchedulerAction
from advisor_api.refusals import Bad, Stale
from advisor_api.repair_models import RepairRecord
from advisor_api.reporting import Done, milestone
from detectors import tasks
from detectors.models import Verdict
from tests.advisor_api.world import (
    CONTROLLER,
    NOW,
    OPERATOR,
    UNKNOWN,
    a_cluster,
    a_job,
    a_verdict,
    an_advice,
    an_attempt,
    culprit,
    seconds,
)
from workloads.mode import Mode
from workloads.models import Cluster, Job, Node

pytestmark = pytest.mark.django_db


def blames(cluster: Cluster, number: int, node: str, **job: Any) -> Advice:
    """A failure of one job on three nodes, of which one is named with a witness from outside."""
    nodes = [node, "n19", "n20"]
    attempt = an_attempt(a_job(cluster, number, user=f"u{number}", **job), nodes=nodes)
    advice = decide(a_verdict(attempt, implicated=[culprit(node)], fingerprint=f"f{number}"), NOW)
    assert advice is not None
    return advice


class TestApprovals:
    def test_many_of_them_together_exclude_no_more_than_the_share_of_the_partition(self) -> None:
        """Each was within the cap when it was decided, for nothing was excluded before it was approved."""
        cluster = a_cluster(mode="approve", nodes=40)  # 5 %: two nodes
        asked = [blames(cluster, 100 + n, f"n{n:02}") for n in range(1, 6)]
        refused = []
        for advice in asked:
            try:
                approve(newest_advice(advice.attempt), 1, "as shown", OPERATOR, NOW + seconds(5))
            except Stale as refusal:
                refused.append(str(refusal))
        out = set(active_exclusions(cluster, NOW + seconds(6)).values_list("node", flat=True))
        assert len(out) == 2
        assert len(refused) == 3 and "at most 2 may be" in refused[0]
        third = asked[2].attempt
        assert newest_advice(third).state == "awaiting_approval"
        decide_all_due(NOW + seconds(6))
        anew = newest_advice(third)
        assert (anew.generation, anew.rule, anew.state) == (2, "cap_reached", "awaiting_approval")

    def test_a_pause_keeps_a_yes_from_lying_in_wait_for_its_end(self) -> None:
        cluster = a_cluster(mode="approve")
        advice = blames(cluster, 100, "n03")
        pause(cluster, "user", "u100", reason="r", until=NOW + seconds(60), actor=OPERATOR, now=NOW)
        with pytest.raises(Stale, match="A yes would do nothing: user u100 is paused"):
            approve(newest_advice(advice.attempt), 1, "go on", OPERATOR, NOW + seconds(5))
        approve(newest_advice(advice.attempt), 1, "go on", OPERATOR, NOW + seconds(61))

    @pytest.mark.parametrize("mode", [Mode.MONITOR])
    def test_in_monitor_mode_a_yes_changes_nothing(self, mode: Mode) -> None:
        cluster = a_cluster(mode="approve")
        advice = blames(cluster, 100, "n03")
        Cluster.objects.filter(pk=cluster.pk).update(mode=mode.value)
        with pytest.raises(Stale, match="monitor mode"):
            approve(newest_advice(advice.attempt), 1, "go on", OPERATOR, NOW + seconds(5))
        assert not Exclusion.objects.exists()
        assert not RepairRecord.objects.exists()


class TestStorms:
    def test_jobs_that_may_run_in_several_partitions_count_in_each(self) -> None:
        """When it waits again, a job that was submitted to `main,spare` is listed with both."""
        cluster = a_cluster()
        for number in (1, 2, 3):
            advice = an_advice(cluster, number, implicated=[], action="restart", fingerprint=f"f{number}")
            assert advice.operation == Operation.RESTART
            Job.objects.filter(pk=advice.attempt.job_id).update(partition="main,spare", user=f"u{number}")
        fourth = an_advice(cluster, 4, **{**UNKNOWN, "fingerprint": "f4"})
        assert (fourth.operation, fourth.rule) == (Operation.WAIT, "restart_storm")


class TestGivenBack:
    def test_a_node_that_was_given_back_since_is_not_taken_at_hand_out(self) -> None:
        cluster = a_cluster()
        advice = blames(cluster, 100, "n03")
        assert advice.excluded_nodes == ["n03"]
        lift(Exclusion.objects.get(node="n03"), OPERATOR, NOW + seconds(1))
        (one,) = handed([newest_advice(advice.attempt)], cluster, NOW + seconds(2))
        assert one.may_be_acted_on
        assert one.excluded_nodes == []

    def test_one_that_another_failure_keeps_out_stays_out(self) -> None:
        cluster = a_cluster()
        first, second = blames(cluster, 100, "n03"), blames(cluster, 101, "n03")
        own = Exclusion.objects.get(verdict_id=second.verdict_id and second.verdict.uuid)
        end(own, OPERATOR, NOW + seconds(1))
        handed_out = handed([newest_advice(each.attempt) for each in (first, second)], cluster, NOW + seconds(2))
        assert [one.excluded_nodes for one in handed_out] == [["n03"], ["n03"]]

    def test_what_a_controller_has_begun_it_carries_through(self) -> None:
        cluster = a_cluster()
        advice = blames(cluster, 100, "n03")
        done = Done("m1", Operation.RESTART, SchedulerAction.SLURM_REQUEUE_HOLD, NOW)
        milestone(advice.sequence, done, CONTROLLER, NOW)
        lift(Exclusion.objects.get(node="n03"), OPERATOR, NOW + seconds(1))
        (one,) = handed([newest_advice(advice.attempt)], cluster, NOW + seconds(2))
        assert one.excluded_nodes == ["n03"]


PAUSED: list[tuple[str, str, str, dict[str, Any]]] = [
    ("a job by its number", "job", "900", {}),
    ("with a nought in front", "job", "0900", {}),
    ("an array by its number", "job", "800", {"array_job": 800, "array_task": 3}),
    ("a task as Slurm writes it", "job", "800_3", {"array_job": 800, "array_task": 3}),
    ("one partition of several", "partition", "spare", {"partition": "main,spare"}),
]


@pytest.mark.parametrize(("scope", "value", "job"), [c[1:] for c in PAUSED], ids=[c[0] for c in PAUSED])
def test_a_pause_holds_for_whatever_the_operator_meant(scope: str, value: str, job: dict[str, Any]) -> None:
    cluster = a_cluster()
    Node.objects.filter(cluster=cluster, name="n20").update(partitions=["spare"])
    advice = an_advice(cluster, 900)
    Job.objects.filter(pk=advice.attempt.job_id).update(**job)
    pause(cluster, scope, value, reason="r", until=NOW + seconds(600), actor=OPERATOR, now=NOW)
    advice = newest_advice(advice.attempt)
    own = advice.attempt.job
    _, why_not = may_act(advice, cluster, own, active_pauses(cluster, NOW), acting_on([own]), NOW + seconds(1))
    assert "is paused until" in why_not


@pytest.mark.parametrize(
    ("scope", "value"),
    [
        ("partition", "main,spare"),
        ("partition", " main"),
        ("partition", "nowhere"),
        ("job", "800_"),
        ("user", "a b"),
    ],
)
def test_a_pause_of_what_cannot_be_is_refused(scope: str, value: str) -> None:
    """It would read as a pause and hold nothing back."""
    with pytest.raises(Bad):
        pause(a_cluster(), scope, value, reason="r", until=NOW + seconds(600), actor=OPERATOR, now=NOW)


class TestCrowds:
    def test_thousands_of_failures_of_one_user_hold_up_nobody_elses(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(deciding, "DUE_LIMIT", 4)
        cluster = a_cluster()
        for number in range(1, 9):
            a_verdict(an_attempt(a_job(cluster, number, user="crowd")), decide_due_at=NOW - seconds(60 - number))
        honest = a_verdict(an_attempt(a_job(cluster, 50, user="tess")), decide_due_at=NOW)
        assert decide_all_due(NOW) == 4
        honest.refresh_from_db()
        assert honest.decide_due_at is None
        assert Verdict.objects.filter(decide_due_at=None).count() == 4

    def test_nor_their_verdicts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tasks, "JUDGED_AT_ONCE", 3)
        cluster, asked = a_cluster(), []
        monkeypatch.setattr(tasks, "judge", lambda attempt, *_more: asked.append(attempt.job.number))
        for number in [*range(1, 9), 50]:
            user = "tess" if number == 50 else "crowd"
            an_attempt(a_job(cluster, number, user=user), judge_due_at=NOW - seconds(60 - number))
        tasks.judge_due()
        assert asked == [1, 50, 2]

"""Do the facts behind the guards come out of the database as they are?"""

from datetime import datetime, timedelta
from typing import Any

import pytest

from advisor_api.deciding import decide
from advisor_api.gathering import gather
from advisor_api.models import Advice
from advisor_api.policy.facts import Facts
from advisor_api.policy.values import Policy
from schedulers.states import JobState
from tests.advisor_api.world import (
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
from workloads.models import Attempt, Cluster, Job, Node
from workloads.progress_models import Checkpoint

pytestmark = pytest.mark.django_db


def facts_of(attempt: Attempt, now: datetime = NOW, **verdict: Any) -> Facts:
    return gather(a_verdict(attempt, **verdict), Policy(), now)


OWN = [("rekindle-controller", True), ("Rekindle watchdog", True), ("train-rekindle", False), ("train", False)]


@pytest.mark.parametrize(("name", "own"), OWN)
def test_our_own_jobs_are_known_by_their_name(name: str, own: bool) -> None:
    assert facts_of(an_attempt(a_job(a_cluster(), name=name))).own is own


MAINTAINED = [
    ("idle", ()),
    ("idle+maintenance", ("n02",)),
    ("MAINT", ("n02",)),
    ("down+drain+maint", ("n02",)),
    ("down+drain", ()),
]


@pytest.mark.parametrize(("state", "nodes"), MAINTAINED)
def test_nodes_in_maintenance(state: str, nodes: tuple[str, ...]) -> None:
    attempt = an_attempt(a_job(a_cluster()))
    Node.objects.filter(name__in=["n02", "n09"]).update(state=state)
    assert facts_of(attempt).maintained == nodes


def test_how_old_the_verdict_is() -> None:
    attempt = an_attempt(a_job(a_cluster()))
    assert facts_of(attempt, judged_at=NOW - seconds(90)).judged_seconds == 90.0
    assert facts_of(attempt, judged_at=NOW + seconds(5)).judged_seconds == 0.0


def test_only_attempts_that_began_within_the_window_count() -> None:
    job = a_job(a_cluster())
    for index, minutes in enumerate((200, 40, 29, 10, 1)):
        last = an_attempt(job, index, started_at=NOW - timedelta(minutes=minutes))
    an_attempt(a_job(job.cluster, 101), started_at=NOW)
    assert facts_of(last).attempts_in_window == 3


KILLS = [
    ("the scheduler drained it", {"state": "idle+drain", "reason": "Kill task failed", "reason_at": NOW}, ("n02",)),
    ("it was resumed since", {"state": "idle", "reason": "Kill task failed", "reason_at": NOW}, ()),
    ("drained for something else", {"state": "idle+drain", "reason": "bad fan", "reason_at": NOW}, ()),
    (
        "drained before this job began",
        {"state": "idle+drain", "reason": "Kill task failed", "reason_at": NOW - timedelta(days=1)},
        (),
    ),
]


@pytest.mark.parametrize(("values", "nodes"), [pytest.param(*row[1:], id=row[0]) for row in KILLS])
def test_nodes_drained_because_a_kill_failed(values: dict[str, Any], nodes: tuple[str, ...]) -> None:
    job = a_job(a_cluster())
    an_attempt(job, 0, nodes=["n02", "n05"])
    second = an_attempt(job, 1, nodes=["n06", "n07"])
    Node.objects.filter(name__in=["n02", "n12"]).update(**values)
    assert facts_of(second).kill_failed == nodes


def test_restarts_of_a_user_count_in_every_partition_and_no_one_elses() -> None:
    cluster = a_cluster()
    a_policy({"storm_restarts": 99, "max_user_restarts": 99})
    for number, partition, user in ((1, "main", "tess"), (2, "big", "tess"), (3, "main", "tom"), (4, "big", "tom")):
        attempt = an_attempt(a_job(cluster, number, partition=partition, user=user))
        assert decide(a_verdict(attempt, **UNKNOWN), NOW) is not None
    facts = facts_of(an_attempt(a_job(cluster, 9)))
    assert (facts.user_restarts, facts.partition_restarts) == (2, 2)


def chain(cluster: Cluster, *starts: float, end_after: float = 30.0, **values: Any) -> Job:
    """Jobs of one name, submitted at these seconds before `NOW`, each failed soon; the last one is returned."""
    for number, start in enumerate(starts):
        at = NOW - seconds(start)
        job = a_job(cluster, 200 + number, at, **{"name": "loop", "work_dir": "/w", **values})
        an_attempt(job, now=at + seconds(end_after), ended_at=at + seconds(end_after))
    return job


class TestLoopsFromOutside:
    def test_jobs_that_replace_each_other_at_once(self) -> None:
        job = chain(a_cluster(), 300, 200, 100)
        facts = facts_of(job.attempts.get(), judged_at=NOW)
        assert (facts.outer_retries, facts.resubmitted) == (2, False)

    def test_a_person_who_reads_the_log_first_is_no_loop(self) -> None:
        job = chain(a_cluster(), 7200, 3600, 100)
        assert facts_of(job.attempts.get()).outer_retries == 0

    def test_a_sweep_submitted_at_once_is_no_loop(self) -> None:
        job = chain(a_cluster(), 100, 99, 98, end_after=60)
        assert facts_of(job.attempts.get()).outer_retries == 0

    def test_jobs_that_ended_well_are_no_loop(self) -> None:
        job = chain(a_cluster(), 300, 200, 100)
        Attempt.objects.exclude(job=job).update(state=JobState.COMPLETED.value)
        assert facts_of(job.attempts.get()).outer_retries == 0

    @pytest.mark.parametrize("other", [{"name": "b"}, {"user": "tom"}, {"work_dir": "/v"}])
    def test_another_name_user_or_folder_is_another_job(self, other: dict[str, str]) -> None:
        cluster = a_cluster()
        chain(cluster, 300, 200)
        last = a_job(cluster, 300, NOW - seconds(100), **{"name": "loop", "work_dir": "/w", **other})
        assert facts_of(an_attempt(last)).outer_retries == 0

    def test_a_job_submitted_right_after_the_end(self) -> None:
        cluster = a_cluster()
        first = chain(cluster, 100)
        a_job(cluster, 300, NOW - seconds(60), name="loop", work_dir="/w")
        assert facts_of(first.attempts.get()).resubmitted is True

    def test_the_next_of_a_sweep_is_no_repetition(self) -> None:
        """Of three jobs at once one failed, and the program that keeps three going submits the next."""
        cluster = a_cluster()
        first = chain(cluster, 100)
        other = a_job(cluster, 299, NOW - seconds(99), name="loop", work_dir="/w")
        an_attempt(other, state=JobState.RUNNING)
        a_job(cluster, 300, NOW - seconds(60), name="loop", work_dir="/w")
        facts = facts_of(first.attempts.get())
        assert (facts.outer_retries, facts.resubmitted) == (0, False)

    def test_a_sweep_whose_others_have_ended_by_now_is_one(self) -> None:
        cluster = a_cluster()
        first = chain(cluster, 200, end_after=140)
        other = a_job(cluster, 299, NOW - seconds(199), name="loop", work_dir="/w")
        an_attempt(other, ended_at=NOW - seconds(100))
        a_job(cluster, 300, NOW - seconds(50), name="loop", work_dir="/w")
        assert facts_of(first.attempts.get()).resubmitted is False

    def test_an_end_that_was_listed_late_makes_no_sweep(self) -> None:
        cluster = a_cluster()
        job = chain(cluster, 300, 200, 100, end_after=115)
        facts = facts_of(job.attempts.get(), judged_at=NOW)
        assert facts.outer_retries == 2

    @pytest.mark.parametrize(("loads", "repeated"), [("/ckpt/a/100", True), ("/ckpt/b/100", False), ("", False)])
    def test_of_a_sweep_who_loads_its_checkpoint_repeats_it(self, loads: str, repeated: bool) -> None:
        cluster = a_cluster()
        first = chain(cluster, 100)
        an_attempt(a_job(cluster, 299, NOW - seconds(99), name="loop", work_dir="/w"), state=JobState.RUNNING)
        next_one = a_job(cluster, 300, NOW - seconds(60), name="loop", work_dir="/w")
        again = an_attempt(next_one, state=JobState.RUNNING)
        made = {"at": NOW, "step": 100}
        Checkpoint.objects.create(attempt=first.attempts.get(), deed="saved", place="/ckpt/a/100", **made)
        Checkpoint.objects.create(attempt=again, deed="loaded", place=loads, **made)
        assert facts_of(first.attempts.get()).resubmitted is repeated

    def test_a_task_of_the_same_array_is_none(self) -> None:
        cluster = a_cluster()
        first = chain(cluster, 100, array_job=7)
        a_job(cluster, 300, NOW - seconds(60), name="loop", work_dir="/w", array_job=7)
        assert facts_of(first.attempts.get()).resubmitted is False

    def test_a_hang_has_not_ended_so_nothing_came_after_it(self) -> None:
        cluster = a_cluster()
        first = a_job(cluster, 1, NOW - seconds(500), name="loop", work_dir="/w")
        a_job(cluster, 2, NOW - seconds(60), name="loop", work_dir="/w")
        hanging = an_attempt(first, state=JobState.RUNNING, ended_at=None)
        assert facts_of(hanging, kind="hang").resubmitted is False

    def test_it_is_asked_about(self) -> None:
        job = chain(a_cluster(), 300, 200, 100)
        advice = decide(a_verdict(job.attempts.get(), **UNKNOWN), NOW)
        assert advice is not None
        assert (advice.rule, advice.operation) == ("outer_retries", "wait")
        assert advice.because.startswith("it is number 3 of its name, user and folder")


def test_a_decision_on_an_old_verdict_asks() -> None:
    cluster = a_cluster(cannot_see_since=NOW)
    verdict = a_verdict(an_attempt(a_job(cluster)))
    assert decide(verdict, NOW) is None
    Cluster.objects.update(cannot_see_since=None)
    verdict.refresh_from_db()
    advice = decide(verdict, NOW + timedelta(hours=2))
    assert advice is not None
    assert (advice.rule, advice.because) == (
        "evidence_expired",
        "what is known of it is 2 h old, and much may have changed since",
    )


def test_the_trace_keeps_what_would_have_turned_it() -> None:
    an_advice(a_cluster())
    trace = Advice.objects.get().trace
    assert next(said["wins_if"] for said in trace if said["rule"] == "kill_task_failed") is None
    assert next(said["wins_if"] for said in trace if said["rule"] == "cancelled") == {
        "fact": "state",
        "value": "cancelled",
    }

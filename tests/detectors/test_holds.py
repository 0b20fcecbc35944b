"""Is a person asked about a job that the scheduler itself holds, and about nobody else's hold?"""

from dataclasses import replace
from pathlib import Path

import pytest

from advisor_api.following import follow
from advisor_api.models import Advice
from detectors.models import Anomaly
from schedulers.states import JobState
from tests.detectors.traps.stage import Stage
from tests.workloads.scripted import requeued

LAUNCH = "launch failed requeued held"


@pytest.fixture
def stage(db: None, tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def hold(stage: Stage, reason: str = LAUNCH, *, word: str = "PENDING") -> None:
    """The attempt that ran ends by a requeue, and the next one waits with priority 0."""
    stage.at += 3
    stage.show(requeued(stage.row(), stage.now, JobState.HELD, reason=reason, word=word))


def prolog_fails(stage: Stage, name: str = "n02", by: str = "root", reason: str = "Prolog error") -> None:
    stage.node(name, "idle", "drain", reason=reason, reason_by=by, reason_at=stage.now)


def found() -> list[Anomaly]:
    return list(Anomaly.objects.filter(key="scheduler_hold"))


def asked(stage: Stage) -> list[tuple[str, str]]:
    return list(Advice.objects.values_list("rule", "operation"))


@pytest.mark.parametrize(
    ("reason", "word", "says"),
    [
        (LAUNCH, "PENDING", "a node could not start it"),
        ("launch_failed_requeued_held", "PENDING", "a node could not start it"),
        ("JobHoldMaxRequeue", "PENDING", "it was queued again too often"),
        ("JobHeldUser", "SPECIAL_EXIT", "it ended with an exit code after which this site keeps a job back"),
    ],
)
def test_a_hold_of_the_scheduler_asks_a_person(stage: Stage, reason: str, word: str, says: str) -> None:
    stage.submit()
    stage.train(1, 5)
    hold(stage, reason, word=word)
    stage.wait(120)
    (anomaly,) = found()
    assert (anomaly.attempt.index, anomaly.kind, anomaly.layer, anomaly.basis) == (1, "crash", "scheduler", "state")
    assert anomaly.sentence == f"The scheduler holds the job, as {says}" and anomaly.nodes == []
    verdict = stage.verdict()
    assert verdict is not None
    assert (verdict.attempt.index, verdict.action, verdict.implicated) == (1, "ask", [])
    assert asked(stage) == [("held_by_scheduler", "wait")]


@pytest.mark.parametrize(
    ("why", "reason", "word"),
    [
        ("its user holds it", "JobHeldUser", "PENDING"),
        ("an administrator holds it", "JobHeldAdmin", "PENDING"),
        ("we, or somebody else, requeued it held", "job requeued in held state", "PENDING"),
        ("an old reason that shows for a moment", "JobLaunchFailure", "PENDING"),
        ("its reservation was deleted", "ReservationDeleted", "RESV_DEL_HOLD"),
        ("words within others", f"not {LAUNCH}", "PENDING"),
        ("no reason", "None", "PENDING"),
    ],
)
def test_anybody_elses_hold_is_none_of_ours(stage: Stage, why: str, reason: str, word: str) -> None:
    stage.submit()
    stage.train(1, 5)
    prolog_fails(stage)
    hold(stage, reason, word=word)
    stage.wait(300)
    assert (found(), asked(stage)) == ([], []), why


def test_a_waiting_job_that_its_user_holds_is_none(stage: Stage) -> None:
    stage.submit(state=JobState.PENDING, word="PENDING", started_at=None, nodes=())
    stage.wait(30)
    stage.show(replace(stage.row(), state=JobState.HELD, reason="JobHeldUser"))
    stage.wait(300)
    assert (found(), asked(stage), stage.verdict()) == ([], [], None)


def test_the_same_words_without_a_hold_are_none(stage: Stage) -> None:
    stage.submit()
    stage.train(1, 5)
    stage.show(requeued(stage.row(), stage.now, JobState.PENDING, reason=LAUNCH))
    stage.wait(300)
    assert (found(), asked(stage)) == ([], [])


@pytest.mark.parametrize("seen", [True, False], ids=["its nodes were seen", "it was never seen to run"])
def test_the_node_that_failed_its_prolog_is_named(stage: Stage, seen: bool) -> None:
    if seen:
        stage.submit()
        stage.look()
    else:
        stage.submit(state=JobState.PENDING, word="PENDING", started_at=None, nodes=())
        stage.look()
    prolog_fails(stage)
    if seen:
        prolog_fails(stage, "n09")  # of another job
    hold(stage)
    stage.wait(120)
    verdict = stage.verdict()
    assert verdict is not None
    assert [(one["host"], one["role"], one["excludable"]) for one in verdict.implicated] == [
        ("n02", "culprit", False)
    ]
    assert verdict.sentence == "The scheduler holds the job, as a node could not start it: n02 (Prolog error)"
    assert asked(stage) == [("held_by_scheduler", "wait")] and stage.acts() == []


@pytest.mark.parametrize(
    ("why", "name", "by", "reason"),
    [
        ("a person's drain", "n02", "anna", "Prolog error"),
        ("another reason", "n02", "root", "Kill task failed"),
        ("a node of another job", "n09", "root", "Prolog error"),
    ],
)
def test_no_other_node_is(stage: Stage, why: str, name: str, by: str, reason: str) -> None:
    stage.submit()
    stage.look()
    prolog_fails(stage, name, by, reason)
    hold(stage)
    stage.wait(120)
    verdict = stage.verdict()
    assert verdict is not None and verdict.implicated == [], why


def test_an_old_failure_of_a_node_is_not_this_jobs(stage: Stage) -> None:
    prolog_fails(stage)
    stage.at += 1000
    stage.submit()
    stage.look()
    hold(stage)
    stage.wait(120)
    verdict = stage.verdict()
    assert verdict is not None and verdict.implicated == []


def test_it_is_over_when_somebody_lets_the_job_go(stage: Stage) -> None:
    stage.submit()
    stage.look()
    prolog_fails(stage)
    hold(stage)
    stage.wait(60)
    stage.show(replace(stage.row(), state=JobState.PENDING, reason="BeginTime"))
    stage.wait(30)
    follow(stage.now)
    (anomaly,), advice = found(), Advice.objects.get()
    assert anomaly.refuted_at is not None
    assert (advice.state, advice.state_reason) == ("abandoned", "ALREADY_SATISFIED")
    stage.show(
        replace(stage.row(), state=JobState.RUNNING, word="RUNNING", started_at=stage.now, nodes=("n03", "n04"))
    )
    stage.train(1, 20)
    stage.fail()
    stage.wait(120)
    verdict = stage.verdict()
    assert verdict is not None and verdict.signature == "" and verdict.action == "restart"
    assert len(found()) == 1 and Advice.objects.count() == 2


def test_a_cancelled_hold_is_over(stage: Stage) -> None:
    stage.submit()
    stage.look()
    hold(stage)
    stage.wait(60)
    stage.show(replace(stage.row(), state=JobState.CANCELLED, word="CANCELLED", reason="None", ended_at=stage.now))
    stage.wait(60)
    follow(stage.now)
    verdict = stage.verdict()
    assert verdict is not None and verdict.action == "none"
    assert found()[0].refuted_at is not None
    assert Advice.objects.get().state == "abandoned"

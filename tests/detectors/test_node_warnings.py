"""Is a job warned of a node that a program takes out of use for its hardware, and of nothing else?"""

from pathlib import Path

import pytest

from advisor_api.models import Advice
from detectors.models import Anomaly
from tests.detectors.traps.stage import Stage, culprits

GPU = "NHC: check_nv_health: GPU 3 has fallen off the bus, XID 79"


@pytest.fixture
def stage(db: None, tmp_path: Path) -> Stage:
    stage = Stage(tmp_path)
    stage.submit()
    stage.train(1, 10)
    return stage


def drain(stage: Stage, *states: str, reason: str = GPU, by: str = "root", name: str = "n02") -> None:
    stage.node(name, *(states or ("mixed", "drain")), reason=reason, reason_by=by, reason_at=stage.now)


def warnings(stage: Stage) -> list[Anomaly]:
    return list(Anomaly.objects.filter(kind="early_warning").order_by("pk"))


@pytest.mark.parametrize(
    ("states", "reason", "by"),
    [
        (("mixed", "drain"), GPU, "root"),
        (("allocated", "drain"), GPU, "slurm"),
        (("draining",), GPU, "root"),
        (("mixed", "fail"), "gres/gpu count reported lower than configured (7 < 8)", "slurm"),
        (("down", "not_responding"), "Not responding", "slurm"),
        (("mixed", "drain"), "Low RealMemory", "slurm"),
    ],
)
def test_a_node_that_a_program_took_out_is_a_warning_with_a_proposal(
    stage: Stage, states: tuple[str, ...], reason: str, by: str
) -> None:
    drain(stage, *states, reason=reason, by=by)
    stage.train(11, 20)
    (warning,) = warnings(stage)
    assert (warning.nodes, warning.basis, warning.refuted_at) == (["n02"], "event", None)
    assert reason in warning.sentence
    verdict = stage.verdict()
    assert verdict is not None
    assert (verdict.kind, verdict.action, [one["host"] for one in verdict.implicated]) == (
        "early_warning",
        "ask",
        ["n02"],
    )
    assert [row[1] for row in stage.advised()] == ["wait"] and stage.acts() == []
    assert stage.attempt().last_step == 20


def test_what_the_scheduler_measured_itself_is_sure_enough_to_propose_an_exclusion(stage: Stage) -> None:
    drain(stage, reason="gres/gpu count reported lower than configured (7 < 8)", by="slurm")
    stage.train(11, 12)
    assert culprits(stage.verdict()) == ["n02"]
    advice = Advice.objects.get()
    assert (advice.rule, advice.operation) == ("early_warning", "wait")
    assert advice.because == (
        "a healthy job is not restarted for an early warning; the next attempt could leave out no other node: "
        "no job is placed on n02 as it is"
    )


@pytest.mark.parametrize(
    ("why", "reason", "by", "states"),
    [
        ("an administrator's drain", "firmware on Monday", "anna", ("mixed", "drain")),
        ("an administrator who speaks of hardware", GPU, "anna", ("mixed", "drain")),
        ("root by hand, without a reason of hardware", "maintenance window", "root", ("mixed", "drain")),
        ("a job that could not be killed", "Kill task failed", "slurm", ("mixed", "drain")),
        ("a reservation of maintenance", GPU, "root", ("mixed", "maint")),
        ("a reason without a flag", GPU, "root", ("mixed",)),
        ("no reason", "", "slurm", ("mixed", "drain")),
    ],
)
def test_nothing_is_said(stage: Stage, why: str, reason: str, by: str, states: tuple[str, ...]) -> None:
    drain(stage, *states, reason=reason, by=by)
    stage.train(11, 20)
    assert (stage.kinds(), stage.verdict(), stage.advised()) == ([], None, []), why


def test_a_node_of_another_job_or_none_is_nobodys_warning(stage: Stage) -> None:
    drain(stage, name="n09")
    stage.train(11, 20)
    assert warnings(stage) == []


def test_an_old_reason_or_one_of_another_machine_is_none(stage: Stage) -> None:
    stage.node("n01", "mixed", "drain", reason=GPU, reason_by="root", reason_at=stage.now.replace(year=2020))
    told_at = stage.now
    stage.at += 5
    stage.node("n02", "mixed", "drain", reason=GPU, reason_by="root", reason_at=told_at, booted_at=stage.now)
    stage.train(11, 20)
    assert warnings(stage) == []


def test_it_is_said_once_and_is_over_when_the_node_is_back(stage: Stage) -> None:
    drain(stage)
    stage.train(11, 20)
    stage.node("n02", "mixed")
    stage.train(21, 22)
    (warning,) = warnings(stage)
    assert warning.refuted_at is not None
    over = stage.verdict()
    assert over is not None and (over.action, culprits(over)) == ("none", [])
    assert stage.acts() == []
    drain(stage)
    stage.train(23, 24)
    assert [one.refuted_at is None for one in warnings(stage)] == [False, True]

"""Traps 3, 4, 5 and 12: is what a scheduler says believed no further than it goes?"""

from dataclasses import replace
from pathlib import Path

import pytest

from audit.event_type import EventType
from audit.models import AuditEvent
from detectors.models import Anomaly
from schedulers.opening import open_scheduler
from schedulers.port import Unreachable
from schedulers.states import JobState
from tests.detectors.rows import ECC
from tests.detectors.traps.stage import Stage
from workloads.models import Attempt, Job


def program(folder: Path, name: str, answer: str, status: int = 0) -> None:
    """A command of the scheduler that prints something and ends with a status."""
    path = folder / name
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{answer}\nEND\nexit {status}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    "answer",
    [
        "slurm_load_jobs error: Unable to contact slurm controller (connect failure)",
        '{"jobs": [], "errors": [{"error": "Unable to contact slurm controller"}]}',
        "",
    ],
    ids=["an error text", "an error list", "nothing, while the controller does not answer"],
)
def test_trap_03_an_error_inside_a_success_is_unknown(stage: Stage, short_folder: Path, answer: str) -> None:
    """Real commands that end with status 0: nobody is gone, nobody has failed, and the cluster is not seen."""
    program(short_folder, "squeue", answer)
    program(short_folder, "scontrol", "Slurmctld(primary) at head is DOWN")
    program(short_folder, "sinfo", "")
    program(short_folder, "sdiag", "slurm_get_statistics: Unable to contact slurm controller", 1)
    program(short_folder, "sacct", "")
    stage.submit()
    stage.train(1, 10)
    broken = open_scheduler("slurm", str(short_folder), "", 5.0)
    for _look in range(10):
        stage.at += 15
        stage.look(broken)
    attempt = stage.attempt()
    assert (attempt.state, attempt.ended_at, attempt.job.live) == (JobState.RUNNING.value, None, True)
    assert attempt.job.missing_listings == 0
    assert (stage.verdict(), stage.advised()) == (None, [])
    stage.cluster.refresh_from_db()
    assert stage.cluster.cannot_see_since is not None
    stage.train(11, 20)
    assert stage.attempt().state == JobState.RUNNING.value


def test_trap_04_an_empty_list_of_a_controller_that_restarts_takes_no_job_away(stage: Stage) -> None:
    stage.submit()
    stage.train(1, 10)
    row = stage.row()
    stage.scheduler.rows = []
    stage.scheduler.fails["ping"] = Unreachable("The controller is starting.")
    for _look in range(20):
        stage.at += 15
        stage.say("a line")
        stage.look()
    attempt = stage.attempt()
    assert (attempt.state, attempt.job.live, attempt.job.missing_listings) == (JobState.RUNNING.value, True, 0)
    assert stage.advised() == []
    stage.scheduler.fails.clear()
    stage.show(row)
    stage.train(11, 20)
    assert Attempt.objects.count() == 1 and stage.attempt().state == JobState.RUNNING.value


def test_trap_04_a_job_that_is_really_not_listed_is_gone_and_never_failed(stage: Stage) -> None:
    stage.submit()
    stage.train(1, 10)
    stage.scheduler.rows = []
    stage.wait(120)
    assert stage.attempt().state == JobState.GONE.value
    assert (stage.verdict(), stage.advised()) == (None, [])


def test_trap_05_a_number_used_again_brings_no_history_along(stage: Stage) -> None:
    stage.submit(nodes=("n01", "n02"))
    stage.train(1, 5)
    stage.say(ECC.replace("n03", "n02"))
    stage.fail()
    stage.wait(60)
    assert stage.acts() == [(7, "restart", ["n02"])]
    stage.at += 1000
    stage.path().unlink()
    stage.submit(name="other", user="somebody")
    stage.train(1, 5)
    assert [job.epoch for job in Job.objects.order_by("epoch")] == [0, 1]
    assert not Anomaly.objects.filter(attempt__job__epoch=1).exists()
    stage.say("ModuleNotFoundError: No module named 'flash_attn'")
    stage.fail()
    stage.wait(60)
    verdict = stage.verdict()
    assert verdict is not None and verdict.attempt.job.epoch == 1
    assert (verdict.signature, verdict.implicated) == ("py.import", [])
    assert verdict.body["history"]["attempts"] == 1 and verdict.body["inputs"]["earlier"] == []


def test_trap_12_a_drain_flag_with_jobs_still_there_hands_nothing_over(stage: Stage) -> None:
    """The node is out of use for others, and its job trains on: nobody ends it, moves it or warns of it."""
    stage.submit()
    stage.train(1, 10)
    told = {"reason": "NHC: GPU 3 fell off the bus, XID 79", "reason_by": "anna", "reason_at": stage.now}
    stage.node("n02", "mixed", "drain", **told)
    stage.train(11, 40)
    assert (stage.kinds(), stage.verdict(), stage.advised()) == ([], None, [])
    assert stage.attempt().state == JobState.RUNNING.value
    assert not AuditEvent.objects.filter(type=EventType.ADVICE.value).exists()
    stage.show(replace(stage.row(), state=JobState.COMPLETED, word="COMPLETED", ended_at=stage.now))
    stage.wait(60)
    assert (stage.kinds(), stage.advised()) == ([], [])


def test_trap_12_a_job_that_fails_on_a_draining_node_does_not_blame_it(stage: Stage) -> None:
    stage.submit()
    stage.train(1, 10)
    stage.node("n02", "mixed", "drain", reason="gres/gpu count too low", reason_by="anna", reason_at=stage.now)
    stage.fail()
    stage.wait(60)
    verdict = stage.verdict()
    assert verdict is not None and verdict.implicated == []
    assert all(excluded == [] for _job, _operation, excluded in stage.advised())

"""Does an attempt that Slurm ends look as it did on a real 22.05.8, to squeue, scontrol and sacct?"""

import pytest

from tests.lab.simulate.stage import Stage

FOREVER = {"steps": 100_000}
ROW = ("sacct", "-D", "-X", "-n", "-P", "-o", "State,ExitCode,NodeList")


def listed(stage: Stage) -> str:
    """State, reason, restarts, raw exit code and nodes."""
    layout = "State:|,Reason:|,RestartCnt:|,exit_code:|,NodeList:"
    return stage.run("squeue", "-h", "-a", "-t", "all", "-O", layout)[1].strip()


def shown(stage: Stage, *words: str) -> str:
    """What scontrol shows, on one line."""
    return stage.run("scontrol", "-o", "show", *words)[1]


def test_preemption_requeues_and_the_accounting_says_preempted():
    stage = Stage(requeue_wait_seconds=6)
    job = stage.running(
        nodes=2, open_mode="append", faults=[{"kind": "preempt", "step": 3, "attempt": 0}], **FOREVER
    )
    stage.wait(8)
    assert listed(stage) == "PENDING|BeginTime|1|0|"
    assert stage.run(*ROW)[1].splitlines()[0] == "PREEMPTED|0:0|n[01-02]"
    assert stage.run("sacct", "-n", "-P", "-D", "-o", "JobID,State")[1].splitlines()[1] == "1.batch|CANCELLED"
    stage.until(job, "RUNNING")
    assert "slurmstepd-n01: error: *** JOB 1 ON n01 CANCELLED AT " in stage.log(job)
    assert " DUE TO PREEMPTION ***\n" in stage.log(job)


def test_a_job_that_may_not_be_requeued_ends_as_preempted():
    stage = Stage()
    job = stage.submit(nodes=2, requeue=False, faults=[{"kind": "preempt", "step": 3}])
    stage.until(job, "PREEMPTED")
    assert listed(stage) == "PREEMPTED|None|0|15|n[01-02]"
    assert stage.run(*ROW)[1] == "PREEMPTED|0:0|n[01-02]\n"
    assert stage.run("squeue", "-h", "-t", "PREEMPTED", "-o", "%t")[1] == "PR\n"


def test_slurm_requeues_by_itself():
    stage = Stage()
    job = stage.submit(faults=[{"kind": "requeue", "step": 3, "attempt": 0, "lines": ["Requeued SLURM job: 1"]}])
    stage.until(job, "COMPLETING")
    assert "Requeued SLURM job: 1\nslurmstepd-n01: error: *** JOB 1 ON n01 CANCELLED AT " in stage.log(job)
    assert stage.log(job).endswith(" DUE TO JOB REQUEUE ***\n")
    stage.until(job, "COMPLETED")
    assert job.restarts == 1
    assert [line.split("|")[0] for line in stage.run(*ROW)[1].splitlines()] == ["REQUEUED", "COMPLETED"]


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (0, ["Error running slurm prolog: 1"]),
        (
            1,
            [
                "srun: error: Task launch for StepId=1.0 failed on node n02: Job prolog failed",
                "srun: error: Application launch failed: Job prolog failed",
                "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
            ],
        ),
    ],
    ids=["on_the_batch_host", "on_another_node"],
)
def test_a_failed_prolog_drains_the_node_and_holds_the_job(node, said):
    stage = Stage()
    job = stage.submit(nodes=2, faults=[{"kind": "prolog_failure", "node": node, "step": 5, "attempt": 0}])
    stage.wait(2)
    assert listed(stage) == "PENDING|launch failed requeued held|1|0|"
    assert " Priority=0 " in shown(stage, "job", "1")
    assert "JobState=PENDING Reason=launch_failed_requeued_held" in shown(stage, "job", "1")
    at = shown(stage, "node", f"n0{node + 1}")
    assert " State=IDLE+DRAIN " in at and " Reason=Prolog error [" in at
    assert stage.run(*ROW)[1].splitlines()[0] == "REQUEUED|0:0|n[01-02]"
    lines = stage.log(job).splitlines()
    assert lines[-len(said) :] == said
    assert len(lines) - len(said) == node  # behind another node's, slurmstepd's line on the requeue
    stage.wait(600)
    assert job.held
    stage.do("scontrol", "release", "1")
    stage.until(job, "COMPLETED")
    assert f"n0{node + 1}" not in job.nodes


def test_a_step_that_cannot_be_launched_ends_the_script():
    stage = Stage()
    job = stage.submit(nodes=2, faults=[{"kind": "launch_failure", "node": 1, "step": 5, "attempt": 0}])
    stage.until(job, "FAILED")
    assert job.ended_at - job.starts_at == 10
    assert listed(stage) == "FAILED|NonZeroExitCode|0|59648|n[01-02]"
    assert stage.run(*ROW)[1] == "FAILED|105:0|n[01-02]\n"
    failure = "Communication connection failure"
    assert stage.log(job).splitlines()[:2] == [
        f"srun: error: Task launch for StepId=1.0 failed on node n02: {failure}",
        f"srun: error: Application launch failed: {failure}",
    ]
    assert stage.log(job).splitlines()[-1] == "srun: error: n01: tasks 0-7: Killed"
    assert "iteration" not in stage.log(job)


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (6, "Aborted"),
        (7, "Bus error"),
        (8, "Floating point exception"),
        (9, "Killed"),
        (11, "Segmentation fault"),
        (15, "Terminated"),
    ],
)
def test_a_task_that_dies_of_a_signal(number, word):
    stage = Stage()
    job = stage.submit(nodes=2, faults=[{"kind": "signal", "step": 3, "node": 1, "exit_code": 128 + number}])
    stage.until(job, "FAILED")
    assert listed(stage) == f"FAILED|NonZeroExitCode|0|{(128 + number) << 8}|n[01-02]"
    assert stage.run(*ROW)[1] == f"FAILED|{number}:0|n[01-02]\n"
    assert f"ExitCode={128 + number}:0" in shown(stage, "job", "1")
    assert f"srun: error: n02: task 10: {word}\n" in stage.log(job)


@pytest.mark.parametrize("number", [9, 15])
def test_a_batch_script_that_dies_of_a_signal_says_nothing(number):
    stage = Stage()
    job = stage.submit(faults=[{"kind": "signal", "step": 3, "exit_code": number}])
    stage.until(job, "FAILED")
    assert listed(stage) == f"FAILED|JobLaunchFailure|0|{number}|n01"
    assert stage.run(*ROW)[1] == f"FAILED|0:{number}|n01\n"
    assert "srun" not in stage.log(job)


def test_a_lost_node_fails_the_attempt():
    stage = Stage(node_timeout_seconds=28)
    job = stage.running(nodes=2, faults=[{"kind": "node_down", "node": 1, "step": 3, "attempt": 0}], **FOREVER)
    stage.wait(40)
    assert listed(stage).startswith("COMPLETING|")
    stage.until(job, "RUNNING")
    assert job.restarts == 1 and "n02" not in job.nodes
    assert stage.run(*ROW)[1].splitlines()[0] == "NODE_FAIL|0:0|n[01-02]"
    at = shown(stage, "node", "n02")
    assert " State=DOWN+NOT_RESPONDING " in at and " Reason=Not responding [" in at

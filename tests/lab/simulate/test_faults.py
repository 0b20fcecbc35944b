"""How does a job end, and what does its log say of it?"""

import re

import pytest

from lab.simulate.jobs import FINAL
from lab.simulate.play import KINDS
from lab.texts.texts import TEXTS
from tests.lab.simulate.stage import Stage

ENDS = [
    pytest.param({"kind": "exit", "exit_code": 3}, ("FAILED", 3, 0, "NonZeroExitCode"), id="exit_code"),
    pytest.param({"kind": "exit", "exit_code": 0}, ("COMPLETED", 0, 0, "None"), id="exit_well"),
    pytest.param({"kind": "silent_exit", "exit_code": 7}, ("FAILED", 7, 0, "NonZeroExitCode"), id="silent_exit"),
    pytest.param({"kind": "ecc"}, ("FAILED", 1, 0, "NonZeroExitCode"), id="ecc"),
    pytest.param({"kind": "sigkill"}, ("FAILED", 137, 0, "NonZeroExitCode"), id="sigkill"),
    pytest.param({"kind": "oom"}, ("OUT_OF_MEMORY", 0, 125, "OutOfMemory"), id="out_of_memory"),
    pytest.param({"kind": "timeout"}, ("TIMEOUT", 0, 0, "TimeLimit"), id="time_limit"),
    pytest.param({"kind": "cancel"}, ("CANCELLED", 0, 15, "None"), id="cancelled_by_its_user"),
    pytest.param({"kind": "lines", "lines": ["odd"]}, ("COMPLETED", 0, 0, "None"), id="only_lines"),
]
LINES = [
    pytest.param("ecc", r"^n02: NVRM: Xid \(PCI:0000:4e:00\): 48, ", id="kernel_names_the_node"),
    pytest.param("ecc", r"^n02: \[rank10\]: RuntimeError: CUDA error: uncorrectable ECC error", id="rank_and_node"),
    pytest.param("ecc", r"^n02:\d+:\d+ \[2\] \S+ NCCL WARN Cuda failure 'uncorrectable ECC", id="nccl"),
    pytest.param("ecc", r"^srun: error: n02: task 10: Exited with exit code 1$", id="srun"),
    pytest.param("ecc", r"^srun: error: n02: tasks 8-9,11-15: Terminated$", id="other_tasks"),
    pytest.param("exit", r"^srun: error: n02: task 10: Exited with exit code 1$", id="exit"),
    pytest.param("sigkill", r"^srun: error: n02: task 10: Killed$", id="killed"),
    pytest.param(
        "oom", r"^slurmstepd-n02: error: Detected 1 oom-kill event\(s\) in StepId=1\.0\. ", id="oom_event"
    ),
    pytest.param("oom", r"^srun: error: n02: task 10: Out Of Memory$", id="oom_task"),
    pytest.param(
        "timeout",
        r"^slurmstepd-n01: error: \*\*\* JOB 1 ON n01 CANCELLED AT \d{4}-\S{14} DUE TO TIME LIMIT \*\*\*$",
        id="time_limit",
    ),
    pytest.param("cancel", r"^slurmstepd-n01: error: \*\*\* JOB 1 ON n01 CANCELLED AT \S+ \*\*\*$", id="cancel"),
]


@pytest.mark.parametrize(("fault", "end"), ENDS)
def test_an_attempt_ends_as_its_fault_says(fault, end):
    stage = Stage()
    job = stage.submit(nodes=2, faults=[{"step": 6, "node": 1, **fault}])
    stage.until(job, end[0])
    assert (job.state, job.exit_code, job.exit_signal, job.reason) == end


@pytest.mark.parametrize(("kind", "pattern"), LINES)
def test_the_log_names_what_broke(kind, pattern):
    stage = Stage()
    job = stage.submit(nodes=2, faults=[{"kind": kind, "step": 6, "node": 1}])
    stage.until(job, "FAILED", "TIMEOUT", "CANCELLED", "OUT_OF_MEMORY")
    assert re.search(pattern, stage.log(job), re.MULTILINE)


def test_a_silent_exit_says_nothing():
    stage = Stage()
    job = stage.submit(faults=[{"kind": "silent_exit", "step": 6}])
    stage.until(job, "FAILED")
    assert stage.log(job).rstrip().endswith("number of nan iterations:   0 |")
    assert "iteration        5/" in stage.log(job)


def test_a_hanging_job_runs_on_and_says_nothing_more():
    stage = Stage()
    job = stage.running(faults=[{"kind": "hang", "step": 6}])
    stage.wait(10)
    said = stage.log(job)
    stage.wait(1000)
    assert job.word == "RUNNING"
    assert stage.log(job) == said
    assert "iteration        5/" in said and "iteration        6/" not in said


def test_lines_are_printed_and_the_job_goes_on():
    stage = Stage()
    job = stage.submit(faults=[{"kind": "lines", "step": 3, "lines": ["Lustre: slow", "odd \x1b[0m text"]}])
    stage.until(job, "COMPLETED")
    before, after = stage.log(job).split("Lustre: slow\nodd \x1b[0m text\n")
    assert "iteration        2/" in before and "iteration        3/" in after


def test_a_fault_of_one_attempt_does_not_come_back():
    stage = Stage()
    job = stage.submit(faults=[{"kind": "exit", "step": 6, "attempt": 0}])
    stage.until(job, "FAILED")
    stage.do("scontrol", "requeue", "1")
    stage.until(job, "COMPLETED")
    assert job.restarts == 1


def test_a_bad_node_breaks_whoever_runs_on_it_and_nobody_else():
    stage = Stage(nodes=5)
    fault = [{"kind": "ecc", "step": 3, "node_name": "n02"}]
    struck, spared = stage.submit(nodes=2, faults=fault), stage.submit(nodes=2, faults=fault)
    stage.until(struck, "FAILED")
    stage.until(spared, "COMPLETED")
    stage.do("scontrol", "requeue", "1")
    stage.until(struck, "RUNNING")
    stage.until(struck, "FAILED")
    assert struck.nodes == ("n01", "n02")
    stage.do("scontrol", "requeuehold", "1")
    stage.do("scontrol", "update", "JobId=1", "ExcNodeList=n02")
    stage.do("scontrol", "release", "1")
    stage.until(struck, "COMPLETED")
    assert struck.nodes == ("n01", "n03")


def test_a_fault_behind_the_checkpoint_strikes_at_once():
    stage = Stage()
    job = stage.submit(faults=[{"kind": "exit", "step": 6}])
    stage.until(job, "FAILED")
    stage.do("scontrol", "requeue", "1")
    stage.until(job, "RUNNING")
    stage.until(job, "FAILED")
    assert "iteration        5/" in stage.log(job)
    assert "iteration        6/" not in stage.log(job)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_fault_can_be_put_on(kind):
    stage = Stage()
    struck = []
    stage.cluster.on_strike(lambda *told: struck.append(told))
    text = {"text": next(iter(TEXTS))} if kind == "text" else {}
    job = stage.submit(faults=[{"kind": kind, "step": 2, "attempt": 0, **text}])
    stage.wait(100)
    assert job.word in FINAL or job.word == "RUNNING" or job.held
    assert len(struck) == 1


def test_a_text_waits_before_its_first_line() -> None:
    stage = Stage(nodes=2)
    job = stage.running(nodes=2, steps=100, faults=[{"kind": "text", "text": "cascade_silent_rank", "step": 2}])
    stage.wait(60)
    assert job.run is not None and job.run.step == 1
    assert "Watchdog caught" not in stage.log(job)
    stage.wait(70)
    assert "Watchdog caught" in stage.log(job)

"""Does a job live as on a real Slurm, from submission to purge? What is expected was recorded on 22.05.8."""

import pytest

from lab.simulate.scheduling import UNAVAILABLE
from tests.lab.simulate.stage import START, Stage

FAILS = [{"kind": "exit", "step": 3, "attempt": 0, "exit_code": 3}]
FOREVER = {"steps": 100_000}
COLUMNS = "State Reason RestartCnt SubmitTime StartTime EndTime exit_code NodeList NumNodes PriorityLong"
FIELDS = ",".join(f"{name}:|" for name in COLUMNS.split())


def listed(stage: Stage, number: int = 1) -> list[str]:
    """State, reason, restarts, submit, start, end, exit, nodes, node count, priority."""
    code, out, err = stage.run("squeue", "-h", "-a", "-r", "-t", "all", "-j", str(number), "-O", FIELDS)
    assert (code, err) == (0, "")
    return out.rstrip("|\n").split("|")


def test_from_running_to_running_as_the_next_attempt():
    stage = Stage(requeue_wait_seconds=6)
    job = stage.running(nodes=2, **FOREVER)
    stage.wait(9.45)
    first = str(int(START))
    assert listed(stage)[:8] == ["RUNNING", "None", "0", first, first, "NONE", "0", "n[01-02]"]
    stage.do("scontrol", "requeuehold", "Incomplete", "1")
    assert listed(stage)[7:9] == ["n[01-02]", "2"]
    stage.wait(0.06)
    now = str(int(START) + 10)
    ending = ["COMPLETING", "job requeued in held state", "1", first, now, "NONE", "0", "n01", "1", "0"]
    assert listed(stage) == ending
    stage.wait(0.2)
    begins = str(int(START) + 16)
    held = ["PENDING", "job requeued in held state", "1", now, begins, "NONE", "0", "", "2", "0"]
    assert listed(stage) == held
    stage.wait(100)
    assert listed(stage) == held
    stage.do("scontrol", "release", "1")
    assert listed(stage)[:3] == ["PENDING", "None", "1"]
    assert int(listed(stage)[9]) > 0
    stage.wait(0.6)
    assert listed(stage)[:4] == ["RUNNING", "None", "1", now]
    assert job.nodes == ("n01", "n02")


def test_a_released_job_waits_for_its_begin_time():
    stage = Stage(requeue_wait_seconds=6)
    job = stage.running(**FOREVER)
    stage.do("scontrol", "requeue", "1")
    stage.until(job, "PENDING")
    assert job.reason == "None"
    stage.wait(1)
    assert job.reason == "BeginTime"
    stage.until(job, "RUNNING")
    assert job.starts_at >= job.eligible_at == job.submitted_at + 6


def test_processes_that_ignore_term_end_with_the_kill():
    stage = Stage(kill_wait_seconds=2)
    job = stage.running(nodes=2, ignores_term=True, **FOREVER)
    stage.do("scontrol", "requeuehold", "1")
    stage.wait(4.6)
    assert listed(stage)[0] == "COMPLETING"
    assert listed(stage)[4] == str(int(stage.cluster.now))  # the start rolls on
    stage.wait(0.2)
    assert job.word == "PENDING"


def test_a_hung_job_does_not_obey_either():
    stage = Stage(kill_wait_seconds=2)
    job = stage.running(faults=[{"kind": "hang", "step": 2}])
    stage.wait(10)
    stage.do("scontrol", "requeuehold", "1")
    stage.wait(4)
    assert job.word == "COMPLETING"
    stage.wait(1)
    assert job.word == "PENDING"


def test_two_attempts_never_share_a_submit_time():
    stage = Stage()
    job = stage.submit()
    seen = [job.submitted_at]
    for _ in range(4):
        stage.do("scancel", "1")
        stage.do("scontrol", "requeue", "1")
        seen.append(job.submitted_at)
    assert seen == [int(START) + later for later in range(5)]


def test_a_new_attempt_is_not_hurried_by_what_the_old_one_had_begun():
    stage = Stage(requeue_wait_seconds=1)
    job = stage.running(step_seconds=20)
    stage.wait(5)
    stage.do("scontrol", "requeue", "1")
    stage.until(job, "RUNNING")
    stage.wait(110)
    assert stage.log(job).count("elapsed time per iteration") == 5


def test_a_failed_job_is_pending_at_once_and_shows_its_old_exit_code():
    stage = Stage()
    job = stage.submit(faults=FAILS)
    stage.until(job, "FAILED")
    stage.wait(5)
    stage.do("scontrol", "requeuehold", "1")
    assert listed(stage)[:3] == ["PENDING", "job requeued in held state", "1"]
    assert listed(stage)[6] == str(3 << 8)
    stage.do("scontrol", "release", "1")
    assert listed(stage)[6] == "0"


def test_requeue_reruns_what_is_finished_and_incomplete_does_not():
    stage = Stage()
    job = stage.submit()
    stage.until(job, "COMPLETED")
    stage.do("scontrol", "requeue", "Incomplete", "1")
    assert job.word == "COMPLETED"
    stage.do("scontrol", "requeue", "1")
    assert (job.word, job.restarts) == ("PENDING", 1)
    stage.do("scontrol", "requeue", "Incomplete", "1")
    assert job.restarts == 1


def test_a_cancelled_job_that_still_ends_can_be_resurrected():
    stage = Stage()
    job = stage.running(nodes=2, ignores_term=True, **FOREVER)
    stage.do("scancel", "1")
    assert listed(stage)[:2] == ["COMPLETING", "None"]
    stage.do("scontrol", "requeuehold", "Incomplete", "1")
    assert (job.state, job.restarts) == ("CANCELLED", 0)
    stage.do("scontrol", "requeuehold", "1")
    stage.until(job, "PENDING")
    assert job.restarts == 1
    assert stage.run("sacct", "-D", "-X", "-n", "-P", "-o", "State")[1].splitlines() == ["REQUEUED", "PENDING"]


def test_cancel_while_a_requeued_attempt_ends():
    stage = Stage()
    job = stage.running(ignores_term=True, **FOREVER)
    stage.do("scontrol", "requeue", "1")
    stage.do("scancel", "1")
    assert job.word == "COMPLETING"
    stage.wait(60)
    assert (job.word, job.restarts) == ("CANCELLED", 1)


def test_cancel_of_a_waiting_job():
    stage = Stage()
    job = stage.submit()
    stage.do("scancel", "1")
    assert (job.word, job.starts_at, job.ended_at, job.nodes) == ("CANCELLED", int(START), int(START), ())
    stage.wait(10)
    assert job.word == "CANCELLED"
    assert stage.run("sacct", "-X", "-n", "-P", "-o", "State,NodeList")[1] == "CANCELLED by 0|None assigned\n"


def test_the_time_limit_ends_a_job():
    stage = Stage()
    job = stage.running(time_limit_seconds=60, **FOREVER)
    assert listed(stage)[5] == str(job.starts_at + 60)
    stage.until(job, "TIMEOUT", seconds=70)
    assert (job.reason, job.ended_at - job.starts_at) == ("TimeLimit", 60)


def test_a_longer_time_limit_counts():
    stage = Stage()
    job = stage.running(time_limit_seconds=60, **FOREVER)
    stage.do("scontrol", "update", "JobId=1", "TimeLimit=2")
    stage.wait(100)
    assert job.word == "RUNNING"
    stage.wait(30)
    assert job.word == "TIMEOUT"


def test_a_finished_job_is_purged_with_its_log_and_the_accounting_remembers():
    stage = Stage(min_job_age_seconds=60)
    job = stage.submit(faults=FAILS)
    stage.until(job, "FAILED")
    stage.wait(59)
    assert 1 in stage.cluster.jobs
    stage.wait(2)
    assert stage.cluster.jobs == {}
    assert stage.logs.files == {} and stage.logs.checkpoints == {}
    assert stage.refused("scontrol", "requeue", "1") == "Invalid job id specified for job 1\n"
    assert stage.run("sacct", "-X", "-n", "-P", "-j", "1", "-o", "State,ExitCode")[1] == "FAILED|3:0\n"


def test_a_requeue_stops_the_purge():
    stage = Stage(min_job_age_seconds=60)
    job = stage.submit(faults=FAILS)
    stage.until(job, "FAILED")
    stage.wait(50)
    stage.do("scontrol", "requeuehold", "1")
    stage.wait(1000)
    assert stage.cluster.jobs == {1: job} and job.held


def test_what_the_accounting_remembers_is_bounded():
    stage = Stage(min_job_age_seconds=2, remembered_jobs=3)
    for _ in range(6):
        stage.until(stage.submit(steps=0, startup_seconds=0), "COMPLETED")
    stage.wait(10)
    assert list(stage.cluster.forgotten) == [4, 5, 6]


def test_first_come_first_served():
    stage = Stage(nodes=4)
    stage.running(nodes=3, **FOREVER)
    second, third = stage.submit(nodes=2), stage.submit(nodes=1)
    stage.wait(1)
    assert (second.reason, third.reason) == ("Resources", "Priority")
    stage.do("scancel", "1")
    stage.wait(1)
    assert second.nodes == ("n01", "n02") and third.nodes == ("n03",)


def test_a_released_job_stands_behind_those_that_waited_meanwhile():
    stage = Stage(nodes=2)
    first = stage.submit(nodes=2, **FOREVER)
    stage.do("scontrol", "hold", "1")
    second = stage.submit(nodes=2, **FOREVER)
    stage.do("scontrol", "release", "1")
    stage.wait(1)
    assert (first.word, second.word) == ("PENDING", "RUNNING")


@pytest.mark.parametrize(
    ("prepare", "play", "reason"),
    [
        pytest.param((), {"nodes": 5}, "PartitionNodeLimit", id="more_than_there_are"),
        pytest.param(
            ("scontrol", "update", "NodeName=n01", "State=DRAIN", "Reason=x"),
            {"nodes": 4},
            UNAVAILABLE,
            id="drained",
        ),
        pytest.param(
            ("scontrol", "update", "NodeName=n[02-03]", "State=DOWN", "Reason=x"),
            {"nodes": 4},
            UNAVAILABLE,
            id="down",
        ),
    ],
)
def test_why_a_job_waits(prepare, play, reason):
    stage = Stage(nodes=4)
    if prepare:
        stage.do(*prepare)
    job = stage.submit(**play)
    stage.wait(1)
    assert (job.word, job.reason) == ("PENDING", reason)
    other = stage.submit()
    stage.wait(1)
    assert other.word == "RUNNING"  # it stands in nobody's way


def test_too_many_exclusions_look_like_a_hold_and_are_cured_by_fewer():
    stage = Stage(nodes=4)
    job = stage.running(nodes=2, **FOREVER)
    stage.do("scontrol", "requeuehold", "1")
    stage.until(job, "PENDING")
    stage.do("scontrol", "update", "JobId=1", "ExcNodeList=n01,n02,n03")
    stage.do("scontrol", "release", "1")
    stage.wait(5)
    assert listed(stage)[:2] == ["PENDING", "BadConstraints"]
    assert listed(stage)[9] == "0"
    stage.do("scontrol", "update", "JobId=1", "ExcNodeList=n01")
    assert job.priority > 0
    stage.wait(1)
    assert job.nodes == ("n02", "n03")


@pytest.mark.parametrize(
    ("begin", "lives"), [("now", False), ("now+2", True)], ids=["credential_revoked", "two_seconds_are_enough"]
)
def test_a_start_time_too_early_kills_the_next_attempt(begin, lives):
    stage = Stage(requeue_wait_seconds=121)
    job = stage.running(**FOREVER)
    stage.wait(10)
    said = stage.log(job)
    stage.do("scontrol", "requeue", "1")
    stage.until(job, "PENDING")
    stage.do("scontrol", "update", "JobId=1", f"StartTime={begin}")
    stage.wait(3)
    if lives:
        assert job.word == "RUNNING"
    else:
        assert (job.word, job.exit_code, job.exit_signal) == ("FAILED", 1, 0)
        assert said in stage.log(job)  # no output of its own


def test_a_hold_on_a_running_job_shows_at_its_requeue():
    stage = Stage()
    job = stage.running(**FOREVER)
    stage.do("scontrol", "hold", "1")
    assert listed(stage)[:2] == ["RUNNING", "JobHeldAdmin"]
    stage.do("scontrol", "requeue", "1")
    stage.wait(100)
    assert (job.held, job.reason) == (True, "JobHeldAdmin")


def test_an_administrators_hold_on_top_of_a_requeuehold_leaves_no_trace():
    stage = Stage()
    job = stage.running(**FOREVER)
    stage.do("scontrol", "requeuehold", "1")
    stage.until(job, "PENDING")
    before = listed(stage)
    stage.do("scontrol", "hold", "1")
    stage.do("scontrol", "uhold", "1")
    assert listed(stage) == before
    stage.do("scontrol", "release", "1")
    assert not job.held


def test_release_and_exclusions_are_taken_while_the_old_attempt_ends():
    stage = Stage()
    job = stage.running(nodes=2, ignores_term=True, **FOREVER)
    stage.do("scontrol", "requeuehold", "1")
    stage.do("scontrol", "update", "JobId=1", "AdminComment=mark", "ExcNodeList=n01")
    stage.do("scontrol", "release", "1")
    assert (job.word, job.reason) == ("COMPLETING", "None")
    stage.until(job, "RUNNING")
    assert job.nodes == ("n02", "n03")
    assert job.admin_comment == "mark"


def test_special_exit_is_held_until_released():
    stage = Stage()
    job = stage.running(**FOREVER)
    stage.do("scontrol", "requeuehold", "State=SpecialExit", "1")
    stage.wait(100)
    assert (job.word, job.priority) == ("SPECIAL_EXIT", 0)
    stage.do("scontrol", "release", "1")
    assert job.word == "PENDING"
    stage.until(job, "RUNNING")

"""Does an act from outside do what it says, and is one that cannot be done refused?"""

import pytest

from lab.simulate import lies
from lab.simulate.client import HUNG
from lab.simulate.outside import OUTSIDE, Deed, NotDone, act
from lab.simulate.virtual_logs import VirtualLogs
from tests.lab.simulate.stage import START, Stage

FOREVER = {"steps": 100_000}
LIST = ("squeue", "-h", "-t", "all", "-O", "JobID:|,State:")


def does(stage: Stage, do: str, *words: str) -> Deed:
    return act(stage.cluster, do, words, sorted(stage.cluster.jobs))


def listed(stage: Stage, *argv: str) -> tuple[int, str, str]:
    return lies.answer(stage.cluster, argv or LIST, "%s")


@pytest.fixture
def stage():
    """Two running jobs, the first on n01 and n02."""
    stage = Stage()
    stage.submit(nodes=2, **FOREVER)
    stage.running(**FOREVER)
    return stage


def test_a_node_that_stops_answering(stage):
    assert does(stage, "node_down", "n02") == Deed((1,), ("n02",))
    stage.wait(30)
    assert stage.cluster.nodes["n02"].word == "DOWN+NOT_RESPONDING"
    assert stage.cluster.jobs[1].restarts == 1
    assert does(stage, "node_resume", "n02") == Deed((), ("n02",))
    assert stage.cluster.nodes["n02"].usable


def test_a_drained_node_keeps_its_job(stage):
    assert does(stage, "node_drain", "n01", "disk is full") == Deed((1,), ("n01",))
    stage.wait(30)
    assert stage.cluster.jobs[1].word == "RUNNING"
    assert stage.cluster.nodes["n01"].reason == "disk is full"
    does(stage, "node_resume", "n01")
    stage.wait(1)
    assert stage.cluster.nodes["n01"].usable


def test_a_node_that_restarts_is_down_until_somebody_resumes_it(stage):
    assert does(stage, "node_reboot", "n02", "100") == Deed((1,), ("n02",))
    stage.wait(90)
    assert stage.cluster.nodes["n02"].word == "DOWN+NOT_RESPONDING"
    stage.wait(20)
    node = stage.cluster.nodes["n02"]
    assert (node.word, node.reason) == ("DOWN", "Node unexpectedly rebooted")
    assert node.booted_at == int(START + 100.6)
    assert stage.cluster.jobs[1].restarts == 1
    does(stage, "node_resume", "n02")
    stage.wait(1)
    assert node.usable


def test_a_restart_faster_than_the_controller_notices_fails_the_job_all_the_same(stage):
    stage.cluster.settings = Stage(node_timeout_seconds=300).cluster.settings
    does(stage, "node_reboot", "n02", "100")
    stage.wait(101)
    assert stage.cluster.jobs[1].restarts == 1


def test_a_cancelled_job(stage):
    assert does(stage, "cancel", "1") == Deed((2,))
    stage.wait(1)
    assert stage.cluster.jobs[2].state == "CANCELLED"
    with pytest.raises(NotDone, match="already finished"):
        does(stage, "cancel", "1")


def test_requeue_by_an_administrator_and_by_others(stage):
    assert does(stage, "requeue", "0") == Deed((1,))
    stage.wait(1)
    with pytest.raises(NotDone, match="requeue: Job is pending execution"):
        does(stage, "requeue", "0")
    stage.until(stage.cluster.jobs[1], "RUNNING")
    assert does(stage, "foreign_requeue", "0") == Deed((1,))
    assert stage.cluster.jobs[1].restarts == 2


def test_others_let_go_of_what_is_held_and_rerun_what_has_ended(stage):
    stage.do("scontrol", "requeuehold", "1")
    stage.wait(10)
    does(stage, "foreign_requeue", "0")
    stage.until(stage.cluster.jobs[1], "RUNNING")
    does(stage, "cancel", "0")
    stage.wait(5)
    does(stage, "foreign_requeue", "0")
    assert stage.cluster.jobs[1].restarts == 2


def test_a_running_job_that_is_held_stays_held_at_its_next_requeue(stage):
    does(stage, "hold", "0")
    assert stage.cluster.jobs[1].word == "RUNNING"
    does(stage, "requeue", "0")
    stage.wait(60)
    assert stage.cluster.jobs[1].held
    assert "JobHeldAdmin" in stage.run("scontrol", "show", "job", "1")[1]
    does(stage, "release", "0")
    stage.until(stage.cluster.jobs[1], "RUNNING")
    with pytest.raises(NotDone, match="not held"):
        does(stage, "release", "0")


def test_a_suspended_job_is_listed_as_such(stage):
    does(stage, "suspend", "0")
    assert listed(stage) == (0, "2|RUNNING\n1|SUSPENDED\n", "")
    assert listed(stage, "squeue", "-h", "-t", "S", "-o", "%i %t") == (0, "1 S\n", "")
    assert listed(stage, "squeue", "-h", "-o", "%i")[1] == "2\n1\n"
    assert "JobState=SUSPENDED " in listed(stage, "scontrol", "show", "job", "1")[1]


def test_a_controller_that_is_stopped(stage):
    does(stage, "stop_controller")
    assert listed(stage)[0] == 1
    with pytest.raises(NotDone, match="controller is down"):
        does(stage, "cancel", "0")
    does(stage, "start_controller")
    assert listed(stage) == (0, "1|RUNNING\n2|RUNNING\n", "")


@pytest.mark.parametrize(
    ("do", "words", "sentence"),
    [
        ("fly", (), "Nobody can do 'fly'; known are node_down, "),
        ("node_down", ("n99",), "There is no node 'n99'."),
        ("node_down", (), "There is no node ''."),
        ("node_reboot", ("n01", "soon"), "'soon' is no number."),
        ("cancel", ("7",), "The case has no job 7."),
        ("cancel", ("-1",), "'-1' is no number."),
        ("cancel", ("nan",), "'nan' is no number."),
        ("rotate_logs", (), "Only logs of virtual time can be stopped, rotated and truncated."),
        ("node_resume", ("n99",), "There is no node 'n99'."),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_sentence(stage, do, words, sentence):
    with pytest.raises(NotDone) as refused:
        does(stage, do, *words)
    assert str(refused.value).startswith(sentence)


def test_a_job_that_is_gone_cannot_be_struck(stage):
    does(stage, "cancel", "1")
    stage.wait(400)
    with pytest.raises(NotDone, match="Job 1 is gone"):
        act(stage.cluster, "requeue", ("1",), (1, 2))


# --- listings that lie


TRUE = (0, "1|RUNNING\n2|RUNNING\n", "")


@pytest.mark.parametrize("do", [do for do in OUTSIDE if do.startswith("listing_")])
def test_afterwards_the_listing_tells_the_truth_again(stage, do):
    does(stage, do)
    listed(stage)
    stage.wait(60)
    does(stage, "listing_normal")
    assert listed(stage) == TRUE
    assert list(stage.cluster.jobs) == [1, 2]


def test_an_empty_listing(stage):
    does(stage, "listing_empty")
    assert listed(stage) == (0, "", "")
    assert listed(stage, "squeue", "-h", "-j", "1") == (1, "", "slurm_load_jobs error: Invalid job id specified\n")
    assert listed(stage, "scontrol", "-o", "show", "job", "1")[0] == 1
    assert "1|RUNNING" in listed(stage, "sacct", "-X", "-n", "-P", "-o", "JobID,State")[1]


def test_a_stale_listing(stage):
    does(stage, "listing_stale")
    stage.do("scancel", "2")
    stage.submit(**FOREVER)
    stage.wait(60)
    assert listed(stage) == TRUE
    assert "JobState=RUNNING" in listed(stage, "scontrol", "show", "job", "2")[1]
    does(stage, "listing_normal")
    assert listed(stage)[1].splitlines() == ["2|CANCELLED", "1|RUNNING", "3|RUNNING"]


def test_a_listing_that_is_an_error_inside_a_success(stage):
    does(stage, "listing_error")
    code, out, err = listed(stage)
    assert (code, out) == (0, "") and "Unable to contact slurm controller" in err


def test_a_torn_listing(stage):
    does(stage, "listing_garbled")
    code, out, err = listed(stage)
    assert (code, err) == (0, "")
    assert out not in ("", TRUE[1]) and "\ufffd" in out


def test_a_slow_listing(stage):
    does(stage, "listing_slow")
    assert listed(stage) == (1, "", f"slurm_load_jobs error: {HUNG}\n")
    assert lies.seconds(stage.cluster, LIST) == 20
    does(stage, "listing_slow", "12")
    assert listed(stage) == TRUE
    assert lies.seconds(stage.cluster, LIST) == 12
    assert lies.seconds(stage.cluster, ("scontrol", "release", "1")) == 0


def test_what_changes_something_is_done_whatever_the_listing_says(stage):
    for how in lies.LIES:
        lies.begin(stage.cluster, how)
        assert listed(stage, "scontrol", "update", "JobId=1", f"AdminComment={how}") == (0, "", "")
        assert stage.cluster.jobs[1].admin_comment == how
        assert listed(stage, "scontrol", "ping")[0] == 0
        assert "n02" in listed(stage, "scontrol", "-o", "show", "nodes")[1]


# --- logs


@pytest.fixture
def logged(tmp_path):
    """As `stage`, with real files."""
    stage = Stage()
    stage.cluster.logs = VirtualLogs(tmp_path)
    stage.cluster.logs.read_clock(lambda: stage.cluster.now)
    stage.submit(**FOREVER)
    stage.running(**FOREVER)
    stage.wait(20)
    return stage


def test_a_collector_that_stops_brings_everything_when_it_goes_on(logged, tmp_path):
    assert does(logged, "logs_stop") == Deed((1, 2))
    before = (tmp_path / "1.log").read_text()
    logged.wait(60)
    assert (tmp_path / "1.log").read_text() == before
    does(logged, "logs_start")
    after = (tmp_path / "1.log").read_text()
    assert after.startswith(before) and after.count("iteration ") - before.count("iteration ") > 55
    assert (tmp_path / "1.log").stat().st_mtime == pytest.approx(logged.cluster.now, abs=1e-3)


def test_rotated_and_truncated_logs(logged, tmp_path):
    before = (tmp_path / "1.log").read_text()
    assert does(logged, "rotate_logs", "0") == Deed((1,))
    assert (tmp_path / "1.log.1").read_text() == before
    assert (tmp_path / "1.log").read_text() == ""
    assert not (tmp_path / "2.log.1").exists()
    assert does(logged, "truncate_logs") == Deed((1, 2))
    assert (tmp_path / "2.log").read_text() == ""
    logged.wait(3)
    assert "iteration" in (tmp_path / "1.log").read_text() and "iteration" in (tmp_path / "2.log").read_text()

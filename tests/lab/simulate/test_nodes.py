"""What becomes of nodes, and of the jobs on them? What is expected was recorded on 22.05.8."""

import pytest

from tests.lab.simulate.stage import Stage

FOREVER = {"steps": 100_000}


def test_a_lost_node_is_called_down_and_its_jobs_come_back_elsewhere():
    stage = Stage(node_timeout_seconds=10)
    job = stage.running(nodes=2, faults=[{"kind": "node_down", "step": 2, "node": 1, "attempt": 0}])
    stage.wait(3)
    said = stage.log(job)
    stage.wait(6)
    assert stage.log(job) == said
    assert (job.word, stage.cluster.nodes["n02"].word) == ("RUNNING", "ALLOCATED+NOT_RESPONDING")
    stage.until(job, "COMPLETING")
    assert stage.cluster.nodes["n02"].word == "DOWN+COMPLETING+NOT_RESPONDING"
    assert stage.cluster.nodes["n02"].reason == "Not responding"
    assert "DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***" in stage.log(job)
    stage.until(job, "COMPLETED")
    assert (job.restarts, job.nodes) == (1, ("n01", "n03"))
    assert stage.run("sacct", "-D", "-X", "-n", "-P", "-o", "State")[1].splitlines() == ["NODE_FAIL", "COMPLETED"]
    stage.cluster.return_node("n02")
    assert stage.cluster.nodes["n02"].word == "IDLE"


@pytest.mark.parametrize(("requeue", "word"), [(True, "PENDING"), (False, "NODE_FAIL")])
def test_a_node_set_down_ends_its_jobs_at_once(requeue, word):
    stage = Stage()
    job = stage.running(nodes=2, requeue=requeue, **FOREVER)
    stage.do("scontrol", "update", "NodeName=n02", "State=DOWN", "Reason=broken")
    assert job.word == word
    if not requeue:
        assert (job.reason, job.nodes) == ("NodeDown", ("n01", "n02"))
    stage.wait(60)
    assert job.word == ("RUNNING" if requeue else "NODE_FAIL")


def test_a_node_that_comes_back_in_time_has_lost_its_jobs_all_the_same():
    stage = Stage(node_timeout_seconds=10)
    job = stage.running(**FOREVER)
    stage.cluster.lose_node("n01")
    stage.wait(2)
    stage.cluster.return_node("n01")
    assert (job.word, job.restarts) == ("PENDING", 1)
    stage.wait(60)
    assert stage.cluster.nodes["n01"].word == "ALLOCATED"


def test_a_job_on_a_lost_node_that_is_requeued_ends_when_the_node_is_given_up():
    stage = Stage(node_timeout_seconds=10)
    job = stage.running(**FOREVER)
    stage.cluster.lose_node("n01")
    stage.do("scontrol", "requeuehold", "1")
    stage.wait(9)
    assert job.word == "COMPLETING"
    stage.wait(2)
    assert (job.word, job.restarts, job.held) == ("PENDING", 1, True)


def test_a_drained_node_keeps_its_job_and_takes_no_other():
    stage = Stage(nodes=2)
    job = stage.running(**FOREVER)
    stage.do("scontrol", "update", "NodeName=n01", "State=DRAIN", "Reason=bad gpu")
    node = stage.cluster.nodes["n01"]
    assert (node.word, node.long, node.short) == ("ALLOCATED+DRAIN", "draining", "drng")
    stage.do("scontrol", "requeue", "1")
    stage.until(job, "RUNNING")
    assert job.nodes == ("n02",)
    assert (node.word, node.long, node.short) == ("IDLE+DRAIN", "drained", "drain")
    stage.do("scontrol", "update", "NodeName=n01", "State=RESUME")
    assert (node.word, node.long) == ("IDLE+NOT_RESPONDING", "idle*")
    stage.wait(1)
    assert (node.word, node.reason) == ("IDLE", "")


def test_several_jobs_share_a_node_when_it_has_room():
    stage = Stage(nodes=1, jobs_per_node=2)
    first, second, third = (stage.submit(**FOREVER) for _ in range(3))
    stage.wait(1)
    assert [first.word, second.word, third.word] == ["RUNNING", "RUNNING", "PENDING"]
    assert stage.cluster.nodes["n01"].word == "ALLOCATED"
    stage.do("scancel", "1")
    stage.wait(1)
    assert third.word == "RUNNING"


def test_nothing_starts_while_the_controller_is_down_and_jobs_run_on():
    stage = Stage()
    job, waiting = stage.running(), stage.submit()
    stage.cluster.stop_controller()
    stage.wait(60)
    assert "after training is done" in stage.log(job)
    assert waiting.word == "PENDING"
    stage.cluster.start_controller()
    stage.wait(1)
    assert (job.word, waiting.word) == ("COMPLETED", "RUNNING")

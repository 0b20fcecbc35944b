"""Is a job that was suspended silent until it goes on, and does a controller without its state count anew?"""

import pytest

from lab.simulate import outside
from lab.simulate.jobs import RUNNING, SUSPENDED
from lab.simulate.model import Cluster
from lab.simulate.play import Play

START = 1_790_000_000.0


def _cluster(**play: object) -> Cluster:
    cluster = Cluster(START)
    cluster.submit(Play(nodes=1, step_seconds=1.0, startup_seconds=1.0, **play))  # type: ignore[arg-type]
    cluster.advance(START + 20)
    return cluster


def _log(cluster: Cluster) -> str:
    return cluster.logs.files["slurm-1.out"]  # type: ignore[attr-defined,no-any-return]


def test_a_suspended_job_is_silent_and_keeps_its_nodes() -> None:
    cluster = _cluster()
    outside.act(cluster, "suspend", ("0",), [1])
    before = _log(cluster)
    cluster.advance(START + 200)
    assert _log(cluster) == before
    assert cluster.jobs[1].state == SUSPENDED
    assert 1 in cluster.nodes["n01"].jobs


def test_it_goes_on_where_it_was() -> None:
    cluster = _cluster(steps=40)
    outside.act(cluster, "suspend", ("0",), [1])
    cluster.advance(START + 200)
    outside.act(cluster, "unsuspend", ("0",), [1])
    assert cluster.jobs[1].state == RUNNING
    cluster.advance(START + 300)
    assert cluster.jobs[1].state == "COMPLETED"
    assert _log(cluster).count("| consumed samples:") == 40


@pytest.mark.parametrize(("do", "first"), [("unsuspend", ""), ("suspend", "suspend")])
def test_only_what_runs_is_suspended_and_only_that_goes_on(do: str, first: str) -> None:
    cluster = _cluster()
    if first:
        outside.act(cluster, first, ("0",), [1])
    with pytest.raises(outside.NotDone):
        outside.act(cluster, do, ("0",), [1])


def test_a_suspended_job_can_be_cancelled_and_leaves_its_nodes() -> None:
    cluster = _cluster()
    outside.act(cluster, "suspend", ("0",), [1])
    outside.act(cluster, "cancel", ("0",), [1])
    cluster.advance(START + 60)
    assert cluster.jobs[1].state == "CANCELLED"
    assert not cluster.nodes["n01"].jobs


def test_a_controller_without_its_state_gives_a_number_again() -> None:
    cluster = _cluster(steps=3)
    cluster.advance(START + 60)
    assert outside.act(cluster, "lose_state", (), [1]).jobs == (1,)
    assert not cluster.jobs
    assert cluster.submit(Play(name="other")) == 1


def test_no_state_is_lost_under_a_running_job() -> None:
    with pytest.raises(outside.NotDone):
        outside.act(_cluster(), "lose_state", (), [1])

"""Does the Slurm adapter keep the contract on a real Slurm, and what else is true only there?"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from schedulers.hostlist import collapse, expand
from schedulers.port import NoSuchJob, Refused
from schedulers.states import JobState
from tests.schedulers.contract import MARK, SchedulerContract
from tests.schedulers.real import RealCluster
from tests.schedulers.recording import HOSTNAMES

pytestmark = pytest.mark.slurm

SLEEP = "#!/bin/bash\nsleep 600\n"


@pytest.fixture
def cluster(real_cluster: RealCluster) -> Iterator[RealCluster]:
    yield real_cluster


class TestContract(SchedulerContract):
    """The contract on a real Slurm."""


def test_the_last_task_of_an_array_is_held_without_its_siblings(cluster, scheduler, wait):
    """Its number is also that of the whole array: `scontrol requeuehold 7` would take all of them.

    Observed: once it ended, `scancel 8` of a sibling is accepted and does nothing; `scancel 7_0` works.
    """
    array = cluster.lab.submit(SLEEP, "--array=0-2")
    tasks = wait.until(
        lambda: [row for row in scheduler.jobs().jobs if row.array_job == array],
        lambda rows: len(rows) == 3 and all(row.state is JobState.RUNNING for row in rows),
    )
    last = next(row for row in tasks if row.number == array)
    scheduler.requeue_hold(array, running=True)
    assert wait.job(array, JobState.HELD).restarts == 1
    scheduler.mark(array, MARK)
    scheduler.update_exclusions(array, last.nodes)
    held = scheduler.job(array)
    assert (held.row.admin_comment, held.row.array_task) == (MARK, last.array_task)
    assert held.excluded_nodes == last.nodes
    scheduler.release(array)
    assert wait.job(array, JobState.RUNNING).nodes != last.nodes
    scheduler.cancel(array)
    wait.job(array, JobState.CANCELLED)
    for row in tasks:
        if row != last:
            assert scheduler.job(row.number).row == row
            scheduler.cancel(row.number)
            wait.job(row.number, JobState.CANCELLED)


def test_waiting_tasks_of_an_array_are_one_row_on_which_nobody_acts(cluster, scheduler):
    array = cluster.lab.submit(SLEEP, "--array=0-3", "--hold")
    (row,) = [row for row in scheduler.jobs().jobs if row.array_job == array]
    assert (row.number, row.array_task, row.state) == (array, None, JobState.HELD)
    assert scheduler.job(array).row == row
    with pytest.raises(Refused):
        scheduler.release(array)
    assert scheduler.job(array).row.held


def test_only_the_leader_of_a_heterogeneous_job_is_requeued(cluster, scheduler, wait):
    leader = cluster.lab.submit(SLEEP, "-N1", ":", "-N1")
    parts = wait.until(
        lambda: [row for row in scheduler.jobs().jobs if row.het_leader == leader],
        lambda rows: len(rows) == 2 and all(row.state is JobState.RUNNING for row in rows),
    )
    follower = max(row.number for row in parts)
    with pytest.raises(Refused):
        scheduler.requeue_hold(follower, running=True)
    scheduler.requeue_hold(leader, running=True)
    assert wait.job(leader, JobState.HELD).restarts == 1
    assert wait.job(follower, JobState.HELD).restarts == 1


def test_a_list_of_nodes_is_read_and_written_as_slurm_does(cluster):
    for text in HOSTNAMES:
        names = tuple(cluster.lab.client(["scontrol", "show", "hostnames", text]).split())
        assert expand(text) == names
        written = collapse(names)
        assert sorted(set(names)) == sorted(cluster.lab.client(["scontrol", "show", "hostnames", written]).split())


def test_waiting_tasks_get_their_exclusions_together_and_stay_one_record(cluster, scheduler, wait):
    """Slurm splits a record of which it is told a part into one job for each task."""
    names = cluster.node_names
    array = cluster.lab.submit(SLEEP, "--array=0-9", "--exclusive", f"--nodes={len(names)}")
    running = wait.until(
        lambda: [row for row in scheduler.jobs().jobs if row.array_job == array and row.state is JobState.RUNNING],
        lambda rows: len(rows) == 1,
    )
    cluster.lab.client(["scontrol", "hold", f"{array}_7"])
    (group,) = scheduler.waiting_tasks(array)
    assert (group.tasks, group.excluded_nodes, group.user) == ((1, 2, 3, 4, 5, 6, 8, 9), (), cluster.user)
    scheduler.exclude_for_tasks(array, group.tasks, (names[0],))
    (group,) = scheduler.waiting_tasks(array)
    assert (group.tasks, group.excluded_nodes) == ((1, 2, 3, 4, 5, 6, 8, 9), (names[0],))
    numbers = {row.number for row in scheduler.jobs().jobs if row.array_job == array}
    assert len(numbers) == 3  # what runs, what is held, and all others together
    held = next(row for row in scheduler.jobs().jobs if row.array_job == array and row.array_task == 7)
    assert (held.state, scheduler.job(held.number).excluded_nodes) == (JobState.HELD, ())
    assert scheduler.job(running[0].number).excluded_nodes == ()
    stuck = wait.until(lambda: scheduler.waiting_tasks(array), lambda groups: any(one.stuck for one in groups))
    assert stuck[0].tasks == group.tasks  # all nodes were asked for
    scheduler.exclude_for_tasks(array, group.tasks, ())
    (group,) = wait.until(
        lambda: scheduler.waiting_tasks(array), lambda groups: not any(one.stuck for one in groups)
    )
    assert group.excluded_nodes == ()
    cluster.lab.client(["scancel", str(array)])


def test_tasks_that_began_meanwhile_are_no_refusal(cluster, scheduler, wait):
    array = cluster.lab.submit(SLEEP, "--array=0-9", "--exclusive")
    (group,) = wait.until(
        lambda: scheduler.waiting_tasks(array), lambda groups: len(groups) == 1 and len(groups[0].tasks) < 10
    )
    scheduler.exclude_for_tasks(array, (0, *group.tasks), (cluster.node_names[1],))
    (after,) = scheduler.waiting_tasks(array)
    assert after == replace(group, excluded_nodes=(cluster.node_names[1],))
    assert all(
        row.number == array for row in scheduler.jobs().jobs if row.array_task is None and row.array_job == array
    )
    with pytest.raises(Refused):
        scheduler.exclude_for_tasks(array, group.tasks, ("no-such-node",))
    with pytest.raises(Refused):
        scheduler.exclude_for_tasks(array, (), (cluster.node_names[1],))
    with pytest.raises(NoSuchJob):
        scheduler.waiting_tasks(60_000_000)
    cluster.lab.client(["scancel", str(array)])

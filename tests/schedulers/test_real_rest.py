"""Does a Slurm that is read through slurmrestd keep the contract, and does it say what the commands say?"""

import time
from collections.abc import Iterator

import pytest

from schedulers.port import NodeRow, Unreachable
from schedulers.slurm.adapter import Slurm
from schedulers.slurm.rest_adapter import SlurmByRest
from schedulers.slurm.rest_place import RestPlace
from schedulers.slurm.restd import Restd
from schedulers.states import JobState
from schedulers.transport import LocalTransport, RecordingTransport
from tests.schedulers.contract import SchedulerContract, Waiting
from tests.schedulers.real import RealCluster

pytestmark = pytest.mark.slurm

SLEEP = "#!/bin/bash\nsleep 600\n"
STUBBORN = "#!/bin/bash\ntrap '' TERM\necho stubborn\nsleep 600\n"
HOSTILE = 'a|b\nJobId=1 \x1f\x1e\n7\x1f é "q" \' \\ %j '


@pytest.fixture
def cluster(real_cluster: RealCluster) -> Iterator[RealCluster]:
    yield real_cluster


def by_rest(cluster: RealCluster, place: RestPlace | None = None, seconds: float = 30) -> SlurmByRest:
    place = place or RestPlace(f"unix:{cluster.lab.layout.rest_socket}")
    return SlurmByRest(LocalTransport("", cluster.config), seconds, Restd(place))


@pytest.fixture
def scheduler(cluster: RealCluster) -> SlurmByRest:
    return by_rest(cluster)


class TestContract(SchedulerContract):
    """The contract, reading through slurmrestd."""


def _queue(cluster: RealCluster, waiting: Waiting) -> None:
    """Jobs of every kind that a listing can show."""
    submit, names = cluster.lab.submit, cluster.node_names
    submit(SLEEP, "-N2", f"-x{names[4]}", f"--job-name={HOSTILE}", f"--comment={HOSTILE}")
    submit(SLEEP, "--array=0-3%1", "--hold")
    submit(SLEEP, "--array=5-9:2%2", "-o", "rel-%A_%a.log")
    submit(SLEEP, "--array=4", "--hold", "-e", "/tmp/err-%j")
    submit(SLEEP, f"--array={','.join(str(task * task) for task in range(2, 32))}", "--hold")
    submit(SLEEP, "-N1", ":", "-N1")
    submit(SLEEP, "--dependency=singleton", f"--job-name={HOSTILE}")
    submit(SLEEP, f"-w{names[1]},{names[2]}", "--no-requeue", "--begin=now+1hour")
    submit(SLEEP, "-D", "/tmp", "-o", "C:\\x%j", "-t", "10", "--nice=7", "--priority=0")
    ended = [
        submit("#!/bin/bash\nexit 3\n"),
        submit("#!/bin/bash\nkill -9 $$\n"),
        submit("#!/bin/bash\ntrue\n", "-o", "/nowhere/x"),
    ]
    cluster.lab.client(["srun", "--quiet", "-N1", "-J", "by hand", "true"])
    requeued, cancelled = submit(SLEEP), submit(SLEEP)
    for number in ended:
        waiting.job(number, JobState.FAILED)
    for number in (requeued, cancelled):
        waiting.job(number, JobState.RUNNING)
    cluster.lab.client(["scontrol", "requeuehold", str(requeued)])
    waiting.job(requeued, JobState.HELD)
    cluster.lab.client(["scontrol", "update", f"JobId={requeued}", f"AdminComment={HOSTILE}"])
    cluster.lab.client(["scancel", str(cancelled)])
    waiting.job(cancelled, JobState.CANCELLED)


def test_it_lists_what_the_commands_list_field_by_field(cluster, scheduler, wait):
    _queue(cluster, wait)
    by_commands = Slurm(LocalTransport("", cluster.config), 30)
    wait.until(
        lambda: (sorted(by_commands.jobs().jobs, key=str), sorted(scheduler.jobs().jobs, key=str)),
        lambda both: both[0] == both[1] and len(both[0]) > 15,
    )
    for row in scheduler.jobs().jobs:
        ours = scheduler.job(row.number)
        assert (ours.row.number, ours.excluded_nodes) == (
            row.number,
            by_commands.job(row.number).excluded_nodes,
        )


def test_a_job_that_ends_slowly_is_the_same_both_ways_meanwhile(cluster, scheduler, wait):
    by_commands = Slurm(LocalTransport("", cluster.config), 30)
    number = cluster.lab.submit(STUBBORN, "-N3")
    wait.job(number, JobState.RUNNING)
    cluster.until_said(number, "stubborn")
    cluster.lab.client(["scontrol", "requeue", str(number)])
    seen = 0
    while True:
        before, ours, after = by_commands.job(number).row, scheduler.job(number).row, by_commands.job(number).row
        if before == after:
            assert ours == before
            seen += before.state is JobState.COMPLETING
        if before.state in {JobState.PENDING, JobState.HELD}:
            break
    assert seen


def test_nodes_are_the_same_both_ways_whatever_their_reasons_say(cluster, scheduler):
    by_commands = Slurm(LocalTransport("", cluster.config), 30)
    one, two, three, *_ = cluster.node_names
    cluster.drain_node(one, "Xid 79: GPU\ntwo  lines [x@y]")
    cluster.drain_node(two, "a [b@c] d")
    cluster.lab.client(["scontrol", "update", f"NodeName={three}", "State=DOWN", "Reason=broken é"])
    theirs, ours = by_commands.nodes(), scheduler.nodes()
    assert theirs == ours
    assert _of(ours, one).reason == "Xid 79: GPU two lines [x@y]"
    assert (_of(ours, two).reason, _of(ours, two).reason_by) == ("a [b@c] d", "root")
    assert not _of(ours, three).available


def test_reading_runs_no_command(cluster):
    recorder = RecordingTransport(LocalTransport("", cluster.config))
    scheduler = SlurmByRest(recorder, 30, Restd(RestPlace(f"unix:{cluster.lab.layout.rest_socket}")))
    number = cluster.submit()
    scheduler.jobs()
    scheduler.nodes()
    scheduler.job(number)
    scheduler.now()
    scheduler.ping()
    assert recorder.calls == []
    scheduler.cancel(number)
    assert recorder.calls == [("scancel", str(number))]


def test_by_a_token_over_a_port(cluster, wait):
    number = cluster.submit()
    wait.job(number, JobState.RUNNING)
    tokens = [cluster.lab.rest_token()]
    place = RestPlace(f"http://127.0.0.1:{cluster.lab.layout.port(2)}", user="root", token=lambda: tokens[-1])
    scheduler = by_rest(cluster, place)
    assert scheduler.job(number) == by_rest(cluster).job(number)
    tokens.append("eyJhbGciOiJIUzI1NiJ9.bad.bad")
    for ask in (scheduler.jobs, scheduler.nodes, scheduler.ping, lambda: scheduler.job(number)):
        with pytest.raises(Unreachable):
            ask()
    tokens.append(cluster.lab.rest_token())  # a rotated one is taken at once
    assert scheduler.jobs().jobs


def test_without_a_token_it_is_refused_and_not_empty(cluster):
    scheduler = by_rest(cluster, RestPlace(f"http://127.0.0.1:{cluster.lab.layout.port(2)}"))
    with pytest.raises(Unreachable, match="401"):
        scheduler.jobs()


def test_a_slurmrestd_that_is_gone_or_hangs_is_unreachable_and_no_command_stands_in(cluster):
    recorder = RecordingTransport(LocalTransport("", cluster.config))
    scheduler = SlurmByRest(recorder, 2, Restd(RestPlace(f"unix:{cluster.lab.layout.rest_socket}")))
    cluster.lab.hang("slurmrestd")
    try:
        began = time.monotonic()
        with pytest.raises(Unreachable, match="within 2 s"):
            scheduler.jobs()
        assert time.monotonic() - began < 20  # of ever that it hangs
    finally:
        cluster.lab.resume("slurmrestd")
    cluster.lab.down("slurmrestd")
    try:
        for ask in (scheduler.jobs, scheduler.ping, lambda: scheduler.release(1)):
            with pytest.raises(Unreachable, match="does not answer"):
                ask()
    finally:
        cluster.lab.up("slurmrestd")
    assert recorder.calls == []


def _of(rows: tuple[NodeRow, ...], name: str) -> NodeRow:
    return next(row for row in rows if row.name == name)

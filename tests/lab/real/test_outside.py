"""Do the acts from outside really do what they say, and do they say it only once it is done?"""

import contextlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.parts.running import until
from lab.real.outside import OUTSIDE, Proof, Scene
from lab.real.queue import FINAL, Listed, look
from lab.slurm.cluster import SlurmCluster
from lab.slurm.layout import Layout, free_base_port
from lab.slurm.processes import start_time
from lab.truth import Injected

pytestmark = pytest.mark.slurm

FIRST = "-wn01,n02"  # for tests that break one of them before: the scheduler is free to take others
SLEEP = "#!/bin/sh\necho begun\nexec srun sleep 300\n"


@pytest.fixture(scope="module")
def slurm() -> Iterator[SlurmCluster]:
    folder = Path(tempfile.mkdtemp(prefix="rk-acts-"))
    folder.chmod(0o755)
    layout = Layout(folder / "c", 4, free_base_port(4), accounting=False, preemption=True, prolog=True)
    with SlurmCluster(layout) as cluster:
        yield cluster
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def scene(slurm: SlurmCluster) -> Iterator[Scene]:
    """A scene whose job runs on two of four nodes; all nodes are well again afterwards."""
    made = Scene(slurm, "07", slurm.layout.node_names)
    yield made
    slurm.resume("slurmctld") if slurm.processes.pid("slurmctld") else slurm.up("slurmctld")
    until(lambda: ended(made), 180, lambda: f"the end of its jobs: {look(slurm)}")
    for node in slurm.layout.node_names:
        spool = slurm.layout.folder / "spool"
        if (spool / f"{node}.away").exists():
            (spool / node).unlink()
            (spool / f"{node}.away").rename(spool / node)
        slurm.up(f"slurmd-{node}")
    for node in slurm.client(["sinfo", "-h", "-N", "-p", "main", "-t", "drain,down", "-o", "%N"]).split():
        slurm.client(["scontrol", "update", f"NodeName={node}", "State=RESUME"])
    # A node that was given back is `idle*` until it answers: so long the next job would be sent past it.
    states = ["sinfo", "-h", "-N", "-p", "main", "-o", "%T"]
    until(lambda: slurm.client(states).split() == ["idle"] * 4, 180, lambda: f"idle nodes: {slurm.client(states)}")


def ended(scene: Scene) -> bool:
    """Whether its jobs are over; cancelled again while not, as Slurm may queue one again that is just ending."""
    left = [job for number, job in look(scene.slurm).items() if number in scene.jobs and job.state not in FINAL]
    for job in left:
        with contextlib.suppress(subprocess.CalledProcessError):  # it ended just now
            scene.slurm.client(["scancel", str(job.number)])
    return not left


def begin(scene: Scene, *words: str) -> Listed:
    """Submit a job that only sleeps."""
    number = scene.slurm.submit(SLEEP, "-N2", "--ntasks-per-node=1", "--exclusive", "-otrain_%j.log", *words)
    scene.jobs.append(number)
    scene.logs[number] = scene.slurm.layout.jobs / f"train_{number}.log"
    return listed(scene, lambda job: bool(job.state))


def listed(scene: Scene, such: Callable[[Listed], bool], seconds: float = 60) -> Listed:
    """The scene's job once it is such."""

    def search() -> Listed | None:
        scene.listed = look(scene.slurm)
        job = scene.listed[scene.jobs[0]]
        return job if such(job) else None

    return until(search, seconds, lambda: f"another state than {scene.listed[scene.jobs[0]]}")


def running(scene: Scene) -> Listed:
    """Its job once it runs and has written."""
    job = listed(scene, lambda job: job.state == "RUNNING")
    until(lambda: scene.logs[job.number].exists() and scene.logs[job.number].read_text(), 180, "a line")
    return job


def proved(scene: Scene, proof: Proof, seconds: float = 90) -> Injected:
    """The deed, once it is proved."""

    def ask() -> Injected | None:
        scene.listed = look(scene.slurm)
        return proof()

    deed = until(ask, seconds, lambda: f"a proof; the job is {scene.listed}")
    assert deed.case == "07"
    assert deed.job == scene.jobs[0]
    assert abs(deed.at - time.time()) < seconds
    return deed


def state_of(scene: Scene, node: str) -> str:
    return scene.slurm.client(["sinfo", "-h", "-n", node, "-p", "main", "-o", "%T"]).strip().rstrip("*@")


def test_a_killed_daemon_is_gone_and_its_job_goes_on(scene: Scene) -> None:
    begin(scene)
    job = running(scene)
    before = scene.slurm.processes.pid(f"slurmd-{job.nodes[1]}")
    deed = proved(scene, OUTSIDE["slurmd_kill"](scene, ["1"]))
    assert (deed.what, deed.nodes, deed.attempt) == ("slurmd_kill", (job.nodes[1],), 0)
    assert before
    assert start_time(before) == ""
    OUTSIDE["slurmd_start"](scene, [str(scene.nodes.index(job.nodes[1]))])
    assert scene.slurm.processes.pid(f"slurmd-{job.nodes[1]}")
    assert look(scene.slurm)[job.number].state == "RUNNING"


def test_a_node_is_drained_and_given_back(scene: Scene) -> None:
    begin(scene)
    job = running(scene)
    assert proved(scene, OUTSIDE["node_drain"](scene, ["0"])).nodes == job.nodes[:1]
    assert state_of(scene, job.nodes[0]) == "draining"
    assert look(scene.slurm)[job.number].state == "RUNNING"
    OUTSIDE["node_resume"](scene, [str(scene.nodes.index(job.nodes[0]))])
    assert state_of(scene, job.nodes[0]) in {"allocated", "mixed"}


def test_a_node_taken_down_ends_the_attempt(scene: Scene) -> None:
    begin(scene)
    job = running(scene)
    deed = proved(scene, OUTSIDE["node_down"](scene, ["1"]))
    assert (deed.nodes, deed.attempt) == (job.nodes[1:], 0)
    assert listed(scene, lambda job: job.attempt == 1).number == job.number


@pytest.mark.parametrize(
    ("act", "such"),
    [
        ("cancel", lambda job: job.state == "CANCELLED"),
        ("requeue", lambda job: job.state == "PENDING" and job.attempt == 1 and not job.held),
        ("user_requeue", lambda job: job.state == "PENDING" and job.attempt == 1 and not job.held),
    ],
)
def test_what_is_done_to_a_job_is_seen_on_it(scene: Scene, act: str, such: Callable[[Listed], bool]) -> None:
    begin(scene)
    running(scene)
    deed = proved(scene, OUTSIDE[act](scene, ["0"]))
    assert (deed.what, deed.attempt, deed.nodes) == (act, 0, ())
    listed(scene, such)


def test_a_held_job_stays_until_it_is_released(scene: Scene) -> None:
    begin(scene, "--begin=now+3600")
    proved(scene, OUTSIDE["hold"](scene, []))
    assert listed(scene, lambda job: job.held).state == "PENDING"
    proved(scene, OUTSIDE["release"](scene, []))
    listed(scene, lambda job: not job.held)


def test_an_urgent_job_pushes_it_aside(scene: Scene) -> None:
    begin(scene)
    running(scene)
    proof = OUTSIDE["preempt"](scene, ["1"])
    assert proof() is None
    deed = proved(scene, proof)
    assert (deed.what, deed.attempt) == ("preempt", 0)
    assert "urgent" in scene.slurm.client(["squeue", "-h", "-t", "all", "-o", "%P %j"])


def test_a_prolog_fails_and_slurm_holds_the_job(scene: Scene) -> None:
    proof = OUTSIDE["prolog_fail"](scene, ["0"])
    assert proof() is None
    begin(scene, FIRST)
    deed = proved(scene, proof)
    assert (deed.nodes, deed.attempt) == (("n01",), 0)
    assert listed(scene, lambda job: job.held).attempt == 1
    until(lambda: state_of(scene, "n01").startswith("drain"), 180, "the node is drained")


def test_a_launch_fails_on_the_node_with_the_spoilt_spool(scene: Scene) -> None:
    proof = OUTSIDE["launch_fail"](scene, ["1"])
    assert proof() is None
    begin(scene, FIRST)
    assert proved(scene, proof).nodes == ("n02",)
    assert "n02" in scene.logs[scene.jobs[0]].read_text()


@pytest.mark.parametrize("away", ["slurmctld_hang", "slurmctld_stop", "slurmctld_kill"])
def test_the_controller_goes_and_comes_back(scene: Scene, away: str) -> None:
    begin(scene)
    job = running(scene)
    saved, now = scene.slurm.layout.folder / "state" / "job_state", time.time()
    scene.slurm.client(["scontrol", "update", f"JobId={job.number}", "Comment=x"])  # nothing is saved twice
    until(lambda: saved.stat().st_mtime > now, 180, "the job is saved: what is killed forgets the rest")
    daemon = scene.slurm.processes.pid("slurmctld")
    deed = OUTSIDE[away](scene, [])()
    assert deed
    assert deed.what == away
    assert scene.away
    lives = scene.slurm.processes.pid("slurmctld")
    assert lives == (daemon if away == "slurmctld_hang" else None)
    if lives:
        stat = Path(f"/proc/{lives}/stat")
        until(lambda: ") T " in stat.read_text(), 180, "it is stopped")
    OUTSIDE["slurmctld_start"](scene, [])
    assert not scene.away
    assert look(scene.slurm)[job.number].state == "RUNNING"


@pytest.mark.parametrize("words", [[], ["rename"]], ids=["truncated", "renamed"])
def test_a_log_is_rotated(scene: Scene, words: list[str]) -> None:
    begin(scene)
    log = scene.logs[running(scene).number]
    inode = log.stat().st_ino
    proved(scene, OUTSIDE["logs_rotate"](scene, words))
    assert log.read_text() == ""
    assert log.with_name(f"{log.name}.1").read_text() == "begun\n"
    assert (log.stat().st_ino == inode) is (words == [])

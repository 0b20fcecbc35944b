"""Does a real Slurm really say what the simulated one is made to say?"""

import os
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from lab.simulate.client import unreachable
from tests.lab.simulate.stage import Stage
from tests.lab.simulate.words import REFUSALS, SILENT, UNANSWERED, told
from tests.schedulers.real import RealCluster

pytestmark = pytest.mark.slurm

LOOK = (
    "State:|,Reason:|,RestartCnt:|,exit_code:|,NodeList:|,NumNodes:|,EndTime:|,Requeue:|,Dependency:|,ReqNodes:|,"
    "HetJobID:|,ArrayTaskID:|,BatchFlag:|,admin_comment:|,Comment:"
)


class Real:
    """The lab's private Slurm, spoken to as the model is in `Stage`."""

    def __init__(self, cluster: RealCluster) -> None:
        self.cluster = cluster
        self.environment = {**os.environ, **cluster.lab.environment, "SLURM_TIME_FORMAT": "%s", "LC_ALL": "C.UTF-8"}

    def begin(self, *argv: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            argv, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, *argv: str) -> tuple[int, str, str]:
        process = self.begin(*argv)
        out, err = process.communicate(timeout=180)
        return process.returncode, out, err

    def submit(self, *, exit_code: int = 0, **options: object) -> int:
        return self.cluster.submit(seconds=0 if exit_code else 600, exit_code=exit_code, **options)

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)


class Simulated(Stage):
    """The model, spoken to as the real one."""

    def __init__(self) -> None:
        super().__init__(nodes=5, jobs_per_node=8, requeue_wait_seconds=6)

    def submit(self, *, exit_code: int = 0, ignore_term: bool = False, **options: object) -> int:
        faults = [{"kind": "silent_exit", "exit_code": exit_code}] if exit_code else []
        return super().submit(steps=10_000, faults=faults, ignores_term=ignore_term, **options).number


@pytest.fixture
def real(real_slurm) -> Iterator[Real]:
    """Without jobs and with all its nodes."""
    cluster = RealCluster(real_slurm)
    cluster.clear()
    yield Real(cluster)
    cluster.clear()


def until(cluster: Real | Simulated, number: int, state: str, column: str = "State") -> None:
    for _ in range(400):
        if cluster.run("squeue", "-h", "-t", "all", "-j", str(number), "-O", f"{column}:")[1].strip() == state:
            return
        cluster.wait(0.1)
    raise AssertionError(f"job {number} is never {state}")


def roles(real: Real) -> dict[str, int]:
    numbers = {
        "running": real.submit(),
        "failed": real.submit(exit_code=3),
        "held": real.submit(),
        "fixed": real.submit(requeue=False),
        "cancelled": real.submit(),
    }
    for role, number in numbers.items():
        until(real, number, "FAILED" if role == "failed" else "RUNNING")
    real.run("scontrol", "requeuehold", str(numbers["held"]))
    until(real, numbers["held"], "PENDING")
    real.run("scancel", str(numbers["cancelled"]))
    until(real, numbers["cancelled"], "CANCELLED")
    return numbers


def test_refusals_and_silence(real):
    numbers = roles(real)
    expected = {command: (1, "", text) for command, text in REFUSALS.items()}
    expected |= dict.fromkeys(SILENT, (0, "", ""))
    said = {command: real.run(*told(command, numbers).split(" ")) for command in expected}
    assert said == {command: (rc, out, told(err, numbers)) for command, (rc, out, err) in expected.items()}


def test_words_without_a_controller(real):
    number = real.submit()
    until(real, number, "RUNNING")
    commands = [command.replace("{running}", str(number)).split(" ") for command in UNANSWERED]
    real.cluster.stop_scheduler()
    try:
        processes = [real.begin(*argv) for argv in commands]  # together: each takes 9 s or 18 s
        said = [process.communicate(timeout=180)[1] for process in processes]
        codes = [process.returncode for process in processes]
    finally:
        real.cluster.start_scheduler()
    assert list(zip(codes, said, strict=True)) == [(rc, err) for rc, _, err in map(unreachable, commands)]


Cluster = Real | Simulated


def follow(cluster: Cluster, number: int, *states: str) -> list[str]:
    """The listing in each of the states, waited for one after the other."""
    seen = []
    for state in states:
        until(cluster, number, state)
        cluster.wait(0.5 if state == "COMPLETING" else 0)  # until the node list has shrunk
        seen.append(cluster.run("squeue", "-h", "-t", "all", "-j", str(number), "-O", LOOK)[1])
    return seen


def requeued(cluster: Cluster) -> list[str]:
    number = cluster.submit(nodes=2, ignore_term=True, comment="c")
    seen = follow(cluster, number, "RUNNING")
    cluster.wait(1)
    cluster.run("scontrol", "update", f"JobId={number}", "AdminComment=m")
    cluster.run("scontrol", "requeuehold", "Incomplete", str(number))
    seen += follow(cluster, number, "COMPLETING", "PENDING")
    cluster.run("scontrol", "release", str(number))
    return seen + follow(cluster, number, "RUNNING")


def failed(cluster: Cluster) -> list[str]:
    number = cluster.submit(exit_code=3)
    seen = [line.replace(line.split("|")[4], "NODE", 1) for line in follow(cluster, number, "FAILED")]
    cluster.run("scontrol", "requeuehold", str(number))
    seen += follow(cluster, number, "PENDING")
    cluster.run("scontrol", "update", f"JobId={number}", "ExcNodeList=n01,n02,n03,n04,n05")
    cluster.run("scontrol", "release", str(number))
    until(cluster, number, "BadConstraints", "Reason")
    return seen + follow(cluster, number, "PENDING")


def cancelled(cluster: Cluster) -> list[str]:
    number = cluster.submit(nodes=2)
    until(cluster, number, "RUNNING")
    cluster.wait(1)
    cluster.run("scontrol", "hold", str(number))
    cluster.run("scancel", str(number))
    return [line.rpartition("|n")[0] for line in follow(cluster, number, "CANCELLED")]


@pytest.mark.parametrize("story", [requeued, failed, cancelled])
def test_the_same_story_looks_the_same_on_both(real, story: Callable[[Cluster], list[str]]):
    assert without_ends(story(Simulated())) == without_ends(story(real))


def without_ends(lines: list[str]) -> list[str]:
    """A running job without time limit shows NONE or, after a look of the backfill scheduler, a year from now."""
    return ["|".join(word for place, word in enumerate(line.split("|")) if place != 6) for line in lines]

"""How long does a requeued job wait until it runs, is one lost, and how often is everything listed meanwhile?"""

import time
from dataclasses import dataclass
from pathlib import Path

from lab.slurm.cluster import SlurmCluster
from schedulers.slurm.listing import address
from schedulers.states import JobState
from tests.controller.real.making import LONG, ONCE, Making
from tests.controller.real.worlds import World, until

WINDOW = 30.0  # seconds
STAYS = 3.0  # seconds after which a job that was started too early would be dead (slurm: trap 2)


@dataclass(frozen=True)
class Waits:
    """What one series showed. Waits in seconds, from the release to the start that Slurm shows (whole seconds)."""

    waits: tuple[float, ...]
    lost: int
    listings: int
    most_in_window: int
    seconds: float
    jobs: int


def crowd(lab: SlurmCluster, count: int) -> None:
    """Jobs that wait and mean nothing, so that a listing is long."""
    for first in range(0, count, 1000):
        lab.submit(LONG, "--hold", f"--array=0-{min(1000, count - first) - 1}", "--job-name=crowd")


def restarts(lab: SlurmCluster, folder: Path, count: int, *, shortened: bool) -> Waits:
    """Let one controller bring back `count` jobs at once, half of which failed and half of which hang."""
    here = Making(lab)
    jobs = [here.submit(ONCE if n % 2 else LONG) for n in range(count)]
    bad = {job: here.reach(job, JobState.FAILED if n % 2 else JobState.RUNNING) for n, job in enumerate(jobs)}
    with World(lab, folder, jobs[0], bad[jobs[0]]) as world:
        text = world.config.read_text()
        key = f"[controller]\nshorten_requeue_wait = {str(shortened).lower()}"
        world.config.write_text(text.replace("[controller]", key, 1))
        world.advisor.advice = [world.advice_on(job, bad[job]) for job in jobs]
        began = time.monotonic()
        world.live()
        until(lambda: _running_again(world, jobs) == count, lambda: _left(world, jobs), 400.0 + count)
        time.sleep(STAYS)
        rows = {row.number: row for row in world.slurm.jobs().jobs}
        lost = sum(rows[job].state is not JobState.RUNNING or rows[job].restarts != 1 for job in jobs)
        released = {argv[-1]: at for at, *argv in world.written("commands") if argv[1] == "release"}
        started = {job: rows[job].started_at for job in jobs}
        waits = [at.timestamp() - released[address(rows[job])] for job, at in started.items() if at is not None]
        listed = world.listings()
        most = max(sum(at <= other <= at + WINDOW for other in listed) for at in listed)
        for job in jobs:
            lab.client(["scancel", str(job)])
        return Waits(
            tuple(sorted(max(0.0, wait) for wait in waits)),
            lost,
            len(listed),
            most,
            time.monotonic() - began,
            len(rows),
        )


def _running_again(world: World, jobs: list[int]) -> int:
    rows = {row.number: row for row in world.slurm.jobs().jobs}
    states = [(rows[job].state, rows[job].restarts) for job in jobs]
    died = sum(state is JobState.FAILED and restarts > 0 for state, restarts in states)
    return died + sum(state is JobState.RUNNING and restarts == 1 for state, restarts in states)


def _left(world: World, jobs: list[int]) -> str:
    return f"{_running_again(world, jobs)} of {len(jobs)} run again\n{world.told()}"

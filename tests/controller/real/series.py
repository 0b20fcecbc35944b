"""Which stories are played on a real Slurm, and what must have come of them? Tests play a few, `proving` all."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.slurm.cluster import SlurmCluster
from lab.slurm.layout import CGROUPS, Layout, Partition, free_base_port
from schedulers.states import JobState
from tests.controller.advisor import TOKEN
from tests.controller.real.making import MADE, Making
from tests.controller.real.starting import ADVICE, BARE, CLOSED_GATES, RESTART, STARTS, Start
from tests.controller.real.worlds import World, until

AT_ONCE = 6  # worlds; each is a process or two
OF_FAILED = ("requeuehold", "mark", "exclude BAD", "release", "start", "unmark")
OF_HUNG = ("mark", "requeuehold Incomplete", "exclude BAD", "release", "start", "unmark")
STEPS = ("requeue_hold", "mark", "update_exclusions", "release", "start_after")
LEASE_LOST = 240.0  # seconds: a lease whose number was lost runs out, is waited for, and two listings agree


@dataclass(frozen=True)
class Told:
    """What became of one story, for a table."""

    name: str
    commands: tuple[str, ...]
    report: str
    end: str
    seconds: float


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[SlurmCluster]:
    """A private Slurm with eight nodes, and with Slurm's own wait of two minutes after a requeue."""
    layout = Layout(
        folder=folder / "c", base_port=free_base_port(), nodes=8, accounting=False, cred_expire=120, ssh=False
    )
    with SlurmCluster(layout) as running:
        yield running


@contextlib.contextmanager
def losing_cluster(folder: Path) -> Iterator[SlurmCluster]:
    """One on which jobs lose their node, their memory, or their place: a partition's jobs to those of `urgent`."""
    cheap = Partition("cheap", ("n04",), "PriorityTier=0 PreemptMode=CANCEL")
    layout = Layout(
        folder=folder / "c",
        base_port=free_base_port(),
        nodes=8,
        accounting=False,
        cred_expire=120,
        memory_limits=CGROUPS.is_dir(),
        preemption=True,
        partitions=(cheap,),
    )
    with SlurmCluster(layout) as running:
        yield running


def at_once(stories: Sequence[Callable[[], Told]]) -> list[Told]:
    """Play stories beside each other; the first that goes wrong is raised."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [future.result() for future in [pool.submit(story) for story in stories]]


def told(world: World, name: str, began: float) -> Told:
    shown = world.shown()
    row, nodes = shown.row, ",".join(shown.excluded_nodes)
    end = f"{row.word}, restarts {row.restarts}" + (f", without {nodes}" if nodes else "")
    return Told(name, tuple(world.commands()), " ".join(world.report()), end, time.monotonic() - began)


def state_story(lab: SlurmCluster, folder: Path, start: Start, kind: str) -> Told:
    """One line of the table of starting states."""
    job, bad = MADE[start.made](Making(lab))
    commands, report = start.then[kind]
    with World(lab, folder, job, bad) as world:
        world.advise(**advised(kind, bad, world.shown().row.restarts if not commands and not report else 0))
        began = time.monotonic()
        if report:
            world.to_the_end(150.0)
        else:
            world.live()
            until((folder / "questions").exists, world.told)
            time.sleep(6.0)
        assert tuple(world.commands()) == commands, world.told()
        assert world.report() == report, world.told()
        return told(world, f"{start.name}: {kind}", began)


def advised(kind: str, bad: str, attempt: int) -> dict[str, Any]:
    """The advice about a real job."""
    constraints = {"nodeConstraints": {"excludedNodes": [bad]}} if kind not in {BARE, "release"} else {}
    return {**ADVICE[kind], **constraints, "attemptIndex": attempt}


def gate_story(lab: SlurmCluster, folder: Path, gate: str, made: str) -> Told:
    """A closed gate before a job that would be restarted."""
    own, of_cluster, changes = CLOSED_GATES[gate]
    job, bad = MADE[made](Making(lab))
    with World(lab, folder, job, bad, **own) as world:
        world.advisor.cluster |= of_cluster
        world.advise(**changes)
        before, began = world.shown(), time.monotonic()
        world.live()
        if gate != "the controller is not enabled":
            until(lambda: "would" in world.told(), world.told)
        time.sleep(2.0)
        assert world.commands() == [] and world.shown() == before, world.told()
        return told(world, f"{made}: {gate}", began)


def recovered(world: World, intended: tuple[str, ...]) -> None:
    """Exactly the intended commands, one restart, and nothing of ours left behind."""
    commands = tuple(world.commands())
    without_start = tuple(word for word in intended if word != "start")
    assert commands in {intended, without_start}, world.told()
    ended_well(world)


def ended_well(world: World) -> None:
    """One restart, the exclusion stands, the mark is off, and the Advisor knows."""
    shown = world.shown()
    assert shown.row.restarts == 1 and shown.excluded_nodes == (world.bad,), world.told()
    assert shown.row.state in {JobState.PENDING, JobState.RUNNING}, world.told()
    assert shown.row.admin_comment == "" and world.report() == ("CONVERGED", "DESIRED_STATE_OBSERVED"), world.told()
    milestones = [key.split(":")[1] for key in world.advisor.milestones]
    assert milestones == ["SLURM_REQUEUE_HOLD", "SLURM_UPDATE_CONSTRAINTS", "SLURM_RELEASE"], world.told()


def kill_story(lab: SlurmCluster, folder: Path, made: str, at: int) -> Told:
    """SIGKILL at one point, then another life."""
    job, bad = MADE[made](Making(lab))
    with World(lab, folder, job, bad) as world:
        world.advise()
        began = time.monotonic()
        died = world.dies(at)
        if died:
            world.to_the_end(LEASE_LOST)
        recovered(world, OF_HUNG if made == "running" else OF_FAILED)
        return told(world, f"{made}, killed {died or 'never'}", began)


def paused_story(
    lab: SlurmCluster, folder: Path, made: str, point: str, meanwhile: Callable[[World], None], exact: bool
) -> Told:
    """A pause at one point, in which something happens; then the life goes on."""
    job, bad = MADE[made](Making(lab))
    with World(lab, folder, job, bad) as world:
        world.advise()
        began = time.monotonic()
        world.live("--pause-at", point)
        until((folder / "paused").exists, world.told)
        meanwhile(world)
        until(lambda: bool(world.advisor.reports), world.told, LEASE_LOST)
        intended = OF_HUNG if made == "running" else OF_FAILED
        if exact:
            recovered(world, intended)
        else:  # a command that did not reach a stopped slurmctld is looked at, then sent again
            once = [word for n, word in enumerate(world.commands()) if n == 0 or world.commands()[n - 1] != word]
            assert tuple(once) in {intended, tuple(word for word in intended if word != "start")}, world.told()
            ended_well(world)
        return told(world, f"{made}, {point}", began)


def without_token(world: World) -> None:
    """The token is revoked for five seconds; nothing new is begun in them."""
    world.advisor.tokens.clear()
    (world.folder / "go").touch()
    begun = "requeuehold" in " ".join(world.commands())
    time.sleep(5.0)
    assert begun or "requeuehold" not in " ".join(world.commands()[1:]), world.told()
    world.advisor.tokens.add(TOKEN)


def two_story(lab: SlurmCluster, folder: Path) -> Told:
    """Two controllers with journals of their own; the one that has the lease acts.

    The other one begins, lists and looks while the job is held and not yet marked, and reports nothing about it.
    """
    job, bad = MADE["failed"](Making(lab))
    with World(lab, folder, job, bad) as world:
        other = world.configured(folder / "two", holder='"host-2"', journal=f'"{folder}/two/journal.jsonl"')
        world.advise()
        began = time.monotonic()
        world.live("--pause-at", "after requeue_hold")
        until((folder / "paused").exists, world.told)
        world.live(config=other)
        until(lambda: "not reported, another controller has the lease" in world.told(), world.told)
        assert not world.advisor.reports, world.told()
        (folder / "go").touch()
        until(lambda: bool(world.advisor.reports), world.told)
        recovered(world, OF_FAILED)
        return told(world, "two controllers", began)


def takeover_story(lab: SlurmCluster, folder: Path) -> Told:
    """The one with the lease dies with the job held and marked; the other carries it through."""
    job, bad = MADE["failed"](Making(lab))
    with World(lab, folder, job, bad) as world:
        other = world.configured(folder / "two", holder='"host-2"', journal=f'"{folder}/two/journal.jsonl"')
        world.advise()
        began = time.monotonic()
        first = world.live("--pause-at", "before update_exclusions")
        until((folder / "paused").exists, world.told)
        world.live(config=other)
        until(lambda: "the lease is not ours" in world.told(), world.told)
        first.kill()
        until(lambda: bool(world.advisor.reports), world.told, LEASE_LOST)
        commands = [word for word in world.commands() if word != "start"]
        assert commands == ["requeuehold", "mark", "exclude BAD", "release", "unmark"], world.told()
        return told(world, "the holder of the lease dies, another takes over", began)


def slurmctld_away(lab: SlurmCluster, worlds: Sequence[World]) -> None:
    """Stop slurmctld while every world stands at its point; let them go on, and start it again."""
    lab.down("slurmctld")
    for world in worlds:
        (world.folder / "go").touch()
    time.sleep(3.0)
    lab.up("slurmctld")


def makeable(quick: bool, loss: bool = False) -> list[tuple[Start, str]]:
    """Lines of the table that can be played here; with `loss` those of a cluster of their own."""
    return [
        (start, kind)
        for start in STARTS
        if start.made and start.loss is loss and (start.made != "out_of_memory" or CGROUPS.is_dir())
        if not (quick and start.slow)
        for kind in start.then
        if kind not in start.passes
        if not quick or kind == RESTART or start.then[kind][0]
    ]

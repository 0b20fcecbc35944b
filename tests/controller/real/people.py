"""Somebody acts at the command line between two of our steps, on a real Slurm: does he get his way?"""

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lab.slurm.cluster import SlurmCluster
from schedulers.states import JobState as S
from tests.controller.advisor import wire
from tests.controller.real.making import LONG, MADE, Made, Making
from tests.controller.real.series import Told, told
from tests.controller.real.worlds import ROOT, World, until

Deed = Callable[[World], None]
CLOSED = ("ABANDONED", "GATE_CLOSED")
STOOD = 16.0  # seconds after which a list that is changed was changed by somebody
WATCHED = 20.0  # seconds of a watchdog after the end of the hold


def scontrol(*words: str) -> Deed:
    """A command of his; JOB stands for the job's number."""
    return lambda world: world.lab.client(["scontrol", *(word.replace("JOB", str(world.job)) for word in words)])


def one_after_the_other(*deeds: Deed) -> Deed:
    def all_of_them(world: World) -> None:
        for deed in deeds:
            deed(world)

    return all_of_them


def pauses(world: World) -> None:
    until_ = wire(datetime.now(UTC) + timedelta(days=1))
    world.advisor.cluster["pauses"] = [{"scope": "cluster", "value": "", "until": until_, "reason": "mine"}]


def is_held(world: World) -> None:
    until(lambda: world.shown().row.held, world.told)


def later(world: World) -> None:
    time.sleep(STOOD)


def reservation_ended(world: World) -> None:
    until(lambda: world.shown().row.word == "RESV_DEL_HOLD", world.told, 180.0)


def in_a_reservation(here: Making) -> Made:
    """A failed job of a reservation that ends a minute later."""
    name = f"r{time.monotonic_ns()}"
    here.scontrol("create", "reservation", f"ReservationName={name}", "StartTime=now", "Duration=1", "Users=root",
                  "Nodes=n08")  # fmt: skip
    return here.failed(f"--reservation={name}")


LETS_GO_AND_HOLDS = one_after_the_other(scontrol("release", "JOB"), scontrol("hold", "JOB"))
REQUEUES_AND_HOLDS = one_after_the_other(scontrol("requeuehold", "JOB"), is_held)


@dataclass(frozen=True)
class Story:
    """What he does at which point; what must have become of it. `commands`: ours after his deed."""

    name: str
    made: str
    point: str
    deed: Deed
    commands: tuple[str, ...]
    report: tuple[str, ...]
    states: tuple[S, ...]
    restarts: int = 1
    watched: bool = False  # also by a watchdog, once the hold is over
    slow: bool = False


STORIES = (
    Story("he lets go and holds what we hold", "failed", "after update_exclusions", LETS_GO_AND_HOLDS,
          ("unmark",), CLOSED, (S.HELD,)),
    Story("he lets go and holds what is not marked yet", "failed", "after requeue_hold", LETS_GO_AND_HOLDS,
          (), CLOSED, (S.HELD,)),
    Story("he is a moment ahead of our release", "failed", "before release", LETS_GO_AND_HOLDS,
          ("unmark",), CLOSED, (S.HELD,)),
    Story("he holds what we let go", "failed", "after release", scontrol("hold", "JOB"),
          ("unmark",), ("CONVERGED", "DESIRED_STATE_OBSERVED"), (S.HELD,)),
    Story("he requeues and holds what we marked", "running", "after mark", REQUEUES_AND_HOLDS,
          ("unmark",), CLOSED, (S.HELD,)),
    Story("he is a moment ahead of us", "running", "before requeue_hold", REQUEUES_AND_HOLDS,
          ("unmark",), CLOSED, (S.HELD,)),
    Story("he pauses, requeues and holds", "running", "after mark",
          one_after_the_other(pauses, REQUEUES_AND_HOLDS), (), (), (S.HELD,), watched=True),
    Story("he pauses, lets go and holds", "failed", "after mark",
          one_after_the_other(pauses, LETS_GO_AND_HOLDS), (), (), (S.HELD,), watched=True),
    Story("he pauses, and the watchdog lets go", "failed", "after mark", pauses, (), (),
          (S.PENDING, S.RUNNING), watched=True),
    Story("he holds what runs and is marked", "running", "before requeue_hold", scontrol("hold", "JOB"),
          ("unmark",), CLOSED, (S.RUNNING,), restarts=0),
    Story("he suspends what is marked", "running", "before requeue_hold", scontrol("suspend", "JOB"),
          (), (), (S.SUSPENDED,), restarts=0),
    Story("he forbids a requeue", "running", "after mark", scontrol("update", "JobId=JOB", "Requeue=0"),
          ("unmark",), ("ABANDONED", "REFUSED_BY_SCHEDULER"), (S.RUNNING,), restarts=0),
    Story("he clears the list", "failed", "before release",
          one_after_the_other(later, scontrol("update", "JobId=JOB", "ExcNodeList=")),
          ("release", "start", "unmark"), CLOSED, (S.PENDING, S.RUNNING), slow=True),
    Story("he gives it a time to begin", "failed", "after release",
          scontrol("update", "JobId=JOB", "StartTime=now+30"), ("unmark",),
          ("CONVERGED", "DESIRED_STATE_OBSERVED"), (S.PENDING, S.RUNNING), slow=True),
    Story("he changes its nice value, and Slurm lets it go", "failed", "after mark",
          scontrol("update", "JobId=JOB", "Nice=5"), ("exclude BAD", "unmark"),
          ("CONVERGED", "DESIRED_STATE_OBSERVED"), (S.PENDING, S.RUNNING), slow=True),
    Story("its reservation ends", "reserved", "after update_exclusions", reservation_ended,
          ("unmark",), CLOSED, (S.HELD,), slow=True),
)  # fmt: skip


def person_story(lab: SlurmCluster, folder: Path, story: Story) -> Told:
    """One deed at one point; then the controller, and where asked for a watchdog, have their time."""
    here = Making(lab)
    job, bad = in_a_reservation(here) if story.made == "reserved" else MADE[story.made](here)
    with World(lab, folder, job, bad) as world:
        now = datetime.now(UTC)
        world.advise(**({"holdUntil": wire(now + timedelta(seconds=10))} if story.watched else {}))
        began = time.monotonic()
        world.live("--pause-at", story.point)
        until((folder / "paused").exists, world.told)
        before = len(world.commands())
        story.deed(world)
        (folder / "go").touch()
        if story.report:
            until(lambda: bool(world.advisor.reports), world.told, 180.0)
        if story.watched:
            _watched(world)
        time.sleep(2.0)
        ours = world.commands()[before:]
        own = 1 if story.point.startswith("before") else 0  # the command at whose point it stood, if it was sent
        assert tuple(ours) == story.commands or tuple(ours[own:]) == story.commands, world.told()
        assert world.report() == story.report, world.told()
        row = world.shown().row
        assert row.state in story.states and row.restarts == story.restarts, world.told()
        return told(world, f"{story.name} ({story.point})", began)


def _watched(world: World) -> None:
    """A watchdog beside it, until the hold has been over for a while.

    It looks after the whole cluster, and knows this journal alone: beside it no other story may be played.
    """
    command = [sys.executable, "-m", "controller", "watchdog", "--config", str(world.config)]
    with (world.folder / "watchdog").open("ab") as log:
        dog = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
    try:
        time.sleep(10.0 + WATCHED)
    finally:
        dog.terminate()
        dog.wait(20)


def state_lost_story(lab: SlurmCluster, folder: Path) -> Told:
    """slurmctld loses all it knew, every job with it, and gives the number to the next one."""
    job, bad = MADE["failed"](Making(lab))
    with World(lab, folder, job, bad) as world:
        world.advise()
        began = time.monotonic()
        world.live("--pause-at", "after update_exclusions")
        until((folder / "paused").exists, world.told)
        lab.down("slurmctld")
        for file in (lab.layout.folder / "state").iterdir():
            if file.is_file():
                file.unlink()
        lab.up("slurmctld")
        until(lambda: _submitted(lab) == job, lambda: f"number {job} is not given again")
        before = world.shown()
        (folder / "go").touch()
        until(lambda: bool(world.advisor.reports), world.told)
        time.sleep(2.0)
        after = world.shown()
        assert world.report() == ("ABANDONED", "JOB_GONE"), world.told()
        assert world.commands()[-1] == "exclude BAD", world.told()
        assert (after.row.restarts, after.excluded_nodes) == (0, before.excluded_nodes), world.told()
        return told(world, "slurmctld loses its state, and the number is given again", began)


def _submitted(lab: SlurmCluster) -> int:
    return lab.submit(LONG, "--hold", "--requeue")

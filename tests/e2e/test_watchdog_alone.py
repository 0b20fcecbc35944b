"""With everything else of ours dead, does the watchdog let a held job run in time, and nothing else?

Real Slurm, MariaDB and Redis. The controller is killed between its hold and its release; then the web server,
workers, database and broker are stopped. What the watchdog did reaches the trail once they are back.
"""

import contextlib
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.mark import read_comment
from lab.parts.running import until
from lab.parts.training import submit_training
from lab.slurm.cluster import SlurmCluster
from lab.stores.stores import Stores
from schedulers.opening import open_scheduler
from schedulers.states import JobState
from tests.e2e.recovered import killing
from tests.e2e.test_real_slurm import ECC, Watched, stores  # noqa: F401  the fixture

pytestmark = [pytest.mark.e2e, pytest.mark.slurm]

HOLD_SECONDS = 30
PROMISED = 10.0  # seconds after the end of the hold within which the job runs
POLICY = f"""
from django.utils import timezone
from advisor_api.activating import establish
from advisor_api.policies import Place
from audit.actor_kind import ActorKind
from audit.trail import Actor
from workloads.models import Cluster
establish(Place(Cluster.objects.get(name='real')), {{'hold_seconds': {HOLD_SECONDS}}}, 'a short hold',
          actor=Actor(ActorKind.PERSON, 'test'), now=timezone.now())
"""
WATCHDOG = """[watchdog]
mode = "action"
acknowledgeSchedulerActions = true
environmentPattern = "test"
"""


@pytest.fixture
def here(short_folder: Path, real_slurm: SlurmCluster, stores: Stores) -> Iterator[Watched]:  # noqa: F811
    real_slurm.forget_jobs()
    made = Watched(short_folder, real_slurm, "action", stores)
    with made.controller.file.open("a") as file:
        file.write(WATCHDOG)
    made.site.manage("shell", "-v", "0", "-c", POLICY)
    yield made
    kill_all(made)
    made.stop()


def kill_all(here: Watched) -> None:
    """SIGKILL for every process of the site and of its groups: workers have children."""
    for running in here.site.processes.values():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.process.pid, signal.SIGKILL)
        running.end(signal.SIGKILL)


def test_a_held_job_runs_and_a_users_stays_held(
    here: Watched,
    real_slurm: SlurmCluster,
    stores: Stores,  # noqa: F811
    tmp_path: Path,
) -> None:
    scheduler = open_scheduler("slurm", "", str(real_slurm.layout.conf), 20)
    mark = tmp_path / "killed"
    here.site.start()
    here.controller.start(killing(mark))
    sleeping = "#!/bin/sh\nsleep 600\n"
    by_user, by_admin = real_slurm.submit(sleeping, "--hold"), real_slurm.submit(sleeping, "--hold")
    real_slurm.client(["scontrol", "hold", str(by_admin)])
    number = submit_training(real_slurm, [ECC])
    until(mark.exists, 180, "the controller killed itself")
    until(here.controller.died, 180, "the controller is dead")

    kill_all(here)
    stores.down()
    here.controller.start_watchdog()
    held = scheduler.job(number).row
    ours = read_comment(held.admin_comment).mark
    assert held.state is JobState.HELD and ours is not None

    def runs() -> bool:
        return scheduler.job(number).row.state is JobState.RUNNING

    until(runs, HOLD_SECONDS + 180, "the job runs", pause=0.2)
    late = time.time() - ours.until.timestamp()
    assert 0 <= late <= PROMISED, f"{late:.1f} s after the end of its hold"
    assert scheduler.job(number).excluded_nodes  # what was decided is kept
    assert scheduler.job(by_user).row.state is JobState.HELD
    assert scheduler.job(by_admin).row.state is JobState.HELD
    releases = [line for line in here.changes() if "release" in line]
    assert len(releases) == 1 and re.search(rf"release {number}\b", releases[0]), releases

    stores.up()
    here.site.start()
    told = "the job's trail holds what the watchdog did"

    def acts() -> list[str]:
        trail = here.person.trail("real", number)
        return [event["payload"]["outcome"] for event in trail if event["eventProducer"] == "watchdog"]

    assert until(lambda: acts() if len(acts()) >= 2 else None, 180, told, pause=1) == ["sent", "accepted"]

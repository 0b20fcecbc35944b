"""Does a site that must not ask the scheduler see a real Slurm by what its controller pushes, and act on it?

The controller reads by the scheduler's commands, or through slurmrestd.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.parts.controller import Controller
from lab.parts.recording import recording_commands
from lab.parts.running import until
from lab.parts.site import Site
from lab.parts.training import submit_training
from lab.slurm.cluster import SlurmCluster
from tests.e2e.recovered import assert_recovered_once

pytestmark = [pytest.mark.e2e, pytest.mark.slurm]

ECC = {"attempt": 0, "step": 12, "rank": 1, "kind": "ecc"}


class Pushed:
    """A site without any way to the scheduler, and the controller that pushes to it by commands of its own."""

    def __init__(self, folder: Path, slurm: SlurmCluster, rest: bool) -> None:
        self.log = folder / "commands.log"
        own = recording_commands(folder / "bin", self.log)
        self.site = Site(folder)
        self.site.add_cluster("real", "action", ["--push", "--log-root", str(slurm.layout.jobs)])
        self.controller = Controller(self.site, "real", str(own), str(slurm.layout.conf), "action")
        with self.controller.file.open("a") as file:
            file.write("[push]\nenabled = true\n")
            if rest:
                file.write(f'[slurmrestd]\nurl = "unix:{slurm.layout.rest_socket}"\n')

    def stop(self) -> None:
        """End controller and site."""
        self.controller.stop()
        self.site.stop()


@pytest.fixture(params=["commands", "slurmrestd"])
def pushed(short_folder: Path, real_slurm: SlurmCluster, request: pytest.FixtureRequest) -> Iterator[Pushed]:
    real_slurm.forget_jobs()
    made = Pushed(short_folder, real_slurm, request.param == "slurmrestd")
    yield made
    made.stop()


def test_a_failed_job_comes_back(pushed: Pushed, real_slurm: SlurmCluster, request: pytest.FixtureRequest) -> None:
    pushed.site.start()
    pushed.controller.start()
    person = pushed.site.person()
    broken = submit_training(real_slurm, [ECC], name="broken")
    until(lambda: person.attempts("real", broken), 180, "the job is seen")
    assert_recovered_once(person, "real", broken, 240)
    read = {line.partition(" ")[0] for line in pushed.log.read_text().splitlines()} & {"squeue", "sdiag"}
    assert read == (set() if "slurmrestd" in request.node.name else {"squeue", "sdiag"})

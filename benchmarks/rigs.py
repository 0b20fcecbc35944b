"""How is the whole product put together for a measurement? A cluster, the site, the controller: real processes."""

import random
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self
from urllib.error import HTTPError

from lab.parts.controller import Controller
from lab.parts.person import told
from lab.parts.running import until
from lab.parts.simulator import Simulator
from lab.parts.site import Site
from lab.parts.training import submit_training
from lab.slurm.cluster import SlurmCluster
from lab.slurm.layout import PORTS_EACH, Layout

NODES = 8
NOT_FOUND = 404
POLICY = {
    "storm_restarts": 1000,
    "max_user_restarts": 1000,
    "max_excluded_share": 0.5,
    "max_excluded_user_share": 1.0,
    "exclusion_seconds": 120,
    "max_restarts_per_cause": 10,
}
"""Twenty failures within minutes are a storm to the default policy, which then asks a person. Exclusions end soon,
so that a node is left for everybody."""
TRAINING = {"steps": 18, "step_seconds": 0.3}


class TrainingCluster(Protocol):
    """A cluster that runs the stand-in for a training job on three nodes."""

    path: str
    config: str
    options: list[str]

    def submit(self, name: str, steps: int, fault: Mapping[str, Any]) -> tuple[int, Path]:
        """Start a job that breaks in `fault["step"]` of its first attempt: its number and its log."""

    def stop(self) -> None:
        """End it and remove what it made."""


class RealSlurm:
    """A private real Slurm."""

    def __init__(self, folder: Path) -> None:
        self.slurm = SlurmCluster(Layout(folder=folder / "c", base_port=_block_of_ports(), nodes=NODES))
        self.slurm.start()
        self.path, self.config = "", str(self.slurm.layout.conf)
        self.options = ["--scheduler-config", self.config, "--log-root", str(self.slurm.layout.jobs)]

    def submit(self, name: str, steps: int, fault: Mapping[str, Any]) -> tuple[int, Path]:
        """See `TrainingCluster.submit`."""
        told = {"attempt": 0, "rank": 1, **fault}
        number = submit_training(self.slurm, [told], name=name, **{**TRAINING, "steps": steps})
        return number, self.slurm.layout.jobs / f"{name}_{number}.log"

    def stop(self) -> None:
        """See `TrainingCluster.stop`."""
        self.slurm.stop()


class SimulatedSlurm:
    """The simulated cluster of the demo; a requeued job waits as long as its settings say (2 s)."""

    def __init__(self, folder: Path) -> None:
        self.simulator = Simulator(folder / "sim")
        self.path, self.config = self.simulator.path, ""
        self.options = self.simulator.options

    def submit(self, name: str, steps: int, fault: Mapping[str, Any]) -> tuple[int, Path]:
        """See `TrainingCluster.submit`."""
        kinds = {"stop": "hang"}
        told = {"attempt": 0, "node": 1, "step": fault["step"], "kind": kinds.get(fault["kind"], fault["kind"])}
        play = {"name": name, "nodes": 3, "startup_seconds": 1, "checkpoint_every": 5, **TRAINING, "steps": steps}
        number = self.simulator.submit({**play, "faults": [told]})
        return number, self.simulator.folder / "logs" / f"{name}_{number}.log"

    def stop(self) -> None:
        """See `TrainingCluster.stop`."""
        self.simulator.stop()


class Rig:
    """Site and controller in action mode over one cluster. A context manager: all of it ends on exit.

    `default_limits`: the product's own poll (15 s) and detector limits, instead of those of the tests.
    """

    def __init__(self, *, simulated: bool, default_limits: bool) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="rk-", ignore_cleanup_errors=True)
        folder = Path(self._folder.name)
        folder.chmod(0o755)
        self.cluster: TrainingCluster = SimulatedSlurm(folder) if simulated else RealSlurm(folder)
        self._simulated, self._default_limits = simulated, default_limits
        self.site = Site(folder / "site")

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.cluster.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.controller.stop()
        self.site.stop()
        self.cluster.stop()
        self._folder.cleanup()

    def _start(self) -> None:
        options = ["--scheduler-path", self.cluster.path, *self.cluster.options]
        if self._simulated:
            options = self.cluster.options
        if self._default_limits:
            self.site.manage("cluster", "add", "lab", "--environment", "test", *options)
            words = ["--reason", "a measurement", "--acknowledge-scheduler-actions"]
            self.site.manage("cluster", "mode", "lab", "action", *words)
        else:
            self.site.add_cluster("lab", "action", options)
        self.controller = Controller(self.site, "lab", self.cluster.path, self.cluster.config)
        self.site.start()
        self.controller.start()
        self.person = self.site.person()
        self.person.set_policy(POLICY, "a measurement")

    def trail(self, number: int) -> list[dict[str, Any]]:
        """All events of a job; empty while the site does not know the job yet."""
        try:
            return self.person.trail("lab", number)
        except HTTPError as error:
            if error.code != NOT_FOUND:
                raise
            return []

    def wait_for(self, number: int, kind: str, seconds: float) -> list[dict[str, Any]]:
        """The trail of a job once it has an event of this type."""

        def search() -> list[dict[str, Any]] | None:
            trail = self.trail(number)
            return trail if any(event["eventType"] == kind for event in trail) else None

        return until(search, seconds, lambda: f"{kind}:\n{told(self.trail(number))}", pause=0.5)


def _block_of_ports() -> int:
    for base in random.sample(range(10000, 32000, PORTS_EACH), k=55):
        if not Layout(folder=Path("/"), base_port=base, nodes=NODES).taken_ports():
            return base
    raise RuntimeError("no block of ports is free")

"""How are a private real Slurm and the product put together for cases, and how does all of it end again?"""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lab.ending import signals_end, take_no_more
from lab.parts.controller import Controller
from lab.parts.recording import recording_commands
from lab.parts.site import Site
from lab.real.reading import Reading
from lab.slurm.cluster import SlurmCluster
from lab.slurm.layout import Layout, Partition, free_base_port

CLUSTER = "lab"
POLICY = {
    "storm_restarts": 1000,
    "max_user_restarts": 1000,
    "max_excluded_share": 0.5,
    "max_excluded_user_share": 1.0,
    "unknown_backoff_seconds": 4,
}
MAKE_POLICY = """
from django.utils import timezone
from advisor_api.activating import establish
from advisor_api.policies import Place
from audit.actor_kind import ActorKind
from audit.trail import Actor
lab = Actor(ActorKind.PERSON, "lab")
establish(Place(), {values!r}, "cases of the lab", actor=lab, now=timezone.now())
"""
POLICY_SAYS = (
    "Limits and poll are shortened as in the tests (a step takes 0.3 s); no limit on restart storms (twenty "
    "failures in minutes are a storm by construction); 4 s instead of 60 s before a restart of unknown cause."
)


class Rig:
    """One private Slurm with a partition for each case, the site, the controller and its watchdog in action."""

    def __init__(self, partitions: Sequence[Partition], folder: Path) -> None:
        nodes = sum(len(partition.nodes) for partition in partitions)
        self._short = Path(tempfile.mkdtemp(prefix="rk-real-"))  # paths of unix sockets are short
        self._short.chmod(0o755)
        base = free_base_port(nodes)
        layout = Layout(self._short / "c", nodes, base, partitions=tuple(partitions), preemption=True, prolog=True)
        self.slurm = SlurmCluster(layout)
        self.folder = folder
        self.commands = folder / "commands.log"
        self.site: Site | None = None
        self.controller: Controller | None = None

    def start(self) -> Reading:
        """Start everything; what reads the site's rows, to be closed before `stop`."""
        with ThreadPoolExecutor(1) as beside:
            furnished = beside.submit(self._furnish)
            self.slurm.start()
            site, controller = furnished.result()
        site.start()
        controller.start()
        controller.start_watchdog()
        return Reading(site, CLUSTER, self.commands)

    def _furnish(self) -> tuple[Site, Controller]:
        """A site that knows the cluster and its policy, and a controller that may act on it; nothing runs yet."""
        self.site = site = Site(self.folder / "site")
        recording = str(recording_commands(self.folder / "bin", self.commands))
        config, jobs = str(self.slurm.layout.conf), str(self.slurm.layout.jobs)
        where = ["--scheduler-path", recording, "--scheduler-config", config, "--log-root", jobs]
        site.add_cluster(CLUSTER, "action", where)
        site.manage("shell", "-v", "0", "-c", MAKE_POLICY.format(values=POLICY))
        self.controller = Controller(site, CLUSTER, recording, config)
        return site, self.controller

    def stop(self) -> None:
        """End everything; the jobs' logs are kept in the folder, and what the product's processes printed."""
        for part in (self.controller, self.site):
            if part:
                part.stop()
        self._keep()
        self.slurm.stop()
        shutil.rmtree(self._short, ignore_errors=True)

    def _keep(self) -> None:
        logs = self.folder / "logs"
        logs.mkdir(exist_ok=True)
        for log in self.slurm.layout.jobs.glob("*.log*"):
            shutil.copy(log, logs)
        running = (
            {"controller": self.controller.running, "watchdog": self.controller.watchdog} if self.controller else {}
        )
        parts = {**(self.site.processes if self.site else {}), **running}
        for name, part in parts.items():
            if part:
                (self.folder / f"{name}.out").write_text(part.text())


@contextlib.contextmanager
def rig(partitions: Sequence[Partition], folder: Path) -> Iterator[tuple[Rig, Reading]]:
    """A rig that is up; whatever ends the block ends every process and removes every mount and folder of it."""
    with signals_end():
        made = Rig(partitions, folder)
        try:
            with made.start() as reading:
                yield made, reading
        finally:
            take_no_more()
            made.stop()

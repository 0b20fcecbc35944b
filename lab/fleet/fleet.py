"""How is a fleet put together? A cluster, the works of its users, what breaks, and the people who look after it."""

from collections.abc import Callable, Iterator
from pathlib import Path

from lab.fleet.cluster import FleetCluster
from lab.fleet.ledger import Ledger
from lab.fleet.machines import Machines
from lab.fleet.options import Options
from lab.fleet.people import People
from lab.fleet.works import Work, works
from lab.simulate.logs import Logs
from lab.simulate.settings import Settings
from lab.truth import Injected, note

MIN_JOB_AGES = 6  # polls for which the controller remembers an ended job; Slurm's own 300 s is 20 polls of 15 s
REQUEUE_WAIT_SECONDS = 121  # Slurm's own: cred_expire + 1
KILL_WAIT_SECONDS = 30  # Slurm's own KillWait
NODE_TIMEOUT_SECONDS = 300.0  # Slurm's own SlurmdTimeout
CYCLE_SECONDS = 5.0  # between two looks of the scheduler; Slurm's own is 60 s for the main loop, less after events


class NoLogs:
    """Logs for a fleet that nobody watches."""

    folder = "/logs"

    def read_clock(self, now: Callable[[], float]) -> None:
        """See `Logs.read_clock`."""

    def start(self, path: str, append: bool) -> None:
        """See `Logs.start`."""

    def write(self, path: str, text: str) -> None:
        """See `Logs.write`."""

    def keep(self, path: str, step: int) -> None:
        """See `Logs.keep`."""

    def remove(self, path: str) -> None:
        """See `Logs.remove`."""


class Fleet:
    """A fleet from `options.start` on; everything but the commands of others lies on its cluster's agenda.

    `truth` takes every strike; `None`: nobody asks for it.
    """

    def __init__(self, options: Options, logs: Logs | None = None, truth: Path | None = None) -> None:
        self.options = options
        self.cluster = FleetCluster(options.start, settings(options), logs or NoLogs(), _teller(truth))
        self.machines = Machines(options, self.cluster)
        self.people = People(options, self.cluster, self.machines)
        self.machines.begin()
        self._submit_next(works(options))

    def closed(self) -> Ledger:
        """The ledger with the last checkpoints of what still runs."""
        for number, attempt in self.cluster.ledger.open.items():
            attempt.to_step = self.cluster.jobs[number].checkpoint
        return self.cluster.ledger

    def _submit_next(self, stream: Iterator[Work]) -> None:
        """One work at a time lies on the agenda: a month of them would only take up memory."""
        work = next(stream, None)
        if work is not None:
            self.cluster.agenda.after(work.at - self.cluster.now, self._submit, work, stream)

    def _submit(self, work: Work, stream: Iterator[Work]) -> None:
        self.cluster.begin(work)
        self._submit_next(stream)


def settings(options: Options) -> Settings:
    """The installation: Slurm's own waiting times, and nodes that take one job each."""
    width = len(str(options.nodes))
    return Settings(
        cluster_name="fleet",
        node_names=tuple(f"gpu{number:0{width}d}" for number in range(1, options.nodes + 1)),
        min_job_age_seconds=max(300, round(MIN_JOB_AGES * options.poll_seconds)),
        requeue_wait_seconds=REQUEUE_WAIT_SECONDS,
        kill_wait_seconds=KILL_WAIT_SECONDS,
        node_timeout_seconds=NODE_TIMEOUT_SECONDS,
        cycle_seconds=CYCLE_SECONDS,
    )


def _teller(truth: Path | None) -> Callable[[Injected], None]:
    if truth is None:
        return lambda injected: None
    return lambda injected: note(truth, injected)

"""A simulated cluster that tells the lab what happens: starts, ends and strikes, each at its moment."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from lab.fleet.classes import TIME_LIMIT, Kind
from lab.fleet.ledger import Attempted, Ledger
from lab.fleet.works import Work
from lab.simulate.jobs import RUNNING, Job
from lab.simulate.logs import Logs
from lab.simulate.model import Cluster
from lab.simulate.play import Fault
from lab.simulate.settings import Settings
from lab.truth import Injected

Ended = Callable[[Job, Attempted], None]
Struck = Callable[[Job, Kind], None]


class FleetCluster(Cluster):
    """A cluster with a ledger. `on_end` and `on_blow` are told what happened; nothing of it stands in a log."""

    def __init__(self, now: float, settings: Settings, logs: Logs | None, tell: Callable[[Injected], None]) -> None:
        super().__init__(now, settings, logs)
        self.ledger = Ledger()
        self.works: dict[int, Work] = {}  # those that are not over
        self.on_end: Ended = lambda job, attempt: None
        self.on_blow: Struck = lambda job, kind: None
        self.on_lost: Callable[[str], None] = lambda name: None
        self._meant: dict[tuple[int, Fault], Kind] = {}
        self._tell = tell
        self.on_strike(self._struck)

    def begin(self, work: Work, step: int = 0) -> int:
        """Submit a job for a work, which goes on from the checkpoint of `step`; its number."""
        self.works[work.number] = work
        number = self.submit(work.play)
        self.jobs[number].checkpoint = step
        self.ledger.submitted(work.number, number)
        return number

    def strike(self, job: Job, kind: Kind, fault: Fault) -> bool:
        """Have `fault` happen to the attempt that runs, at its next moment; `False` when none does."""
        if job.state != RUNNING or job.run is None or self.ledger.open[job.number].struck:
            return False
        if len(job.nodes) < kind.least_nodes:
            return False
        fault = replace(fault, attempt=job.restarts)
        self._meant[job.number, fault] = kind
        job.run.coming.append(fault)
        return True

    def _struck(  # noqa: PLR0917  # the words of `lab.simulate.world.Strike`
        self,
        number: int,
        attempt: int,
        fault: Fault,
        nodes: Sequence[str],
        ranks: Sequence[int],
        step: int | None,
        at: float,
    ) -> None:
        work = self.works[self.ledger.work_of[number]]
        kind = self._meant.pop((number, fault), None) or work.kind_of(fault)
        if kind is None:
            raise LookupError(f"nobody meant {fault.kind} to happen to job {number}")
        if not kind.mended:  # it passes, and does not come again when the work goes on
            self.works[work.number] = work.without(kind)
        self.ledger.struck(number, kind, at)
        self._tell(
            Injected(kind.name, number, attempt, fault.text or fault.kind, at, tuple(nodes), tuple(ranks), step)
        )
        self.on_blow(self.jobs[number], kind)

    def lose_node(self, name: str) -> None:
        """See `Life.lose_node`."""
        was_lost = self.nodes[name].lost
        super().lose_node(name)
        if not was_lost:
            self.on_lost(name)

    def start(self, job: Job, nodes: tuple[str, ...]) -> None:
        """See `Life.start`."""
        self.ledger.started(job.number, job.restarts, nodes, job.checkpoint, self.now)
        super().start(job, nodes)

    def close_row(self, job: Job, state: str) -> None:
        """See `Life.close_row`."""
        super().close_row(job, state)
        if state == "TIMEOUT" and job.number in self.ledger.open:
            self.ledger.struck(job.number, TIME_LIMIT, self.now)
            self._tell(Injected(TIME_LIMIT.name, job.number, job.restarts, "time_limit", self.now))
        attempt = self.ledger.ended(job.number, state, job.checkpoint, self.now)
        if attempt is not None:
            self.on_end(job, attempt)

"""When does which node break, and what is struck by it? Failures, lemons, shared causes, maintenance."""

from collections.abc import Iterator, Sequence

from lab.fleet import draws, published
from lab.fleet.classes import HARDWARE_PART, HOST, MACHINE, STALL, STORAGE, SWITCH, Kind
from lab.fleet.cluster import FleetCluster
from lab.fleet.options import Options
from lab.simulate import actions
from lab.simulate.jobs import RUNNING
from lab.simulate.play import Fault

FROM_NODE = frozenset({"fleet.gpu", "fleet.firmware", "fleet.gpu_memory", "fleet.nvlink", "fleet.network"})
"""Classes that may leave the node broken until it is repaired; a lost node is gone anyway."""


class Machines:
    """All that happens to nodes, laid on the cluster's agenda at the start."""

    def __init__(self, options: Options, cluster: FleetCluster) -> None:
        self._options, self._cluster = options, cluster
        self.names: Sequence[str] = tuple(cluster.nodes)
        self.lemons = frozenset(
            draws.chance(options.seed, "lemons").sample(
                self.names, max(1, round(published.LEMON_SHARE * len(self.names)))
            )
        )
        self.broken: dict[str, float] = {}  # node → broken until

    def begin(self) -> None:
        """Put everything on the agenda."""
        for name in self.names:
            self._wear(name)
        storms = published.SWITCH_STORMS_PER_DAY * len(self.names)
        for at in self._times("switch", storms):
            self._at(at, self._switch_fails, at)
        for at in self._times("stall", published.STALLS_PER_DAY):
            self._at(at, self._file_system_stalls, at)
        at = self._options.start + published.DRAIN_EVERY_SECONDS / 2
        while at < self._options.end:
            self._at(at, self._maintain, at)
            at += published.DRAIN_EVERY_SECONDS

    def repaired(self, name: str) -> None:
        """Somebody has repaired the node. A lemon stays one."""
        self.broken.pop(name, None)

    def _times(self, word: str, rate: float) -> Iterator[float]:
        dice = draws.chance(self._options.seed, word)
        return draws.times(dice, rate, self._options.start, self._options.end)

    def _at(self, at: float, act, *words: object) -> None:  # type: ignore[no-untyped-def]
        self._cluster.agenda.after(at - self._cluster.now, act, *words)

    def _wear(self, name: str) -> None:
        """All failures of one node."""
        rate = published.NODE_DAY_RATE / HARDWARE_PART * (published.LEMON_FACTOR if name in self.lemons else 1)
        dice = draws.chance(self._options.seed, "node", name)
        for at in draws.times(dice, rate, self._options.start, self._options.end):
            kind = draws.pick(dice, MACHINE)
            fault = kind.fault(dice, node=name, attempt=0)
            stays = kind.name in FROM_NODE and dice.random() < published.PERSISTS
            self._at(at, self._fail, name, kind, fault, stays)

    def _fail(self, name: str, kind: Kind, fault: Fault, stays: bool) -> None:
        if stays and name not in self.broken:
            self.broken[name] = self._cluster.now
            self._again(name, kind, fault, 1)
        self._strike(name, kind, fault)

    def _again(self, name: str, kind: Kind, fault: Fault, times: int) -> None:
        """A broken node fails again and again until it is repaired."""
        dice = draws.chance(self._options.seed, "again", name, self.broken[name], times)
        seconds = dice.expovariate(published.BROKEN_RATE) * published.DAY
        self._cluster.agenda.after(seconds, self._fails_again, name, kind, fault, self.broken[name], times)

    def _fails_again(self, name: str, kind: Kind, fault: Fault, since: float, times: int) -> None:
        if self.broken.get(name) == since:
            self._strike(name, kind, fault)
            self._again(name, kind, fault, times + 1)

    def _strike(self, name: str, kind: Kind, fault: Fault) -> None:
        """Whatever runs on the node is struck; an idle one is lost when that is what happens."""
        running = [number for number in sorted(self._cluster.nodes[name].jobs) if number in self._cluster.jobs]
        for number in running:
            self._cluster.strike(self._cluster.jobs[number], kind, fault)
        if not running and kind is HOST:
            self._cluster.lose_node(name)

    def _switch_fails(self, at: float) -> None:
        """Every job with a node below the switch."""
        dice = draws.chance(self._options.seed, "switch", at)
        first = dice.randrange(0, len(self.names), published.POD_NODES)
        below = self.names[first : first + published.POD_NODES]
        for number in self._running():
            hit = [name for name in self._cluster.jobs[number].nodes if name in below]
            if hit:
                fault = SWITCH.fault(dice, node=hit[0], attempt=0)
                self._later(dice.uniform(0, published.STORM_SECONDS), number, SWITCH, fault)

    def _file_system_stalls(self, at: float) -> None:
        """Every job stands still; some do not survive it."""
        dice = draws.chance(self._options.seed, "stall", at)
        seconds = draws.within(dice, published.STALL_SECONDS)
        for number in self._running():
            kind = STORAGE if dice.random() < published.STALL_FAILS else STALL
            fault = kind.fault(dice, attempt=0)
            if kind is STALL:
                fault = Fault("pause", seconds=seconds)
            self._later(dice.uniform(0, published.STORM_SECONDS), number, kind, fault)

    def _later(self, seconds: float, number: int, kind: Kind, fault: Fault) -> None:
        self._cluster.agenda.after(
            seconds, self._strike_job, number, self._cluster.jobs[number].restarts, kind, fault
        )

    def _strike_job(self, number: int, attempt: int, kind: Kind, fault: Fault) -> None:
        job = self._cluster.jobs.get(number)
        if job is not None and job.restarts == attempt:
            self._cluster.strike(job, kind, fault)

    def _running(self) -> list[int]:
        return [number for number, job in self._cluster.jobs.items() if job.state == RUNNING]

    def _maintain(self, at: float) -> None:
        """Some nodes are drained, and resumed some hours later; their jobs run to their ends."""
        dice = draws.chance(self._options.seed, "maintenance", at)
        names = dice.sample(self.names, max(1, round(published.DRAIN_SHARE * len(self.names))))
        free = [name for name in names if self._cluster.nodes[name].usable]
        for name in free:
            actions.update_nodes(self._cluster, name, "DRAIN", "maintenance")
        self._cluster.agenda.after(published.DRAIN_SECONDS, self._resume, tuple(free))

    def _resume(self, names: tuple[str, ...]) -> None:
        for name in names:
            node = self._cluster.nodes[name]
            if node.drained and node.reason == "maintenance":
                actions.update_nodes(self._cluster, name, "RESUME", None)

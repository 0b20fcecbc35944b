"""What belongs to a simulated cluster, and when does its scheduler look?"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from lab.simulate.agenda import Agenda
from lab.simulate.jobs import PENDING, AttemptRow, Job
from lab.simulate.logs import Logs, MemoryLogs
from lab.simulate.nodes import Node
from lab.simulate.play import Fault, Play
from lab.simulate.scheduling import BAD_CONSTRAINTS, RESOURCES, Room, choose
from lab.simulate.settings import Settings

Strike = Callable[[int, int, Fault, tuple[str, ...], tuple[int, ...], int, float], None]
"""Told of a fault: job, attempt, the fault, the nodes and ranks it strikes, the step, and when (epoch seconds)."""


@dataclass(frozen=True, slots=True)
class Lie:
    """What listings show instead of the truth (`lab.simulate.lies`). `jobs`: those they show, if not all."""

    how: str
    jobs: dict[int, Job] | None = None
    seconds: float = 0.0  # until an answer comes


FIRST_PRIORITY = 4294901759  # priority/basic counts down from here


class World(ABC):
    """Nodes, jobs and the agenda at the time `now` (epoch seconds), which moves only by `advance`."""

    def __init__(self, now: float, settings: Settings | None = None, logs: Logs | None = None) -> None:
        self.settings = settings or Settings()
        self.logs: Logs = logs or MemoryLogs()
        self.agenda = Agenda(now)
        self.logs.read_clock(lambda: self.agenda.now)
        self.booted_at = int(now)
        self.partitions = self.settings.node_lists()
        self.nodes = {
            name: Node(name, self.settings.jobs_per_node, self.booted_at) for name in self.settings.node_names
        }
        self.jobs: dict[int, Job] = {}
        self.forgotten: dict[int, list[AttemptRow]] = {}  # attempts of purged jobs, for the accounting
        self.counts = dict.fromkeys(("submitted", "started", "completed", "canceled", "failed"), 0)
        self.controller_up = True
        self.strikes: list[Strike] = []
        self.lie: Lie | None = None
        self._clock: list[tuple[float, float]] = [(float("-inf"), 0.0)]  # from when on, seconds fast
        self.next_number = self.settings.first_job
        self._priority = FIRST_PRIORITY
        self._index = 0
        self._cycle_at: float | None = None

    @property
    def now(self) -> float:
        """Virtual time in epoch seconds."""
        return self.agenda.now

    @property
    def ahead(self) -> float:
        """By how many seconds the controller's clock is fast."""
        return self._clock[-1][1]

    def set_clock(self, ahead: float) -> None:
        """From now on the controller's clock is so many seconds fast; what it has stamped before stays.

        Only what commands show follows its clock: modelled, since Slurm itself ends jobs by its clock.
        """
        self._clock.append((self.now, ahead))

    def clock_at(self, at: float) -> float:
        """What the controller's clock showed, or will show, at the true time `at`."""
        return at + next(ahead for since, ahead in reversed(self._clock) if since <= at)

    def advance(self, to: float) -> None:
        """Let everything happen that is due until `to` (epoch seconds); a time before now changes nothing."""
        self.agenda.advance(to)

    def next_priority(self) -> int:
        """A priority below all that were given before."""
        self._priority -= 1
        return self._priority

    def new_row(self, number: int, play: Play, partition: str, second: int) -> AttemptRow:
        """A row of the accounting for an attempt submitted at `second`."""
        self._index += 1
        return AttemptRow(
            number, play.name, play.user, play.account, partition, self._index, second, node_count=play.nodes
        )

    @abstractmethod
    def start(self, job: Job, nodes: tuple[str, ...]) -> None:
        """The scheduler has chosen these nodes for the job."""

    def request_cycle(self, seconds: float = 0.0) -> None:
        """Have the scheduler look in `seconds`, at the earliest after one cycle."""
        at = self.now + max(seconds, self.settings.cycle_seconds)
        if self._cycle_at is None or at < self._cycle_at:
            self._cycle_at = at
            self.agenda.after(at - self.now, self._cycle, at)

    def _cycle(self, at: float) -> None:
        if at != self._cycle_at:
            return
        self._cycle_at = None
        if not self.controller_up:
            return
        blocked: set[str] = set()
        rooms: dict[str, Room] = {}
        waiting = [
            job for job in self.jobs.values() if job.state == PENDING and not job.completing and job.priority
        ]
        now, begins = self.now, float("inf")
        for job in sorted(waiting, key=lambda job: -job.priority):
            if job.begin_at > now:
                job.reason = "BeginTime"
                begins = min(begins, job.begin_at)
            elif job.partition in blocked:
                job.reason = "Priority"
            else:
                self._consider(job, blocked, rooms)
        if begins < float("inf"):
            self.request_cycle(begins - now)

    def _consider(self, job: Job, blocked: set[str], rooms: dict[str, Room]) -> None:
        room = rooms.get(job.partition)
        if room is None:
            room = rooms[job.partition] = Room([self.nodes[name] for name in self.partitions[job.partition]])
        chosen = choose(job, room)
        if isinstance(chosen, tuple):
            self.start(job, chosen)
            for one in rooms.values():  # partitions may share nodes
                one.taken(chosen)
            return
        job.reason = chosen
        if chosen == RESOURCES:
            blocked.add(job.partition)  # first come, first served: nobody overtakes
        elif chosen == BAD_CONSTRAINTS:
            job.kept_priority, job.priority = job.priority, 0  # observed: it looks like a held job

"""Whose silence may be taken for a hang although nothing struck the job? Decision 0008, word for word.

Logs here are files. While they stand still for all, a job that has company is blind; one that is alone is judged
by its rhythm, for twice the time. Only that is let pass: no other job wrote within a minute before and still ran a
while after, and the logs stood still for as long as a job alone is given.
"""

from dataclasses import dataclass, field

from lab.simulate.jobs import RUNNING
from lab.simulate.model import Cluster

Place = tuple[int, int]  # job number and restart count
TOGETHER = 60.0  # seconds before: who was silent for longer is no company
WITH_IT = 20.0  # seconds after: half the silence below; who ended before did not fall silent with it


@dataclass
class Hush:
    """When logs stood still, and who ran then. `alone_seconds`: what a job alone is given."""

    cluster: Cluster
    alone_seconds: float
    since: float | None = None
    struck_at: dict[Place, float] = field(default_factory=dict)
    excused: set[Place] = field(default_factory=set)
    _there: list[Place] = field(default_factory=list)

    def begin(self, now: float) -> None:
        """Logs stand still from now on. Twice without an end is once."""
        if self.since is not None:
            return
        self.since = now
        running = [(job.number, job.restarts) for job in self.cluster.jobs.values() if job.state == RUNNING]
        self._there = [place for place in running if now - self.struck_at.get(place, now) < TOGETHER]

    def look(self, now: float) -> set[Place]:
        """Who is excused until now."""
        if self.since is not None and now - self.since >= self.alone_seconds:
            for place in self._there:
                if not any(self._stayed(other) for other in self._there if other != place):
                    self.excused.add(place)
        return self.excused

    def end(self, now: float) -> None:
        """They are written again."""
        self.look(now)
        self.since = None

    def _stayed(self, place: Place) -> bool:
        """Whether it ran on in silence, or still does."""
        number, restarts = place
        job = self.cluster.jobs.get(number)
        rows = job.rows if job is not None else self.cluster.forgotten.get(number, [])
        ended_at = rows[restarts].ended_at if restarts < len(rows) else None
        return ended_at is None or ended_at - (self.since or 0.0) >= WITH_IT

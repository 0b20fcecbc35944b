"""What happens in one case on its simulated cluster, and what is written down of it?"""

import os
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from lab import truth
from lab.cases.case import Act, Case, Sort
from lab.score.said import Result, Said
from lab.simulate.demo import opt_in
from lab.simulate.jobs import AttemptRow
from lab.simulate.model import Cluster
from lab.simulate.outside import OUTSIDE, NotDone
from lab.simulate.outside import act as act_outside
from lab.simulate.play import Fault, Play
from lab.simulate.settings import Settings
from lab.simulate.virtual_logs import VirtualLogs
from lab.truth import Injected

ENVIRONMENT = Settings().cluster_name  # that the jobs of the cases opt in to
FIRST_JOB = 7001  # no number that stands in a log or in a command for anything else


def tag_of(case: Case) -> str:
    """What stands for a case wherever the product could look: its cluster, its folder of logs."""
    return f"cluster-{zlib.crc32(case.name.encode()):08x}"


class Scene:
    """One case: its cluster, its jobs by number in the order of their submission, and its truth file.

    The truth file stands outside the folder of logs; it is the only place that deeds are read from.
    """

    def __init__(self, case: Case, start: float, logs_folder: Path, truth_file: Path) -> None:
        self.case = case
        self.start = start
        self.jobs: list[int] = []
        self._truth = truth_file
        self._struck_at: dict[int, float] = {}  # by the job's number, the first time
        self._faults = self._acts = 0
        usual = {"user_id": os.getuid(), "first_job": FIRST_JOB}
        told = case.simulated.settings if case.simulated else {}
        self._logs = VirtualLogs(logs_folder)
        self.cluster = Cluster(start, Settings(**{**usual, **told}), self._logs)
        self.cluster.on_strike(self._strike)

    @property
    def tag(self) -> str:
        """Its name for the product."""
        return tag_of(self.case)

    def submit(self, play: Play) -> None:
        """Submit a job; it opts in unless it has a comment of its own."""
        comment = play.comment or opt_in(ENVIRONMENT)
        self.jobs.append(self.cluster.submit(replace(play, comment=comment)))

    def made_step(self, step: int) -> bool:
        """Whether job 0 has made this step in the attempt that runs."""
        job = self.cluster.jobs.get(self.jobs[0]) if self.jobs else None
        return job is not None and job.run is not None and job.run.step >= step

    def act(self, act: Act) -> None:
        """Do it, and write it down if it could be done. What nobody can do is a mistake in the case: `KeyError`."""
        if act.do not in OUTSIDE:
            raise KeyError(f"nobody can do '{act.do}'")
        attempts = {number: job.restarts for number, job in self.cluster.jobs.items()}
        try:
            deed = act_outside(self.cluster, act.do, act.words, self.jobs)
        except NotDone:
            return  # it has no line in the truth file then
        self._acts += 1
        for number in deed.jobs or (0,):
            self._note(act.do, number, attempts.get(number, 0), self.cluster.now, deed.nodes)

    def result(self, said: Said) -> Result:
        """The case is over."""
        injected = tuple(truth.read([self._truth]))
        return Result(self.case, injected if self._whole() else (), said, self._healthy_seconds())

    def close(self) -> None:
        """Let go of the logs."""
        self._logs.close()

    def _whole(self) -> bool:
        """Whether every act was done, and a fault struck if the jobs have any: half is not the case."""
        script = self.case.simulated
        if script is None:
            return False
        has_faults = any(play.faults for _, play in script.jobs)
        return self._acts == len(script.acts) and (self._faults > 0 or not has_faults)

    def _strike(  # noqa: PLR0917  # the signature of `lab.simulate.world.Strike`
        self,
        number: int,
        attempt: int,
        fault: Fault,
        nodes: tuple[str, ...],
        ranks: tuple[int, ...],
        step: int,
        at: float,
    ) -> None:
        self._faults += 1
        self._note(fault.text or fault.kind, number, attempt, at, nodes, ranks=ranks, step=step)

    def _note(
        self,
        what: str,
        number: int,
        attempt: int,
        at: float,
        nodes: tuple[str, ...],
        *,
        ranks: tuple[int, ...] = (),
        step: int | None = None,
    ) -> None:
        self._struck_at.setdefault(number, at)
        truth.note(
            self._truth, Injected(self.case.name, number, attempt, what, at, nodes=nodes, ranks=ranks, step=step)
        )

    def _healthy_seconds(self) -> float:
        """Of a trap all the time that its jobs ran, of a fault that before it struck the job."""
        now, fault = self.cluster.now, self.case.sort is Sort.FAULT
        seconds = 0.0
        for row in self._attempts():
            if row.started_at is None:
                continue
            ended_at = now if row.ended_at is None else row.ended_at
            struck_at = self._struck_at.get(row.number, ended_at) if fault else ended_at
            seconds += max(0.0, min(ended_at, struck_at) - row.started_at)
        return seconds

    def _attempts(self) -> Iterator[AttemptRow]:
        for job in self.cluster.jobs.values():
            yield from job.rows
        for rows in self.cluster.forgotten.values():
            yield from rows

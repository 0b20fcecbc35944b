"""How does a Slurm answer whose slurmrestd is read, while its commands act?

Jobs, nodes, the clock and whether it answers come from slurmrestd. What its API does not tell comes from the
commands: the limits of the installation, the accounting, and which tasks of an array wait. Nothing is asked the
other way when one fails: what cannot be seen is unknown.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from schedulers.port import Garbled, JobDetail, JobRow, Listing, NodeRow, NoSuchJob, Unreachable
from schedulers.slurm import commands, rest_rows
from schedulers.slurm.adapter import Slurm
from schedulers.slurm.rest_place import Questions
from schedulers.transport import Transport

Read = TypeVar("Read")


class SlurmByRest(Slurm):
    """`schedulers.port.Scheduler`: reads from slurmrestd, acts by commands, each given `seconds`."""

    def __init__(self, transport: Transport, seconds: float, rest: Questions) -> None:
        super().__init__(transport, seconds)
        self._rest = rest

    def jobs(self) -> Listing:
        """All jobs in one request."""
        content, size = self._rest.ask("jobs", self._seconds)
        return Listing(_read(content, lambda: rest_rows.jobs(content)), size)

    def job(self, number: int) -> JobDetail:
        """The row and the exclusions in one request."""
        row, content = self._found(number)
        return JobDetail(row, _read(content, lambda: rest_rows.excluded_nodes(content, number)))

    def nodes(self) -> tuple[NodeRow, ...]:
        """All nodes in one request."""
        content, _ = self._rest.ask("nodes", self._seconds)
        return _read(content, lambda: rest_rows.nodes(content))

    def now(self) -> datetime:
        """The controller's clock, in whole seconds."""
        content, _ = self._rest.ask("diag", self._seconds)
        return _read(content, lambda: rest_rows.clock(content))

    def ping(self) -> None:
        """Returns when slurmrestd answers, and behind it a controller."""
        self.release_of_rest()

    def release_of_rest(self) -> str:
        """Slurm's version as slurmrestd tells it; raises `Unreachable` when no controller is behind it."""
        content, _ = self._rest.ask("ping", self._seconds)
        if not _read(content, lambda: rest_rows.is_up(content)):
            raise Unreachable("slurmrestd answers, but no controller of this Slurm.", str(content))
        return _read(content, lambda: rest_rows.release(content))

    def _row(self, number: int) -> JobRow:
        return self._found(number)[0]

    def _found(self, number: int) -> tuple[JobRow, Mapping[str, Any]]:
        try:
            name = commands.job_number(number)
        except ValueError as error:
            raise NoSuchJob(str(error)) from error
        content, _ = self._rest.ask(f"job/{name}", self._seconds)
        for row in _read(content, lambda: rest_rows.jobs(content)):
            if row.number == number:
                return row, content
        raise NoSuchJob(f"Slurm does not know job {number}.", str(content))


def _read(content: Mapping[str, Any], reading: Callable[[], Read]) -> Read:
    try:
        return reading()
    except ValueError as error:
        raise Garbled(str(error), str(content)[:65536]) from error

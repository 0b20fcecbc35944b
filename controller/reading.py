"""Through what are jobs and nodes read: the commands, or the site's slurmrestd?

What is read through slurmrestd is asked for there alone: when it does not answer, nothing is seen, as with commands
that do not. The watchdog is not built here, for it must need as little as it can.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from controller.cluster import scheduler_of
from controller.config import RestSettings, Settings, read_token
from controller.measuring import Tally
from schedulers.port import Scheduler, SchedulerError
from schedulers.slurm.rest_adapter import SlurmByRest
from schedulers.slurm.rest_place import Questions, RestPlace
from schedulers.slurm.restd import Restd
from schedulers.transport import Transport


@dataclass(frozen=True)
class CountingRest:
    """Questions to slurmrestd, counted as the commands are."""

    inner: Questions
    tally: Tally
    monotonic: Callable[[], float]

    def ask(self, path: str, seconds: float) -> tuple[dict[str, Any], int]:
        """Ask, and count it by what was asked for and by outcome."""
        began, outcome = self.monotonic(), "no_answer"
        try:
            answer = self.inner.ask(path, seconds)
            outcome = "done"
            return answer
        except SchedulerError as error:
            outcome = type(error).__name__.lower()
            raise
        finally:
            command = f"slurmrestd {path.partition('/')[0]}"
            self.tally.add("rekindle_commands_total", command=command, outcome=outcome)
            self.tally.add("rekindle_command_seconds_total", self.monotonic() - began, command=command)


def reader_of(settings: Settings, transport: Transport, tally: Tally, monotonic: Callable[[], float]) -> Scheduler:
    """The scheduler that the configuration names, read in the way that it names."""
    if settings.slurmrestd is None:
        return scheduler_of(settings, transport)
    rest = CountingRest(Restd(place_of(settings.slurmrestd)), tally, monotonic)
    return SlurmByRest(transport, settings.scheduler.command_seconds, rest)


def place_of(told: RestSettings) -> RestPlace:
    """The slurmrestd of the configuration."""
    token = partial(read_token, Path(told.token_file)) if told.token_file else None
    return RestPlace(told.url, told.api, told.user, token, told.ca_file)

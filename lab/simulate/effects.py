"""What can a fault do to an attempt, besides what is printed?"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ended:
    """The batch script is over."""

    state: str
    exit_code: int = 0
    exit_signal: int = 0
    reason: str = "None"


@dataclass(frozen=True, slots=True)
class Hung:
    """The processes live and say nothing more."""


@dataclass(frozen=True, slots=True)
class NodeLost:
    """The node `name` stops answering, and with it the job falls silent."""

    name: str


@dataclass(frozen=True, slots=True)
class CancelledByUser:
    """The job's user has called scancel."""


@dataclass(frozen=True, slots=True)
class OutOfTime:
    """The time limit is reached."""


@dataclass(frozen=True, slots=True)
class Preempted:
    """A job of a partition with a higher priority takes the nodes."""


@dataclass(frozen=True, slots=True)
class Requeued:
    """An administrator, or Slurm itself, puts the job back into the queue."""


@dataclass(frozen=True, slots=True)
class PrologFailed:
    """The prolog ended with an error on the node `name`, before the job's script began."""

    name: str


Effect = Ended | Hung | NodeLost | CancelledByUser | OutOfTime | Preempted | Requeued | PrologFailed


def failed(code: int) -> Ended:
    """The script ended with `code`."""
    return Ended("FAILED", code, 0, "NonZeroExitCode") if code else Ended("COMPLETED")


def killed(number: int) -> Ended:
    """The script itself died of the signal `number` (observed: FAILED, JobLaunchFailure, 0:9)."""
    return Ended("FAILED", 0, number, "JobLaunchFailure")

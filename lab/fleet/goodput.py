"""Where did the GPU-hours of a fleet go? Counted from its ledger."""

from dataclasses import dataclass

from lab.fleet.ledger import Attempted, Ledger, failed
from lab.fleet.options import Options
from lab.fleet.published import GPUS_PER_NODE


@dataclass(frozen=True, slots=True)
class Goodput:
    """GPU-hours. `allocated` = `trained` + `lost` + `other`.

    `trained`: steps that were saved and kept. `lost`: what attempts that a failure ended had done since their last
    checkpoint, with their start-up and their silence. `other`: start-up, pauses and ends that people wanted.
    `waited`: between a failure and the next start of the same work, for as many GPUs as it wants; nodes that are
    used by others meanwhile are not lost to the cluster, only to this work.
    """

    allocated: float
    trained: float
    lost: float
    waited: float
    failures: int  # attempts that a failure ended, or somebody who took a job for failed
    completed: int  # works
    mean_wait_seconds: float | None  # from a failure to the next start

    @property
    def other(self) -> float:
        """The rest."""
        return self.allocated - self.trained - self.lost


def goodput(ledger: Ledger, options: Options) -> Goodput:
    """Where the hours until the end of `options` went."""
    allocated = trained = lost = 0.0
    failures = 0
    for attempt in ledger.attempts:
        hours = attempt.seconds(options.end) * len(attempt.nodes) * GPUS_PER_NODE / 3600
        kept = _trained(attempt, options)
        allocated, trained = allocated + hours, trained + kept
        if attempt.ended_at is not None and failed(attempt) and attempt.job not in ledger.wanted:
            failures += 1
            lost += hours - kept
    seconds = [seconds for _, seconds in ledger.waited]
    waited = sum(nodes * seconds for nodes, seconds in ledger.waited) * GPUS_PER_NODE / 3600
    mean = sum(seconds) / len(seconds) if seconds else None
    return Goodput(allocated, trained, lost, waited, failures, ledger.completed, mean)


def _trained(attempt: Attempted, options: Options) -> float:
    steps = max(0, attempt.to_step - attempt.from_step)
    return steps * options.step_seconds * len(attempt.nodes) * GPUS_PER_NODE / 3600

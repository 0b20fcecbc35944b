"""What became of a restart? A restart is not a recovery: three outcomes are three moments.

*Allocation restarted*: a later attempt runs. *Progress resumed*: a step beyond the last one seen before the
failure. *Training completed*: a later attempt completed.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from schedulers.states import FAILURES, FINAL, JobState


class Ending(enum.Enum):
    """How a recovery ended."""

    COMPLETED = "completed"
    FAILED = "failed"  # it failed again before it made progress, or was lost
    OVER = "over"  # it ended, and there is nothing to hold against it


@dataclass(frozen=True)
class Later:
    """An attempt after the failure. `beyond_at`: when it first showed a step beyond the old maximum.

    `read`: its log was read to the end, so that a step that is not known now will not be known later either.
    """

    index: int
    state: JobState
    started_at: datetime | None = None
    ended_at: datetime | None = None
    beyond_at: datetime | None = None
    read: bool = True


@dataclass(frozen=True)
class Outcome:
    """The moments that are known so far; `ending` is `None` while it goes on."""

    restarted_at: datetime | None = None
    resumed_at: datetime | None = None
    completed_at: datetime | None = None
    ending: Ending | None = None
    because: str = ""


def outcome_of(later: Sequence[Later], *, listed: bool) -> Outcome:
    """The outcome by the attempts after the failed one, oldest first. `listed`: the scheduler knows the job.

    An attempt that was merely requeued again before it got anywhere is followed by the next one; one that failed
    ends this recovery, because what comes after it is the next recovery.
    """
    restarted = resumed = None
    for attempt in later:
        restarted = restarted or attempt.started_at
        resumed = resumed or attempt.beyond_at
        if attempt.state in FINAL and resumed is None and not attempt.read:
            return Outcome(restarted)  # it ended a moment ago, and its last lines may still show progress
        if attempt.state is JobState.COMPLETED:
            return Outcome(restarted, resumed, attempt.ended_at, Ending.COMPLETED)
        if attempt.state in FINAL and attempt.state is not JobState.REQUEUED:
            failed = resumed is None and attempt.state in FAILURES | {JobState.GONE}
            why = f"attempt {attempt.index} ended ({attempt.state.label.lower()}) before it made progress"
            return Outcome(
                restarted, resumed, None, Ending.FAILED if failed else Ending.OVER, why if failed else ""
            )
    if not listed:
        if resumed is None:
            return Outcome(restarted, None, None, Ending.FAILED, "the scheduler does not know the job any more")
        return Outcome(restarted, resumed, None, Ending.OVER)
    return Outcome(restarted, resumed)

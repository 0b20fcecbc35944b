"""Does the scheduler hold a waiting job by itself, and why?

A hold shows a reason, and never whose it is (decisions 12); but these words only the scheduler writes. The holds of
an administrator, of a user and of ours have others: `JobHeldAdmin`, `JobHeldUser`, `job requeued in held state`.
"""

import re
from dataclasses import dataclass

from schedulers.states import JobState


@dataclass(frozen=True)
class OwnHold:
    """A hold of the scheduler's own. `of_launch`: a node could not start the job."""

    because: str
    of_launch: bool = False


_REASONS: tuple[tuple[re.Pattern[str], OwnHold], ...] = (
    (
        # Observed on 22.05.8 after a prolog that failed; `scontrol` writes underscores.
        re.compile(r"\s*launch[ _]failed[ _]requeued[ _]held\b", re.IGNORECASE),
        OwnHold("a node could not start it", of_launch=True),
    ),
    (re.compile(r"\s*JobHoldMaxRequeue\b"), OwnHold("it was queued again too often")),
)
_WORDS = {"SPECIAL_EXIT": OwnHold("it ended with an exit code after which this site keeps a job back")}


def own_hold(state: JobState, word: str, reason: str) -> OwnHold | None:
    """The scheduler's own hold by its words for state and reason; `None` for anybody else's, and for none."""
    if state is not JobState.HELD:
        return None
    found = (hold for pattern, hold in _REASONS if pattern.match(reason))
    return next(found, _WORDS.get(word))

"""Who certainly holds a waiting job: the scheduler itself, or a person?

A reason never proves that a hold is ours (decisions 12): it is `job requeued in held state`, whoever requeued the
job, and stays so when somebody holds it on top (observed). It does prove the opposite: `JobHeldAdmin` and
`JobHeldUser` are shown of a hold by a command or an option, and others only the scheduler writes.
"""

import re
from dataclasses import dataclass

from schedulers.port import JobRow
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
BY_ADMINISTRATOR = "JobHeldAdmin"
_PERSONS = frozenset({BY_ADMINISTRATOR, "JobHeldUser"})
_OWN_STATES = frozenset({"SPECIAL_EXIT", "RESV_DEL_HOLD"})  # the second: observed when its reservation ended
_WORDS = {"SPECIAL_EXIT": OwnHold("it ended with an exit code after which this site keeps a job back")}


def own_hold(state: JobState, word: str, reason: str) -> OwnHold | None:
    """The scheduler's own hold by its words for state and reason; `None` for anybody else's, and for none."""
    if state is not JobState.HELD:
        return None
    found = (hold for pattern, hold in _REASONS if pattern.match(reason))
    return next(found, _WORDS.get(word))


def persons_hold(row: JobRow) -> bool:
    """Whether a user or an administrator holds it, and not who requeued it in held state.

    Observed on 22.05.8: no update of a job that was requeued in held state, no restart of the scheduler and no
    state of its partition leads to these reasons; only who lets it go and holds it afterwards does.
    """
    return row.held and row.word not in _OWN_STATES and row.reason in _PERSONS


def schedulers_hold(row: JobRow) -> bool:
    """Whether the scheduler itself holds it, also for what a person has done to its reservation."""
    return row.held and (row.word in _OWN_STATES or own_hold(row.state, row.word, row.reason) is not None)

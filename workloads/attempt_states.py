"""What does a row of the listing say about one attempt, and what must it not overwrite?

Traps of a listing (observed): while a job ends its node list shrinks; after a requeue the row already counts the
next attempt while the old one is still ending, with the old submit time, and for a moment shows the old exit code;
a waiting row's start and a running row's end are plans. So facts are taken only from the states in which they are
true.
"""

from datetime import datetime

from schedulers.port import AccountedAttempt, JobRow
from schedulers.states import FINAL, LIVE, WAITING, JobState
from workloads.models import Attempt

ENDING = frozenset({JobState.COMPLETING, JobState.REQUEUED})  # as a listing shows them
LARGEST_CODE = 2**31 - 1
WHOLE_ALLOCATION = LIVE - {JobState.COMPLETING}
FIELDS = (
    "state",
    "scheduler_word",
    "reason",
    "nodes",
    "exit_code",
    "exit_signal",
    "submitted_at",
    "started_at",
    "ended_at",
)


def state_of(row: JobRow, index: int, before: JobState | None) -> JobState:
    """The state of attempt `index` by its row; `before` is the state stored so far, if any.

    A later attempt that is COMPLETING without having run is the one before it, still ending. REQUEUED in a
    listing is the same moment. A word we do not know takes back no end that we know.
    """
    if row.state in ENDING:
        waits = index > 0 and (before is None or before in WAITING)
        return JobState.PENDING if waits else JobState.COMPLETING
    if row.state is JobState.UNKNOWN and before is not None and before in FINAL:
        return before
    return row.state


def follow(attempt: Attempt, row: JobRow, now: datetime, *, first: bool = False) -> set[str]:
    """Bring the attempt to what its row says, in memory; the names of the fields that changed.

    `first`: the attempt was made for this row and has no state of its own yet.
    """
    were = {name: getattr(attempt, name) for name in FIELDS}
    state = state_of(row, attempt.index, None if first else JobState(attempt.state))
    attempt.state = state.value
    attempt.scheduler_word, attempt.reason = row.word, row.reason
    if attempt.index == 0 or row.state not in ENDING:
        attempt.submitted_at = row.submitted_at or attempt.submitted_at
    ended = state in FINAL
    if state in WHOLE_ALLOCATION:
        attempt.nodes = list(row.nodes) or attempt.nodes
        attempt.started_at = row.started_at or attempt.started_at
    elif ended and row.nodes and row.state in FINAL:  # one that ran between two listings
        attempt.nodes = attempt.nodes or list(row.nodes)
        attempt.started_at = attempt.started_at or row.started_at
    if not ended:
        attempt.exit_code = attempt.exit_signal = attempt.ended_at = None
    elif row.state in FINAL:
        attempt.exit_code, attempt.exit_signal = row.exit_code, row.exit_signal
        attempt.ended_at = row.ended_at or attempt.ended_at or now
    return _changed(attempt, were)


def requeued(attempt: Attempt, row: JobRow, now: datetime) -> set[str]:
    """End the attempt before the one that `row` counts; an end that is known already stays.

    The new attempt's submit time is the moment of the requeue, once it has moved.
    """
    were = {name: getattr(attempt, name) for name in FIELDS}
    if JobState(attempt.state) not in FINAL:
        attempt.state = JobState.REQUEUED.value
        if row.exit_code or row.exit_signal:
            attempt.exit_code, attempt.exit_signal = row.exit_code, row.exit_signal
    then, at = attempt.submitted_at, row.submitted_at
    moved = at is not None and (then is None or at > then)
    attempt.ended_at = attempt.ended_at or (at if moved else now)
    return _changed(attempt, were)


def vanished(attempt: Attempt, accounted: AccountedAttempt | None, now: datetime) -> set[str]:
    """End an attempt that the listings no longer show: as the accounting says, else GONE, never failed."""
    were = {name: getattr(attempt, name) for name in FIELDS}
    if accounted is None or accounted.state not in FINAL:
        attempt.state, attempt.ended_at = JobState.GONE.value, now
        return _changed(attempt, were)
    attempt.state, attempt.scheduler_word = accounted.state.value, accounted.word[:64]
    attempt.exit_code = min(max(accounted.exit_code, 0), LARGEST_CODE)
    attempt.exit_signal = min(max(accounted.exit_signal, 0), LARGEST_CODE)
    attempt.started_at = attempt.started_at or accounted.started_at
    attempt.ended_at = accounted.ended_at
    attempt.nodes = attempt.nodes or list(accounted.nodes)
    return _changed(attempt, were)


def wants_reading(before: JobState | None, after: JobState) -> bool:
    """Whether a change of state makes the attempt's log due at once: it began to run, or it ended."""
    if before is after:
        return False
    return after in FINAL or after is JobState.RUNNING or (after in LIVE and (before is None or before in WAITING))


def _changed(attempt: Attempt, were: dict[str, object]) -> set[str]:
    return {name for name, value in were.items() if getattr(attempt, name) != value}

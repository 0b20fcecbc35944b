"""Three outcomes, three moments: what is read off the attempts after a failure?"""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from advisor_api.policy.outcome import Ending, Later, Outcome, outcome_of
from schedulers.states import JobState

T = [datetime(2026, 11, 29, 10, minute, tzinfo=UTC) for minute in range(10)]


def later(index: int, state: JobState, started: int | None, beyond: int | None = None) -> Later:
    ended = None if state in {JobState.PENDING, JobState.RUNNING} else T[9]
    return Later(
        index, state, T[started] if started is not None else None, ended, T[beyond] if beyond is not None else None
    )


CASES = [
    ("nothing came after it", [], Outcome()),
    ("the next one waits", [later(1, JobState.PENDING, None)], Outcome()),
    ("it runs again", [later(1, JobState.RUNNING, 1)], Outcome(T[1])),
    ("it makes progress", [later(1, JobState.RUNNING, 1, 2)], Outcome(T[1], T[2])),
    ("it completed", [later(1, JobState.COMPLETED, 1, 2)], Outcome(T[1], T[2], T[9], Ending.COMPLETED)),
    (
        "it completed without a step line",
        [later(1, JobState.COMPLETED, 1)],
        Outcome(T[1], None, T[9], Ending.COMPLETED),
    ),
    (
        "it completed a moment ago, and its last lines are not read yet",
        [replace(later(1, JobState.COMPLETED, 1), read=False)],
        Outcome(T[1]),
    ),
    (
        "it failed a moment ago, and its last lines are not read yet",
        [replace(later(1, JobState.FAILED, 1), read=False)],
        Outcome(T[1]),
    ),
    (
        "it completed after progress, whatever its last lines say",
        [replace(later(1, JobState.COMPLETED, 1, 2), read=False)],
        Outcome(T[1], T[2], T[9], Ending.COMPLETED),
    ),
    (
        "it failed before it made progress",
        [later(1, JobState.FAILED, 1)],
        Outcome(T[1], None, None, Ending.FAILED, "attempt 1 ended (failed) before it made progress"),
    ),
    ("it failed after progress", [later(1, JobState.FAILED, 1, 2)], Outcome(T[1], T[2], None, Ending.OVER)),
    ("its user cancelled it", [later(1, JobState.CANCELLED, 1)], Outcome(T[1], None, None, Ending.OVER)),
    ("its time was over", [later(1, JobState.TIMEOUT, 1)], Outcome(T[1], None, None, Ending.OVER)),
    (
        "it was lost",
        [later(1, JobState.GONE, 1)],
        Outcome(T[1], None, None, Ending.FAILED, "attempt 1 ended (gone) before it made progress"),
    ),
    (
        "requeued once more before it got anywhere",
        [later(1, JobState.REQUEUED, 1), later(2, JobState.RUNNING, 3, 4)],
        Outcome(T[1], T[4]),
    ),
    (
        "what comes after the next failure is the next recovery",
        [later(1, JobState.FAILED, 1), later(2, JobState.COMPLETED, 3, 4)],
        Outcome(T[1], None, None, Ending.FAILED, "attempt 1 ended (failed) before it made progress"),
    ),
]


@pytest.mark.parametrize(("attempts", "outcome"), [pytest.param(*case[1:], id=case[0]) for case in CASES])
def test_outcome(attempts: list[Later], outcome: Outcome) -> None:
    assert outcome_of(attempts, listed=True) == outcome


def test_a_job_that_the_scheduler_forgot_failed_to_recover() -> None:
    assert outcome_of([], listed=False).ending is Ending.FAILED
    assert outcome_of([later(1, JobState.RUNNING, 1, 2)], listed=False).ending is Ending.OVER
    assert outcome_of([later(1, JobState.COMPLETED, 1, 2)], listed=False).ending is Ending.COMPLETED

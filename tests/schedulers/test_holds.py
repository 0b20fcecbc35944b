"""Which words are the scheduler's own hold?"""

import pytest

from schedulers.holds import own_hold, persons_hold, schedulers_hold
from schedulers.port import JobRow
from schedulers.states import JobState
from tests.controller.scripted import row


@pytest.mark.parametrize(
    ("word", "reason", "of_launch"),
    [
        ("PENDING", "launch failed requeued held", True),
        ("PENDING", "launch_failed_requeued_held", True),
        ("PENDING", "JobHoldMaxRequeue", False),
        ("SPECIAL_EXIT", "JobHeldUser", False),
    ],
)
def test_its_own(word: str, reason: str, of_launch: bool) -> None:
    hold = own_hold(JobState.HELD, word, reason)
    assert hold is not None and hold.of_launch is of_launch
    assert own_hold(JobState.PENDING, word, reason) is None
    assert own_hold(JobState.RUNNING, word, reason) is None


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("PENDING", "JobHeldAdmin"),
        ("PENDING", "JobHeldUser"),
        ("PENDING", "job requeued in held state"),
        ("PENDING", "JobLaunchFailure"),
        ("RESV_DEL_HOLD", "ReservationDeleted"),
        ("PENDING", "(launch failed requeued held)"),
        ("PENDING", ""),
    ],
)
def test_somebody_elses(word: str, reason: str) -> None:
    assert own_hold(JobState.HELD, word, reason) is None


@pytest.mark.parametrize(
    ("word", "reason", "persons", "schedulers"),
    [
        ("PENDING", "JobHeldAdmin", True, False),
        ("PENDING", "JobHeldUser", True, False),
        ("SPECIAL_EXIT", "JobHeldUser", False, True),
        ("RESV_DEL_HOLD", "Reservation r was deleted", False, True),
        ("PENDING", "launch failed requeued held", False, True),
        ("PENDING", "job requeued in held state", False, False),
        ("PENDING", "BadConstraints", False, False),
        ("PENDING", "", False, False),
    ],
)
def test_what_is_certainly_not_ours(word: str, reason: str, persons: bool, schedulers: bool) -> None:
    held: JobRow = row(state=JobState.HELD, word=word, reason=reason)
    assert (persons_hold(held), schedulers_hold(held)) == (persons, schedulers)
    waiting: JobRow = row(state=JobState.PENDING, word=word, reason=reason)
    assert not persons_hold(waiting) and not schedulers_hold(waiting)

"""Which words are the scheduler's own hold?"""

import pytest

from schedulers.holds import own_hold
from schedulers.states import JobState


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

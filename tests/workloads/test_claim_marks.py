"""Is the mark of a claim one that nobody else has, and never before the end of its lease?"""

from datetime import UTC, datetime, timedelta

import pytest

from workloads import claim_marks
from workloads.claim_marks import own_mark

UNTIL = datetime(2026, 5, 1, 8, tzinfo=UTC)
SECOND, MICROSECOND = timedelta(seconds=1), timedelta(microseconds=1)


def test_two_claims_of_one_moment_have_different_marks() -> None:
    marks = {own_mark(UNTIL) for _ in range(50)}
    assert len(marks) >= 48  # two that are equal by chance are seen once in a thousand times, three pairs never
    assert all(UNTIL <= mark < UNTIL + SECOND for mark in marks)


@pytest.mark.parametrize("most", [SECOND, timedelta(milliseconds=1)])
def test_the_first_and_the_last_mark(monkeypatch: pytest.MonkeyPatch, most: timedelta) -> None:
    monkeypatch.setattr(claim_marks, "below", lambda many: 0)
    assert own_mark(UNTIL, most) == UNTIL
    monkeypatch.setattr(claim_marks, "below", lambda many: many - 1)
    assert own_mark(UNTIL, most) == UNTIL + most - MICROSECOND

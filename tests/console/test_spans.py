"""Are times written so that nobody misreads them?"""

from datetime import UTC, datetime, timedelta

import pytest

from console.spans import age, duration

NOW = datetime(2026, 11, 29, 3, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (None, "–"),
        (0, "0 s"),
        (0.85, "850 ms"),
        (4.2, "4.2 s"),
        (42, "42 s"),
        (timedelta(seconds=125), "2 min 5 s"),
        (timedelta(minutes=2), "2 min"),
        (timedelta(hours=3, minutes=10), "3 h 10 min"),
        (timedelta(days=2, hours=4), "2 d 4 h"),
        (-3, "−3.0 s"),
        (float("nan"), "–"),
        (float("-inf"), "–"),
        (1e308, "–"),
    ],
)
def test_durations(span: object, text: str) -> None:
    assert duration(span) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1, "just now"),
        (-1, "just now"),
        (40, "40 s ago"),
        (300, "5 min ago"),
        (-181, "in 3 min"),
        (3 * 3600 + 60, "3 h 1 min ago"),
        (90000, "1 d ago"),
    ],
)
def test_ages(seconds: float, text: str) -> None:
    assert age(NOW - timedelta(seconds=seconds), NOW) == text


def test_no_time_has_no_age() -> None:
    assert age(None, NOW) == ""

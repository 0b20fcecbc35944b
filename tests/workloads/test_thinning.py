"""What stays of an old series, and does it still show what happened?"""

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from workloads.thinning import FULL, KEPT, Old, next_at, superfluous

NOW = datetime(2026, 5, 20, 10, 0, tzinfo=UTC)


def series(age: timedelta, seconds: float, count: int) -> list[Old]:
    """Points that begin `age` ago, one in `seconds`."""
    return [Old(n, NOW - age + timedelta(seconds=n * seconds), 1.0, 2.0) for n in range(count)]


def left(points: Sequence[Old], now: datetime = NOW) -> list[Old]:
    gone = set(superfluous(points, now))
    return [point for point in points if point.key not in gone]


CASES: list[tuple[str, timedelta, float]] = [
    ("older than an hour: one a minute", timedelta(hours=3), 60.0),
    ("older than a day: one in ten minutes", timedelta(days=2), 600.0),
    ("older than a week: one an hour", timedelta(days=9), 3600.0),
]


@pytest.mark.parametrize(("age", "spacing"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_older_points_are_further_apart(age: timedelta, spacing: float) -> None:
    kept = left(series(age, 1.0, 7200))
    between = {(after.at - before.at).total_seconds() for before, after in itertools.pairwise(kept[:-1])}
    assert between == {spacing}


def test_first_and_last_stay() -> None:
    points = series(timedelta(days=2), 7.0, 5_000)
    kept = left(points)
    assert (kept[0], kept[-1]) == (points[0], points[-1])


ODD: list[tuple[str, Old]] = [
    ("a slow step", Old(1000, NOW - timedelta(days=9) + timedelta(seconds=1000), 60.0, 2.0)),
    ("a jump of the loss", Old(1000, NOW - timedelta(days=9) + timedelta(seconds=1000), 1.0, 11.0)),
    ("a loss that is no number", Old(1000, NOW - timedelta(days=9) + timedelta(seconds=1000), 1.0, None, True)),
]


@pytest.mark.parametrize("odd", [case[1] for case in ODD], ids=[case[0] for case in ODD])
def test_what_stands_out_stays_through_every_age(odd: Old) -> None:
    points = series(timedelta(days=9), 1.0, 7200)
    points[1000] = odd
    for days in (-9, -7.5, -5, -1, 0):  # thinned again and again while it grows old
        now = NOW + timedelta(days=days)
        old = [point for point in points if point.at < now - FULL]
        points = left(old, now) + points[len(old) :]
        assert odd in points
    assert len(points) <= 6


def test_a_loss_below_zero_may_stand_out_too() -> None:
    points = [Old(n, NOW - timedelta(hours=3) + timedelta(seconds=n), None, -10.0) for n in range(60)]
    points[30] = Old(30, points[30].at, None, -1.0)
    assert points[30] in left(points)


def test_an_even_series_keeps_no_more_than_its_stretches() -> None:
    noisy = [
        Old(n, NOW - timedelta(hours=3) + timedelta(seconds=n), 1 + 0.2 * (n % 2), 2 + 0.01 * (n % 7))
        for n in range(3600)
    ]
    assert len(left(noisy)) <= 62


def test_the_same_again_gives_nothing_more() -> None:
    points = series(timedelta(days=8), 11.0, 60_000)
    kept = left([point for point in points if point.at < NOW - FULL])
    assert superfluous(kept, NOW) == []


def test_an_attempt_is_bounded_whatever_times_its_lines_claim() -> None:
    points = [Old(n, NOW - timedelta(hours=2 * (30_000 - n)), 1.0 + 99 * (n % 3), 2.0) for n in range(30_000)]
    assert len(left(points)) <= KEPT


@pytest.mark.parametrize("points", [[], [Old(1, NOW - timedelta(days=1), None, None)]], ids=["none", "one"])
def test_little_stays_as_it_is(points: list[Old]) -> None:
    assert superfluous(points, NOW) == []


def test_points_of_one_moment() -> None:
    assert superfluous([Old(n, NOW - timedelta(days=1), 1.0, 1.0) for n in range(5)], NOW) == [1, 2, 3]


def test_a_running_attempt_is_looked_at_each_hour_and_an_ended_one_when_it_grows_old() -> None:
    assert next_at(None, NOW) == NOW + FULL
    moments, now = [], NOW
    while (at := next_at(NOW, now)) is not None:
        moments.append(at - NOW)
        now = at
    assert moments == [
        timedelta(hours=1, seconds=60),
        timedelta(days=1, seconds=600),
        timedelta(days=7, seconds=3600),
    ]

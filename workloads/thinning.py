"""Which old points of an attempt's series may go, so that what happened can still be seen?

Everything is kept for an hour. What is older stays as one point a minute, after a day as one in ten minutes, after
a week as one an hour: the first of each such stretch, and beside it what stands out in it. The newest point that is
old, and the first of all, always stay.
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

FULL = timedelta(hours=1)
SPACING: tuple[tuple[timedelta, float], ...] = (
    (timedelta(days=7), 3600.0),
    (timedelta(days=1), 600.0),
    (FULL, 60.0),
)
"""From which age on there is one point in so many seconds."""
STANDS_OUT = 0.25  # more than the median of its stretch by this part of it
KEPT = 5_000  # old points of one attempt; beyond it, all stretches grow until it holds
WIDER = 4.0


@dataclass(frozen=True, slots=True)
class Old:
    """A point that is older than `FULL`. `nan`: its loss is no number."""

    key: int
    at: datetime
    seconds: float | None
    loss: float | None
    nan: bool = False


def superfluous(points: Sequence[Old], now: datetime) -> list[int]:
    """Keys of the old points of one attempt, in the order of their times, that may go.

    The same again with what is left gives nothing more, so two workers may do it at once.
    """
    wider = 1.0
    kept = _kept(points, now, wider)
    while len(kept) > KEPT:
        wider *= WIDER
        kept = _kept(points, now, wider)
    return [point.key for point in points if point.key not in kept]


def next_at(ended_at: datetime | None, now: datetime) -> datetime | None:
    """When the series of an attempt is to be looked at again; `None`: never, it ended and will not change."""
    if ended_at is None:
        return now + FULL
    later = (ended_at + age + timedelta(seconds=spacing) for age, spacing in reversed(SPACING))
    return next((at for at in later if at > now), None)


def _kept(points: Sequence[Old], now: datetime, wider: float) -> set[int]:
    kept = {points[-1].key} if points else set()
    stretch: list[Old] = []
    place: tuple[float, float] | None = None
    for point in points:
        here = _place(point.at, now, wider)
        if here != place:
            kept.update(_of(stretch))
            stretch, place = [], here
        stretch.append(point)
    kept.update(_of(stretch))
    return kept


def _place(at: datetime, now: datetime, wider: float) -> tuple[float, float]:
    """The stretch that a moment lies in; borders do not move with `now`."""
    age = now - at
    spacing = wider * next((seconds for older, seconds in SPACING if age > older), 60.0)
    return spacing, at.timestamp() // spacing


def _of(stretch: Sequence[Old]) -> Iterable[int]:
    """What stays of one stretch: its first, the first without a number, and the worst where they stand out."""
    if not stretch:
        return
    yield stretch[0].key
    yield from (point.key for point in [next((one for one in stretch if one.nan), None)] if point is not None)
    yield from _outlier([(one.seconds, one.key) for one in stretch if one.seconds is not None])
    yield from _outlier([(one.loss, one.key) for one in stretch if one.loss is not None])


def _outlier(values: Sequence[tuple[float, int]]) -> Iterable[int]:
    if not values:
        return
    usual = statistics.median(value for value, _key in values)
    worst, key = max(values, key=lambda one: one[0])
    if worst > usual + STANDS_OUT * abs(usual):
        yield key

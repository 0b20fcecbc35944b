"""Pure: where does a moment stand on an axis whose empty stretches are folded?

A job may wait for two days between two attempts of an hour. What is long and empty takes a small fixed part of the
axis, and is shown as folded; everything else has the same scale.
"""

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

FOLDED_FROM = timedelta(minutes=2)  # shorter ones stay as they are
FOLDED_SHARE = 0.08  # of all that is not empty; what is shorter can be seen beside it
FOLD_WIDTH, FOLDS_WIDTH = 0.03, 0.2  # share of the axis that one fold takes, and all of them together
SHORTEST = timedelta(seconds=10)
MARGIN = 0.02  # share of the span left free at both ends
TICKS_AT_MOST = 7
TICK_DISTANCE = 9.0  # per cent between two labels

_STEPS = tuple(
    timedelta(seconds=seconds)
    for seconds in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
)

Stretch = tuple[datetime, datetime]


@dataclass(frozen=True)
class Tick:
    """A moment named on the axis. `x` in per cent."""

    x: float
    label: str

    @property
    def anchor(self) -> str:
        """Which end of the label stands at `x`, so that none is cut at an edge of the picture."""
        return "start" if self.x < 4 else "end" if self.x > 96 else "middle"


@dataclass(frozen=True)
class Axis:
    """From `start` to `end`. `folds`: empty stretches in their order, each drawn as long as `fold_seconds`."""

    start: datetime
    end: datetime
    folds: tuple[Stretch, ...] = ()
    fold_seconds: float = 0.0
    _saved: tuple[float, ...] = ()  # seconds that the folds before each one save

    @cached_property
    def seconds(self) -> float:
        """What is drawn, in seconds."""
        return self._place(self._end)

    def x(self, at: datetime) -> float:
        """Per cent of the axis, kept within it."""
        return self.x_of(at.timestamp())

    def x_of(self, moment: float) -> float:
        """The same of seconds since 1970: a picture has thousands of points."""
        share = self._place(min(max(moment, self._start), self._end)) / (self.seconds or 1.0)
        return round(min(1.0, max(0.0, share)) * 100, 3)

    def _place(self, moment: float) -> float:
        seconds = moment - self._start
        before = bisect_right(self._folded, moment, key=_begun) - 1 if self._folded else -1
        if before < 0:
            return seconds
        begun, length = self._folded[before]
        inside = min(1.0, (moment - begun) / length)
        return seconds - self._saved[before] - inside * (length - self.fold_seconds)

    @cached_property
    def _start(self) -> float:
        return self.start.timestamp()

    @cached_property
    def _end(self) -> float:
        return self.end.timestamp()

    @cached_property
    def _folded(self) -> tuple[tuple[float, float], ...]:
        """Begin and length of each fold."""
        return tuple((begun.timestamp(), (over - begun).total_seconds()) for begun, over in self.folds)

    @property
    def stretches(self) -> Iterator[Stretch]:
        """What is not folded, in its order."""
        begun = self.start
        for start, end in self.folds:
            yield begun, start
            begun = end
        yield begun, self.end


def _begun(fold: tuple[float, float]) -> float:
    return fold[0]


def axis_of(busy: Iterable[Stretch], start: datetime | None = None, end: datetime | None = None) -> Axis | None:
    """The axis over everything that is busy, or from `start` to `end`; none when nothing has a time."""
    merged = _merged(busy, start, end)
    first = start or (merged[0][0] if merged else None)
    last = end or (merged[-1][1] if merged else None)
    if first is None or last is None:
        return None
    last = max(last, first)
    gaps = [(one[1], other[0]) for one, other in itertools.pairwise(merged)]
    used = last - first - _length(gaps)
    folds = [gap for gap in gaps if gap[1] - gap[0] > max(FOLDED_FROM, FOLDED_SHARE * used)]
    drawn = last - first - _length(folds)
    share = min(FOLD_WIDTH, FOLDS_WIDTH / len(folds)) if folds else 0.0
    width = share * drawn / (1 - share * len(folds))
    margin = max(drawn + len(folds) * width, SHORTEST) * MARGIN
    begin = first if start else first - margin
    close = max(last, first + (SHORTEST if not folds else timedelta()))
    return _with(begin, close if end else close + margin, folds, width.total_seconds())


def _length(stretches: Iterable[Stretch]) -> timedelta:
    return sum((over - begun for begun, over in stretches), timedelta())


def _with(start: datetime, end: datetime, folds: Sequence[Stretch], width: float) -> Axis:
    saved, sums = 0.0, []
    for begun, over in folds:
        sums.append(saved)
        saved += (over - begun).total_seconds() - width
    return Axis(start, end, tuple(folds), width, tuple(sums))


def _merged(busy: Iterable[Stretch], start: datetime | None, end: datetime | None) -> list[Stretch]:
    """Those within the borders, joined where they touch."""
    merged: list[Stretch] = []
    for one, other in sorted(busy):
        if (start is not None and other < start) or (end is not None and one > end):
            continue
        begun = one if start is None else max(one, start)
        over = max(begun, other if end is None else min(other, end))
        if merged and begun <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], over))
        else:
            merged.append((begun, over))
    return merged


def ticks(axis: Axis) -> tuple[Tick, ...]:
    """Round moments, labelled as finely as they lie apart, none in a fold and no two on each other."""
    span = timedelta(seconds=axis.seconds)
    days = timedelta(days=max(1, -(-span.days // TICKS_AT_MOST)))
    step = next((step for step in _STEPS if span / step <= TICKS_AT_MOST), days)
    label = "%H:%M:%S" if step < timedelta(minutes=1) else "%H:%M" if step < timedelta(days=1) else "%m-%d"
    found: list[Tick] = []
    day, last_x = axis.start.date(), -TICK_DISTANCE
    for at in _round_moments(axis, step):
        x = axis.x(at)
        if x - last_x < TICK_DISTANCE:
            continue
        new_day = at.date() != day and step < timedelta(days=1)
        found.append(Tick(x, f"{at:%m-%d} {at:{label}}" if new_day else f"{at:{label}}"))
        day, last_x = at.date(), x
    return tuple(found)


def _round_moments(axis: Axis, step: timedelta) -> Iterator[datetime]:
    """Those outside the folds; where a stretch between two folds has none, its beginning."""
    for begun, over in axis.stretches:
        midnight = begun.replace(hour=0, minute=0, second=0, microsecond=0)
        at = midnight + step * -(-(begun - midnight) // step)
        if at > over and begun != axis.start:
            yield begun
        while at <= over:
            yield at
            at += step

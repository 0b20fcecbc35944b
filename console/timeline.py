"""Pure: where do attempts, marks and ticks stand on one common time axis?

Shares of the axis are percentages, so that the picture stretches with the page while its text keeps its size.
Marks that lie closer together than they are wide are set side by side in order, each with a line down to its true
moment: a recovery happens within seconds of a run that took hours.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from console.mark_kind import MarkKind

MARK_WIDTH = 3.0  # per cent that a mark takes: 20 of the 700 units below which the picture is scrolled
SAME_PLACE = 1.0  # per cent within which marks of one kind are one: nobody could tell them apart
MARKS_PER_LANE = 30  # more do not fit side by side; the event list has all of them
TICKS_AT_MOST = 7
LANE_HEIGHT = 74
AXIS_HEIGHT = 26
SHORTEST = timedelta(seconds=10)
MARGIN = 0.02  # share of the span left free at both ends

_STEPS = tuple(
    timedelta(seconds=seconds)
    for seconds in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
)


@dataclass(frozen=True)
class Happening:
    """Something to mark on the lane of one attempt. `anchor` is the id of its line in the event list."""

    attempt_index: int
    at: datetime
    kind: MarkKind
    sentence: str
    anchor: str


@dataclass(frozen=True)
class Run:
    """One attempt as the picture needs it. `colour` is a theme colour, `ended_at` none while it runs."""

    index: int
    title: str
    colour: str
    waiting_since: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    checkpoints: tuple[datetime, ...] = ()


@dataclass(frozen=True)
class Bar:
    """A stretch of time on a lane: `x` and `width` in per cent."""

    x: float
    width: float
    colour: str
    waiting: bool = False


@dataclass(frozen=True)
class Mark:
    """One mark: shown at `x`, true at `true_x`, both in per cent. Several of one kind at one moment share it."""

    x: float
    true_x: float
    happenings: tuple[Happening, ...]

    @property
    def first(self) -> Happening:
        """The one that it leads to."""
        return self.happenings[0]

    @property
    def words(self) -> str:
        """What happened, in words."""
        more = len(self.happenings) - 1
        return self.first.sentence + (f" (and {more} more)" if more else "")


@dataclass(frozen=True)
class Lane:
    """One attempt, from top to bottom: its title, its marks, its bars. `y` in pixels from the top."""

    run: Run
    y: int
    bars: tuple[Bar, ...]
    checkpoints: tuple[float, ...]
    marks: tuple[Mark, ...]
    left_out: int = 0


@dataclass(frozen=True)
class Tick:
    """A moment named on the axis."""

    x: float
    label: str

    @property
    def anchor(self) -> str:
        """Which end of the label stands at `x`, so that none is cut at an edge of the picture."""
        return "start" if self.x < 4 else "end" if self.x > 96 else "middle"


@dataclass(frozen=True)
class Timeline:
    """The whole picture. `height` in pixels."""

    start: datetime
    end: datetime
    lanes: tuple[Lane, ...] = ()
    ticks: tuple[Tick, ...] = ()
    height: int = field(default=AXIS_HEIGHT)


@dataclass(frozen=True)
class _Axis:
    start: datetime
    span: timedelta

    def x(self, at: datetime) -> float:
        """Per cent of the axis, kept within it."""
        return round(min(1.0, max(0.0, (at - self.start) / self.span)) * 100, 3)


def lay_out(runs: Sequence[Run], happenings: Sequence[Happening], now: datetime) -> Timeline | None:
    """The picture of a job at `now`; none when nothing has a time yet."""
    known = [
        at for run in runs for at in (run.waiting_since, run.started_at, run.ended_at, *run.checkpoints) if at
    ] + [happening.at for happening in happenings]
    if not known:
        return None
    start, end = min(known), max(known)
    if any(run.ended_at is None for run in runs):
        end = max(end, now)
    margin = max(end - start, SHORTEST) * MARGIN
    axis = _Axis(start - margin, max(end - start, SHORTEST) + 2 * margin)
    lanes = tuple(
        _lane(run, [h for h in happenings if h.attempt_index == run.index], place * LANE_HEIGHT, axis, end)
        for place, run in enumerate(runs)
    )
    return Timeline(axis.start, axis.start + axis.span, lanes, ticks(axis), len(lanes) * LANE_HEIGHT + AXIS_HEIGHT)


def _lane(run: Run, happenings: Sequence[Happening], y: int, axis: _Axis, end: datetime) -> Lane:
    ordered = sorted(happenings, key=lambda happening: happening.at)
    groups = _together(ordered, axis)
    shown = groups[-MARKS_PER_LANE:]
    true = [axis.x(group[0].at) for group in shown]
    marks = tuple(Mark(x, true_x, tuple(g)) for x, true_x, g in zip(spread(true), true, shown, strict=True))
    checkpoints = tuple(axis.x(min(at, run.ended_at or at)) for at in run.checkpoints)
    return Lane(run, y, _bars(run, axis, end), checkpoints, marks, len(groups) - len(shown))


def _together(ordered: Sequence[Happening], axis: _Axis) -> list[list[Happening]]:
    """Neighbours of one kind within `SAME_PLACE` of the first of them."""
    groups: list[list[Happening]] = []
    for happening in ordered:
        last = groups[-1][0] if groups else None
        if last and last.kind is happening.kind and axis.x(happening.at) - axis.x(last.at) <= SAME_PLACE:
            groups[-1].append(happening)
        else:
            groups.append([happening])
    return groups


def _bars(run: Run, axis: _Axis, end: datetime) -> tuple[Bar, ...]:
    stretches = []
    if run.waiting_since is not None:
        until = run.started_at or run.ended_at or end
        stretches.append((run.waiting_since, until, "secondary", True))
    if run.started_at is not None:
        stretches.append((run.started_at, run.ended_at or end, run.colour, False))
    bars = []
    for start, until, colour, waiting in stretches:
        x = axis.x(start)
        bars.append(Bar(x, round(max(0.0, axis.x(until) - x), 3), colour, waiting))
    return tuple(bars)


def spread(places: Sequence[float]) -> list[float]:
    """Places at least `MARK_WIDTH` apart, in the same order, as near to the given ones as a sweep finds them."""
    spread_out: list[float] = []
    for place in places:
        least = spread_out[-1] + MARK_WIDTH if spread_out else MARK_WIDTH / 2
        spread_out.append(max(place, least))
    limit = 100 - MARK_WIDTH / 2
    for index in range(len(spread_out) - 1, -1, -1):
        spread_out[index] = round(min(spread_out[index], limit), 3)
        limit = spread_out[index] - MARK_WIDTH
    return spread_out


def ticks(axis: _Axis) -> tuple[Tick, ...]:
    """At most `TICKS_AT_MOST` round moments, labelled as finely as they lie apart."""
    days = timedelta(days=max(1, -(-axis.span.days // TICKS_AT_MOST)))
    step = next((step for step in _STEPS if axis.span / step <= TICKS_AT_MOST), days)
    midnight = axis.start.replace(hour=0, minute=0, second=0, microsecond=0)
    at = midnight + step * -(-(axis.start - midnight) // step)
    label = "%H:%M:%S" if step < timedelta(minutes=1) else "%H:%M" if step < timedelta(days=1) else "%m-%d"
    found, day = [], axis.start.date()
    while at <= axis.start + axis.span:
        new_day = at.date() != day and step < timedelta(days=1)
        found.append(Tick(axis.x(at), f"{at:%m-%d} {at:{label}}" if new_day else f"{at:{label}}"))
        day = at.date()
        at += step
    return tuple(found)

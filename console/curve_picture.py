"""Pure: what do the curves of a job look like, as data for the chart and as a picture without a script?"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from django.utils.translation import gettext as _

from console.job_rows import end_of, state_of
from console.job_series import FEW_POINTS, Curve, Curves, Measure
from console.job_window import Window
from console.series import Point, thinned
from console.time_axis import Axis, Tick, axis_of, ticks
from workloads.models import Attempt

COLOURS = 6  # attempts next to each other never have the same
WIDTH, HEIGHT = 1000, 100  # of the box that a picture is drawn in; it stretches with the page
POINTS_DRAWN = 1_500  # of one picture
STARTS_APART = 1.0  # per cent
CUT_AT = 4.0  # times the usual value: one slow step would flatten all others otherwise


@dataclass(frozen=True)
class Line:
    """One unbroken piece of a curve, as the points of an SVG polyline."""

    points: str
    colour: int


@dataclass(frozen=True)
class Box:
    """A rectangle of the picture in its own units."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Picture:
    """One measure over the time axis. `top`: the value at its upper border; `highest` may lie beyond it."""

    measure: Measure
    lines: tuple[Line, ...]
    bands: tuple[Box, ...]
    top: float
    highest: float
    starts: tuple[float, ...]

    @property
    def cut(self) -> bool:
        """Whether something lies beyond its upper border."""
        return self.highest > self.top


@dataclass(frozen=True)
class Drawn:
    """The pictures with the axis that they share, in per cent."""

    axis: Axis
    pictures: tuple[Picture, ...]
    ticks: tuple[Tick, ...]


def axis_for(attempts: Sequence[Attempt], now: datetime, window: Window) -> Axis | None:
    """The time axis of the curves: folded where no attempt ran."""
    ran = [(one.started_at, end_of(one) or now) for one in attempts if one.started_at is not None]
    return axis_of([(begun, max(begun, over)) for begun, over in ran], window.start, window.end)


def band(attempt: Attempt, measure: Measure, factor: float) -> tuple[float, float] | None:
    """Between which values a step is as usual: `factor` is by how much it counts as slow."""
    usual = attempt.baseline_step_seconds
    if usual is None or usual <= 0 or measure not in {Measure.SECONDS, Measure.RATE}:
        return None
    low, high = usual / factor, usual * factor
    return (low, high) if measure is Measure.SECONDS else (60 / high, 60 / low)


def drawn(curves: Curves, axis: Axis, factor: float) -> Drawn | None:
    """The pictures without a script; none when no step was reported."""
    found = tuple(
        picture
        for measure in (Measure.SECONDS, curves.work)
        if (picture := _picture(curves, measure, axis, factor)) is not None
    )
    return Drawn(axis, found, ticks(axis)) if found else None


def as_json(curves: Curves, axis: Axis | None, factor: float) -> dict[str, Any]:
    """As JSON values. Times in milliseconds since 1970; a null in a series is a break."""
    measures = (Measure.SECONDS, curves.work)
    return {
        "from": _ms(axis.start) if axis else None,
        "to": _ms(axis.end) if axis else None,
        "folds": [[_ms(begun), _ms(over)] for begun, over in axis.folds] if axis else [],
        "fold_ms": round(axis.fold_seconds * 1000) if axis else 0,
        "measures": [{"name": one.value, "label": _(one.label), "unit": one.unit} for one in measures],
        "attempts": [
            {
                "index": attempt.index,
                "colour": attempt.index % COLOURS,
                "state": _(state_of(attempt).label).lower(),
                "started": _ms(attempt.started_at),
                "ended": _ms(end_of(attempt)),
                "bands": [band(attempt, one, factor) for one in measures],
                "series": [_columns(known[one]) for one in measures],
            }
            for attempt, known in curves.of
            if known[Measure.SECONDS].told or known[curves.work].told
        ],
        "cut": curves.cut,
    }


def _columns(curve: Curve) -> dict[str, list[Any]]:
    at: list[int] = []
    step: list[int | None] = []
    value: list[float | None] = []
    for piece in curve.pieces:
        if at:
            at.append(at[-1] + 1)
            step.append(None)
            value.append(None)
        at += [round(point.at * 1000) for point in piece]
        step += [point.step for point in piece]
        value += [float(f"{point.value:.5g}") for point in piece]
    return {"at": at, "step": step, "value": value}


def _picture(curves: Curves, measure: Measure, axis: Axis, factor: float) -> Picture | None:
    told = [(attempt, known[measure]) for attempt, known in curves.of if known[measure].told]
    if not told:
        return None
    highest = max(curve.told.greatest.value for _attempt, curve in told if curve.told)
    usual = median(curve.told.usual for _attempt, curve in told if curve.told)
    top = min(highest, CUT_AT * usual) or 1.0
    bands = [(attempt, band(attempt, measure, factor)) for attempt, _curve in told]
    top = max([top, *(high for _attempt, found in bands if found for high in found[1:])]) * 1.05
    most = POINTS_DRAWN // len(told)
    lines = [
        Line(_points(piece, axis, top), attempt.index % COLOURS)
        for attempt, curve in told
        for piece in (thinned(curve.pieces, most) if most > FEW_POINTS else curve.few)
    ]
    boxes = [_box(attempt, found, axis, top) for attempt, found in bands if found]
    starts = [axis.x(attempt.started_at) for attempt, _curve in told if attempt.started_at]
    return Picture(measure, tuple(lines), tuple(boxes), top, highest, _apart(starts))


def _apart(places: Sequence[float]) -> tuple[float, ...]:
    """Those that stand apart from the one before: a hundred lines would hide the curve."""
    found: list[float] = []
    for place in sorted(places):
        if not found or place - found[-1] >= STARTS_APART:
            found.append(place)
    return tuple(found)


def _points(piece: Sequence[Point], axis: Axis, top: float) -> str:
    pairs = [(axis.x_of(point.at) * WIDTH / 100, _y(point.value, top)) for point in piece]
    if len(pairs) == 1:  # a point alone is a short line
        pairs.append((pairs[0][0] + 1, pairs[0][1]))
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in pairs)


def _box(attempt: Attempt, found: tuple[float, float], axis: Axis, top: float) -> Box:
    begun = attempt.started_at or axis.start
    over = end_of(attempt) or axis.end
    x, low, high = axis.x(begun) * WIDTH / 100, _y(found[0], top), _y(found[1], top)
    width = max(0.0, axis.x(max(over, begun + timedelta(seconds=1))) * WIDTH / 100 - x)
    return Box(round(x, 1), round(high, 1), round(width, 1), round(max(low - high, 1.0), 1))


def _y(value: float, top: float) -> float:
    return round(HEIGHT * (1 - min(1.0, max(0.0, value / top))), 2)


def _ms(at: datetime | None) -> int | None:
    return None if at is None else round(at.timestamp() * 1000)

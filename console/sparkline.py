"""Pure: what does the small curve of step times look like?"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

WIDTH, HEIGHT = 240, 36


@dataclass(frozen=True)
class Sparkline:
    """An SVG polyline in a box of `WIDTH` by `HEIGHT`; `baseline_y` is where the usual step time lies."""

    points: str
    baseline_y: float | None
    least: float
    most: float
    latest: float
    width: int = WIDTH
    height: int = HEIGHT


def sparkline(values: Sequence[float], baseline: float | None = None) -> Sparkline | None:
    """The curve of `values` (seconds, oldest first); none for fewer than two.

    The top is at most four times the median: one slow step would flatten all others otherwise.
    """
    if len(values) < 2:
        return None
    top = min(max(*values, baseline or 0.0), 4 * (median(values) or max(values))) or 1.0
    pairs = (f"{index * WIDTH / (len(values) - 1):.1f},{_y(value, top):.1f}" for index, value in enumerate(values))
    return Sparkline(
        " ".join(pairs),
        None if baseline is None else round(_y(baseline, top), 1),
        min(values),
        max(values),
        values[-1],
    )


def _y(value: float, top: float) -> float:
    return 2 + (HEIGHT - 4) * (1 - min(1.0, max(0.0, value / top)))

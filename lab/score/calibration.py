"""Is the product right as often as it says? Confidence in bins, and the expected calibration error."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)
"""Fixed, so that cards can be compared; 0.80 and 0.85 are the policy's own (decisions 20)."""
ENOUGH = 30  # verdicts below which it is not measured (decisions 20)


@dataclass(frozen=True, slots=True)
class Bin:
    """Verdicts with a confidence from `low` to below `high` (the last bin holds 1.0)."""

    low: float
    high: float
    n: int
    right: int
    confidence: float  # mean of those in the bin

    @property
    def share_right(self) -> float:
        """Of those in the bin."""
        return self.right / self.n


@dataclass(frozen=True, slots=True)
class Calibration:
    """Bins that hold a verdict, and the error over all; `None`: not measured, there are too few."""

    n: int
    bins: tuple[Bin, ...]
    error: float | None


def calibrate(said: Sequence[tuple[float, bool]]) -> Calibration:
    """From pairs of the confidence said and whether it was right.

    The expected calibration error is the mean distance of the share right from the mean confidence of each bin,
    weighed by the number of verdicts in it.
    """
    bins = []
    for low, high in itertools.pairwise(EDGES):
        last = high == EDGES[-1]
        inside = [(c, right) for c, right in said if low <= c < high or (last and c >= high)]
        if inside:
            mean = sum(c for c, _ in inside) / len(inside)
            bins.append(Bin(low, high, len(inside), sum(right for _, right in inside), mean))
    if len(said) < ENOUGH:
        return Calibration(len(said), tuple(bins), None)
    error = sum(one.n * abs(one.share_right - one.confidence) for one in bins) / len(said)
    return Calibration(len(said), tuple(bins), error)

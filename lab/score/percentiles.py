"""Which latency is not exceeded by half, or by 95 of a hundred? Nearest rank: always a value that was measured."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """Of `n` values in seconds: median, 95th percentile and the largest."""

    n: int
    p50: float
    p95: float
    most: float


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least `percent` of a hundred do not exceed; raises `ValueError` without values."""
    if not values:
        raise ValueError("No value has no percentile.")
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def spread(values: Sequence[float]) -> Spread:
    """Median, 95th percentile and maximum."""
    return Spread(len(values), percentile(values, 50), percentile(values, 95), max(values))

"""How far may a share or a rate that was counted lie from the true one? Intervals of 95 %.

Shares: Wilson's score interval (E. B. Wilson 1927), which stays within 0 and 1 and is good for small numbers.
Rates: the exact Poisson interval (F. Garwood 1936), found by bisection on the Poisson distribution itself.
"""

import math
from dataclasses import dataclass

Z95 = 1.959963984540054  # the 97.5 % point of the normal distribution
TAIL = 0.025  # on each side
PER = 1000.0  # hours


@dataclass(frozen=True, slots=True)
class Share:
    """`hits` of `n`. Without any case there is no share: `share`, `low` and `high` are `None`."""

    hits: int
    n: int

    @property
    def share(self) -> float | None:
        """Between 0 and 1."""
        return self.hits / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The Wilson interval of 95 %."""
        return wilson(self.hits, self.n) if self.n else None


@dataclass(frozen=True, slots=True)
class Rate:
    """`count` events in `hours`. Without any hour there is no rate."""

    count: int
    hours: float

    @property
    def per_thousand(self) -> float | None:
        """Events in 1,000 hours."""
        return self.count / self.hours * PER if self.hours > 0 else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The exact Poisson interval of 95 %, in events per 1,000 hours."""
        if self.hours <= 0:
            return None
        low, high = poisson(self.count)
        return low / self.hours * PER, high / self.hours * PER


def wilson(hits: float, n: float, z: float = Z95) -> tuple[float, float]:
    """Wilson's score interval of `hits` of `n`, which may be effective numbers.

    Raises `ValueError` unless 0 <= hits <= n and n > 0.
    """
    if not 0 <= hits <= n or n <= 0:
        raise ValueError(f"{hits} of {n} is no share.")
    share, squared = hits / n, z * z
    middle = (share + squared / (2 * n)) / (1 + squared / n)
    half = z / (1 + squared / n) * math.sqrt(share * (1 - share) / n + squared / (4 * n * n))
    # Rounding must not leave the ends: 0 hits may be 0, and all hits may be all.
    return (0.0 if hits == 0 else max(0.0, middle - half)), (1.0 if hits == n else min(1.0, middle + half))


def poisson(count: int, tail: float = TAIL) -> tuple[float, float]:
    """The exact interval of the mean of a Poisson distribution of which `count` was seen.

    The ends are the means at which `count` or more, and `count` or fewer, have a probability of `tail`.
    """
    if count < 0:
        raise ValueError(f"{count} is no count.")
    low = 0.0 if count == 0 else _mean_at(count - 1, 1 - tail)
    return low, _mean_at(count, tail)


def at_most(count: int, mean: float) -> float:
    """Probability of `count` or fewer events when `mean` are expected."""
    if mean <= 0:
        return 1.0
    logs = (k * math.log(mean) - mean - math.lgamma(k + 1) for k in range(count + 1))
    return min(1.0, math.fsum(math.exp(log) for log in logs))


def _mean_at(count: int, probability: float) -> float:
    """The mean at which `count` or fewer events have this probability: it falls as the mean grows."""
    low, high = 0.0, 10.0 + 2.0 * count + 10.0 * math.sqrt(count)
    for _ in range(200):
        middle = (low + high) / 2
        if at_most(count, middle) > probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2

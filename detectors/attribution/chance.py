"""How likely is it that so much happened by chance?"""

import math

SURPRISING = 0.01


def at_least(count: int, expected: float) -> float:
    """Probability of `count` or more events where `expected` are usual (Poisson)."""
    if expected <= 0.0:
        return 1.0 if count <= 0 else 0.0
    below = (number * math.log(expected) - expected - math.lgamma(number + 1) for number in range(count))
    return _rest(math.fsum(math.exp(one) for one in below))


def at_least_of(count: int, of: int, share: float) -> float:
    """Probability of `count` or more of `of` where each happens with probability `share` (binomial)."""
    if share <= 0.0 or share >= 1.0:
        return 1.0 if share >= 1.0 or count <= 0 else 0.0
    hit, miss, all_ways = math.log(share), math.log1p(-share), math.lgamma(of + 1)
    below = (
        all_ways - math.lgamma(n + 1) - math.lgamma(of - n + 1) + n * hit + (of - n) * miss
        for n in range(min(count, of + 1))
    )
    return _rest(math.fsum(math.exp(one) for one in below))


def _rest(below: float) -> float:
    return min(1.0, max(0.0, 1.0 - below))

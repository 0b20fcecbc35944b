"""How is chance made so that the same seed gives the same fleet? Draws depend on the seed and on words alone."""

import math
import random
from collections.abc import Iterator, Mapping
from typing import TypeVar

from lab.fleet import published

Choice = TypeVar("Choice")


def chance(seed: int, *words: object) -> random.Random:
    """A source of chance of its own for `words`: what one part draws changes nothing for another."""
    return random.Random(f"{seed}/{words!r}")


def pick(dice: random.Random, weights: Mapping[Choice, float]) -> Choice:
    """One key of `weights`, each as often as its weight says."""
    return dice.choices(list(weights), list(weights.values()))[0]


def size(dice: random.Random, most: int) -> int:
    """Nodes of a job, at most `most`: bigger wishes are cut down."""
    return min(pick(dice, published.SIZES), most)


def life(dice: random.Random) -> float:
    """Seconds that a job trains when nothing happens: the published lognormal between its two borders."""
    middle = math.log(published.LIFE_MEDIAN_SECONDS)
    while True:
        seconds = dice.lognormvariate(middle, published.LIFE_SIGMA)
        if published.SHORTEST_SECONDS <= seconds <= published.LONGEST_SECONDS:
            return seconds


def delay(dice: random.Random, median_seconds: float, sigma: float) -> float:
    """Seconds until a person acts: a lognormal with this median."""
    return dice.lognormvariate(math.log(median_seconds), sigma)


def within(dice: random.Random, border: tuple[float, float]) -> float:
    """A number between two."""
    return dice.uniform(*border)


def times(dice: random.Random, rate: float, start: float, end: float) -> Iterator[float]:
    """Moments from `start` to `end` (seconds) of something that happens `rate` times a day, without memory."""
    at = start
    while rate > 0 and (at := at + dice.expovariate(rate) * published.DAY) < end:
        yield at


def mean_size(most: int) -> float:
    """Mean number of nodes of a job."""
    whole = sum(published.SIZES.values())
    return sum(min(nodes, most) * share for nodes, share in published.SIZES.items()) / whole


def mean_life() -> float:
    """Mean seconds of `life`, by the formula of the truncated lognormal."""
    middle, sigma = math.log(published.LIFE_MEDIAN_SECONDS), published.LIFE_SIGMA
    low = (math.log(published.SHORTEST_SECONDS) - middle) / sigma
    high = (math.log(published.LONGEST_SECONDS) - middle) / sigma
    above = published.LIFE_MEAN_SECONDS * (_normal(high - sigma) - _normal(low - sigma))
    return above / (_normal(high) - _normal(low))


def median_life() -> float:
    """Median seconds of `life`, found by halving."""
    middle, sigma = math.log(published.LIFE_MEDIAN_SECONDS), published.LIFE_SIGMA
    low = (math.log(published.SHORTEST_SECONDS) - middle) / sigma
    high = (math.log(published.LONGEST_SECONDS) - middle) / sigma
    wanted = (_normal(low) + _normal(high)) / 2
    for _ in range(60):
        between = (low + high) / 2
        low, high = (between, high) if _normal(between) < wanted else (low, between)
    return math.exp(middle + sigma * low)


def _normal(value: float) -> float:
    return 0.5 * (1 + math.erf(value / math.sqrt(2)))

"""How often were verdicts right that said the same? Bins with their n, and whether anything can be fitted.

Verdicts on one case by several seeds are alike: as likely as not they are right or wrong together. So what counts
is the *effective* number of a bin: so many independent verdicts would tell as much. It is n / (1 + (m - 1) r), with
m the number of verdicts on the case of a verdict (mean over verdicts), and r how much more alike two verdicts on
one case are than two on different ones (Kish's design effect; r by the analysis of variance within bins, over the
whole set, between 0 and 1). With r = 1 it is the number of different cases (of equally many verdicts each), with
r = 0 it is n.

*Measured* is a bin whose effective number is 30 (decisions 20); its bounds are Wilson's over that number. The bins
are those of the score card, neighbours joined from the surest down until that number is reached: by how many
verdicts there are on which cases, and never by whether they are right.
"""

import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lab.score.calibration import EDGES, ENOUGH, calibrate
from lab.score.wilson import wilson

FOLDS = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of one: its case, its confidence, whether it was right, and by what it was reached."""

    case: str
    confidence: float
    right: bool
    status: str = ""
    rule: str = ""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One bin. `low` and `high` bound `observed` with 95 %; `None` where an `effective` n is below 30."""

    name: str
    n: int
    cases: int
    effective: float
    claimed: float
    observed: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Reliability:
    """Of one set: by confidence, by evidence status and by rule.

    `error`: the expected calibration error. `alike`: how much more alike verdicts on one case are than on others.
    `whole`: all of them as one bin, `None` without any.
    """

    n: int
    cases: int
    alike: float
    error: float | None
    whole: Row | None
    by_confidence: tuple[Row, ...]
    by_status: tuple[Row, ...]
    by_rule: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Fit:
    """A bin from `low` to below `high` (the last one holds 1.0): the share that is right there, and its bounds.

    `share` and bounds are `None` where it was not measured.
    """

    low: float
    high: float
    n: int
    cases: int
    effective: float
    share: float | None
    at_least: float | None
    at_most: float | None


Edges = tuple[float, ...]
"""Of bins, from 0 to 1: each reaches from one to below the next, the last one holds 1."""


def joined(some: Sequence[Verdict]) -> Edges:
    """The edges of the score card without those between bins that are too small alone."""
    alike, edges = likeness(some), [EDGES[-1]]
    for low in reversed(EDGES[:-1]):
        inside = [one for one in some if low <= one.confidence and (one.confidence < edges[-1] or len(edges) == 1)]
        if low == EDGES[0] or (inside and effective(inside, alike) >= ENOUGH):
            edges.append(low)
    return tuple(reversed(edges))


def reliability(some: Sequence[Verdict], edges: Edges = EDGES) -> Reliability:
    """The table of one set of verdicts."""
    alike = likeness(some)
    return Reliability(
        n=len(some),
        cases=len({one.case for one in some}),
        alike=round(alike, 4),
        error=calibrate([(one.confidence, one.right) for one in some]).error,
        whole=_row("0.00–1.00", some, alike) if some else None,
        by_confidence=_rows(some, lambda one: bin_of(one.confidence, edges), alike),
        by_status=_rows(some, lambda one: one.status, alike),
        by_rule=_rows(some, lambda one: one.rule, alike),
    )


def bin_of(confidence: float, edges: Edges = EDGES) -> str:
    """The name of the bin that a confidence lies in."""
    return _name(next((low, high) for low, high in pairwise(edges) if confidence < high or high == edges[-1]))


def _name(ends: tuple[float, float]) -> str:
    return f"{ends[0]:.2f}–{ends[1]:.2f}"


def likeness(some: Sequence[Verdict]) -> float:
    """How much more alike two verdicts on one case are than two on different cases of the same bin: 0 to 1.

    1 where nothing tells: no case has two verdicts in a bin, or no bin has two cases.
    """
    bins = _by(some, lambda one: bin_of(one.confidence))
    between = within = weighed = 0.0
    groups = 0
    for inside in bins.values():
        cases = list(_by(inside, lambda one: one.case).values())
        mean = _share(inside)
        between += sum(len(one) * (_share(one) - mean) ** 2 for one in cases)
        within += sum(len(one) * _share(one) * (1 - _share(one)) for one in cases)
        weighed += len(inside) - sum(len(one) ** 2 for one in cases) / len(inside)
        groups += len(cases)
    free_between, free_within = groups - len(bins), len(some) - groups
    if free_between <= 0 or free_within <= 0 or between + within == 0:
        return 1.0
    of_cases, of_rest, size = between / free_between, within / free_within, weighed / free_between
    return min(1.0, max(0.0, (of_cases - of_rest) / (of_cases + (size - 1) * of_rest)))


def effective(inside: Sequence[Verdict], alike: float) -> float:
    """So many independent verdicts would tell as much."""
    sizes = [len(one) for one in _by(inside, lambda one: one.case).values()]
    mean = sum(size * size for size in sizes) / len(inside)
    return len(inside) / (1 + (mean - 1) * alike)


def fitted(some: Sequence[Verdict], edges: Edges) -> tuple[Fit, ...]:
    """Every bin that holds a verdict; shares are isotonic over those that are measured."""
    rows = reliability(some, edges).by_confidence
    alike, bins = likeness(some), _by(some, lambda one: bin_of(one.confidence, edges))
    kept = [row for row in rows if row.observed is not None]
    found: dict[str, tuple[float, float]] = {}
    for share, places in _rising([(row.observed or 0.0, row.effective) for row in kept]):
        names = [kept[place].name for place in places]
        number = effective([one for name in names for one in bins[name]], alike)
        found |= dict.fromkeys(names, (share, number))
    ends = {_name(one): one for one in pairwise(edges)}
    return tuple(_fit(row, ends[row.name], found.get(row.name)) for row in rows)


def share_at(confidence: float, fits: Iterable[Fit]) -> float | None:
    """The share that was fitted for this confidence, `None` where it was not measured."""
    there = (fit for fit in fits if fit.low <= confidence and (confidence < fit.high or fit.high == EDGES[-1]))
    return next((fit.share for fit in there), None)


def error_of(fits: Iterable[Fit], some: Iterable[Verdict]) -> float | None:
    """The mean distance of the share that was fitted from the share right, over the bins that the fit has measured
    and weighed by their verdicts; `None` without any."""
    return _error([(share_at(one.confidence, fits), one.right) for one in some])


def error_on_others(before: Sequence[Verdict], after: Sequence[Verdict], edges: Edges) -> float | None:
    """The same on cases that had no part in the fit: `FOLDS` times, fitted on `before` without a fold of the cases
    and asked for the verdicts of `after` on those."""
    said: list[tuple[float | None, bool]] = []
    for fold in range(FOLDS):
        fits = fitted([one for one in before if _fold(one.case) != fold], edges)
        said += [(share_at(one.confidence, fits), one.right) for one in after if _fold(one.case) == fold]
    return _error(said)


def _fold(case: str) -> int:
    return zlib.crc32(case.encode()) % FOLDS


def _error(said: Iterable[tuple[float | None, bool]]) -> float | None:
    bins: dict[float, list[bool]] = defaultdict(list)
    for share, right in said:
        if share is not None:
            bins[share].append(right)
    whole = sum(map(len, bins.values()))
    if not whole:
        return None
    return round(sum(abs(share * len(right) - sum(right)) for share, right in bins.items()) / whole, 4)


def _fit(row: Row, ends: tuple[float, float], found: tuple[float, float] | None) -> Fit:
    """`found`: the share, and the effective number that stands behind it."""
    if found is None:
        return Fit(*ends, row.n, row.cases, row.effective, None, None, None)
    share, number = found
    low, high = wilson(share * number, number)
    return Fit(*ends, row.n, row.cases, row.effective, round(share, 4), round(low, 4), round(high, 4))


def _rising(points: Sequence[tuple[float, float]]) -> list[tuple[float, tuple[int, ...]]]:
    """Shares that never fall with the confidence claimed, each with the places of the points (share, weight) in it.

    Neighbours that fall are one (pool adjacent violators: Ayer and others 1955).
    """
    blocks: list[tuple[float, float, tuple[int, ...]]] = []  # mean, weight, places
    for place, (observed, weight) in enumerate(points):
        blocks.append((observed, weight, (place,)))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (mean, one, some), (other, two, more) = blocks[-2:]
            blocks[-2:] = [((mean * one + other * two) / (one + two), one + two, some + more)]
    return [(mean, places) for mean, _weight, places in blocks]


def _rows(some: Iterable[Verdict], key: Callable[[Verdict], str], alike: float) -> tuple[Row, ...]:
    bins = _by(some, key)
    return tuple(_row(name, bins[name], alike) for name in sorted(bins) if name)


def _row(name: str, inside: Sequence[Verdict], alike: float) -> Row:
    cases = len({one.case for one in inside})
    claimed = round(sum(one.confidence for one in inside) / len(inside), 4)
    number = round(effective(inside, alike), 1)
    if number < ENOUGH:
        return Row(name, len(inside), cases, number, claimed, None, None, None)
    observed = _share(inside)
    low, high = wilson(observed * number, number)
    return Row(name, len(inside), cases, number, claimed, round(observed, 4), round(low, 4), round(high, 4))


def _by(some: Iterable[Verdict], key: Callable[[Verdict], str]) -> dict[str, list[Verdict]]:
    bins: dict[str, list[Verdict]] = defaultdict(list)
    for one in some:
        bins[key(one)].append(one)
    return bins


def _share(inside: Sequence[Verdict]) -> float:
    return sum(one.right for one in inside) / len(inside)

"""How often were verdicts right that said the same? Bins with their n, and whether anything can be fitted.

A seed puts a case on in another way, but what the product makes of it is mostly the same: verdicts on one case are
no independent ones. So a bin tells its verdicts and its different cases; *measured* is one with 30 verdicts
(decisions 20), and its bounds are Wilson's over the cases, of which one is right by the share of its verdicts.

Fitted is only where a bin holds 30 different cases: isotonic over those bins, and never above what was claimed. So
fewer cases move no verdict over the policy's 0.80 and 0.85, which are edges of bins.
"""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lab.score.calibration import EDGES, ENOUGH, calibrate
from lab.score.wilson import Share


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of one: its case, its confidence, whether it was right, and by what it was reached."""

    case: str
    confidence: float
    right: bool
    status: str = ""
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One bin. `low` and `high` bound `observed` with 95 %; `None` where fewer than 30 verdicts measure nothing."""

    name: str
    n: int
    cases: int
    claimed: float
    observed: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Reliability:
    """Of one set: by confidence, by evidence status and by rule; `error`: the expected calibration error."""

    n: int
    cases: int
    error: float | None
    by_confidence: tuple[Row, ...]
    by_status: tuple[Row, ...]
    by_rule: tuple[Row, ...]


def reliability(some: Sequence[Verdict]) -> Reliability:
    """The table of one set of verdicts."""
    return Reliability(
        n=len(some),
        cases=len({one.case for one in some}),
        error=calibrate([(one.confidence, one.right) for one in some]).error,
        by_confidence=_rows(some, lambda one: bin_of(one.confidence)),
        by_status=_rows(some, lambda one: one.status),
        by_rule=_rows(some, lambda one: one.rule),
    )


def bin_of(confidence: float) -> str:
    """The name of the bin that a confidence lies in."""
    for low, high in itertools.pairwise(EDGES):
        if confidence < high:
            return f"{low:.2f}–{high:.2f}"
    return f"{EDGES[-2]:.2f}–{EDGES[-1]:.2f}"


def fitted(some: Sequence[Verdict]) -> tuple[tuple[float, float, float], ...]:
    """Bins, from low to below high, and the confidence to say there at most; empty where the data support none.

    Bins with too few different cases have none: what was claimed there stays.
    """
    kept = [row for row in reliability(some).by_confidence if row.cases >= ENOUGH and row.observed is not None]
    values = _rising([(row.observed or 0.0, row.cases) for row in kept])
    edges = {f"{low:.2f}–{high:.2f}": (low, high) for low, high in itertools.pairwise(EDGES)}
    return tuple((*edges[row.name], round(value, 4)) for row, value in zip(kept, values, strict=True))


def _rising(points: Sequence[tuple[float, int]]) -> list[float]:
    """Shares that never fall with the confidence claimed: neighbours that do are one (pool adjacent violators)."""
    blocks: list[tuple[float, int, int]] = []  # mean, weight, points
    for observed, weight in points:
        blocks.append((observed, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (mean, one, count), (other, two, more) = blocks[-2:]
            blocks[-2:] = [((mean * one + other * two) / (one + two), one + two, count + more)]
    return [mean for mean, _weight, count in blocks for _ in range(count)]


def _rows(some: Iterable[Verdict], key: Callable[[Verdict], str]) -> tuple[Row, ...]:
    bins: dict[str, list[Verdict]] = defaultdict(list)
    for one in some:
        bins[key(one)].append(one)
    return tuple(_row(name, bins[name]) for name in sorted(bins) if name)


def _row(name: str, inside: Sequence[Verdict]) -> Row:
    cases: dict[str, list[bool]] = defaultdict(list)
    for one in inside:
        cases[one.case].append(one.right)
    claimed = round(sum(one.confidence for one in inside) / len(inside), 4)
    if len(inside) < ENOUGH:
        return Row(name, len(inside), len(cases), claimed, None, None, None)
    observed = sum(one.right for one in inside) / len(inside)
    right = round(sum(sum(told) / len(told) for told in cases.values()))
    low, high = Share(right, len(cases)).interval or (0.0, 1.0)
    return Row(name, len(inside), len(cases), claimed, round(observed, 4), round(low, 4), round(high, 4))

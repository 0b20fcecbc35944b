"""Pure: which points of a long series are shown, so that it looks as if all of them were?

Of each handful of neighbours the least and the greatest stay: a single slow step of thousands is still seen. Where
nothing was reported for a while the curve is broken instead of drawn through.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

BROKEN_FROM = 60.0  # seconds without a point, at least
BROKEN_TIMES = 8.0  # times the usual distance between two points (as `detectors.catalogue.straggler.PAUSE`)


class Point(NamedTuple):
    """A value that a step reported. `at` in seconds since 1970."""

    at: float
    step: int
    value: float


@dataclass(frozen=True)
class Told:
    """A series in numbers. `usual`: its median; `longest`: its longest pause in seconds."""

    count: int
    first: Point
    last: Point
    usual: float
    greatest: Point
    least: Point
    longest: float


Piece = Sequence[Point]


def pieces_of(points: Sequence[Point]) -> list[Piece]:
    """The series in its order, broken where nothing was reported for longer than usual."""
    if not points:
        return []
    limit = _break_from(points)
    pieces, begun = [], 0
    for place in range(1, len(points)):
        if points[place].at - points[place - 1].at > limit:
            pieces.append(points[begun:place])
            begun = place
    return [*pieces, points[begun:]]


def thinned(pieces: Sequence[Piece], most: int) -> list[Piece]:
    """At most `most` points of all pieces together, with every piece's extremes, and its newest end."""
    count = sum(len(piece) for piece in pieces)
    if count <= most:
        return list(pieces)
    kept = pieces[-max(1, most // 2) :]  # more breaks than points: the newest pieces
    room = most - 2 * len(kept)
    return [list(_extremes(piece, 2 + room * len(piece) // count)) for piece in kept]


def told(points: Sequence[Point]) -> Told | None:
    """The series in numbers; none without a point."""
    if not points:
        return None
    pauses = (after.at - before.at for before, after in itertools.pairwise(points))
    return Told(
        len(points),
        points[0],
        points[-1],
        median(point.value for point in points),
        max(points, key=lambda point: point.value),
        min(points, key=lambda point: point.value),
        max(pauses, default=0.0),
    )


def _break_from(points: Sequence[Point]) -> float:
    steps = [after.at - before.at for before, after in itertools.pairwise(points)]
    return max(BROKEN_FROM, BROKEN_TIMES * median(steps)) if steps else BROKEN_FROM


def _extremes(piece: Piece, most: int) -> Iterator[Point]:
    """Of each handful the least and the greatest in their order, and the last point where there is room for it."""
    if len(piece) <= most:
        yield from piece
        return
    handfuls = max(1, (most - 1) // 2)
    newest = -1
    for number in range(handfuls):
        places = range(len(piece) * number // handfuls, len(piece) * (number + 1) // handfuls)
        low = min(places, key=lambda place: piece[place].value)
        high = max(places, key=lambda place: piece[place].value)
        for newest in sorted({low, high}):
            yield piece[newest]
    if most > 2 and newest != len(piece) - 1:
        yield piece[-1]

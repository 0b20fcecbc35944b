"""Who comes next when more is due than one sweep can do? Each user in turn: no crowd of jobs holds up another's.

Within one user the oldest comes first, and users take turns in the order in which they began to wait.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

LOOKED_AT = 5_000  # rows that are due, the oldest; who waits behind so many comes as soon as they get fewer
Row = TypeVar("Row")


def in_turns(rows: Iterable[Row], owner: Callable[[Row], Hashable], most: int) -> list[Row]:
    """At most `most` of the rows, which come oldest first: the first one of each owner, then each one's second."""
    taken: Counter[Hashable] = Counter()
    ranked: list[tuple[int, int, Row]] = []
    for place, row in enumerate(rows):
        whose = owner(row)
        ranked.append((taken[whose], place, row))
        taken[whose] += 1
    return [row for _, _, row in sorted(ranked, key=lambda each: each[:2])[:most]]

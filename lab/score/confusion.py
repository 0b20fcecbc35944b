"""What was said for what was true? Counts of pairs, as a matrix."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

NOTHING = "none"


@dataclass(frozen=True, slots=True)
class Confusion:
    """`counts[row][column]`: how often `columns[column]` was said where `rows[row]` was true."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


def confusion(pairs: Iterable[tuple[str, str]]) -> Confusion:
    """The matrix of pairs (truth, said), names in alphabetical order and `none` last."""
    counted = Counter(pairs)
    rows = _ordered({truth for truth, _ in counted})
    columns = _ordered({said for _, said in counted} | set(rows))
    return Confusion(rows, columns, tuple(tuple(counted[truth, said] for said in columns) for truth in rows))


def _ordered(names: set[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=lambda name: (name == NOTHING, name)))

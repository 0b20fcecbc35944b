"""What does a search for a hang's culprit answer? The same for lines, dumps, analyses of dumps, and RAS."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from detectors.catalogue.layer import Layer

LINES, DUMPS, RAS = "app_log", "fr_dump", "ras"


@dataclass(frozen=True)
class Standstill:
    """Who is missing. `case` is the letter of the reference's table; `because` is a sentence for an operator.

    `source`: what tells it, as the evidence of a verdict names it.
    """

    case: str
    ranks: tuple[int, ...]
    hosts: tuple[str, ...]
    layer: Layer
    confidence: float
    because: str
    source: str = LINES

    @property
    def names(self) -> bool:
        """Whether it names anybody."""
        return bool(self.ranks or self.hosts)


def spoken(ranks: Sequence[int]) -> str:
    """`Rank 7`, or `Ranks 6, 7 and 12 more`."""
    shown = ", ".join(str(rank) for rank in ranks[:8])
    more = f" and {len(ranks) - 8} more" if len(ranks) > 8 else ""
    return f"Rank {shown}" if len(ranks) == 1 else f"Ranks {shown}{more}"


def few(some: int, of_all: int) -> bool:
    """Whether these are some, and fewer than half of all."""
    return 0 < 2 * some < of_all


def sorted_ranks(ranks: Iterable[int]) -> tuple[int, ...]:
    """Each once, in order."""
    return tuple(sorted(set(ranks)))

"""What does a deed know of the rank that does it, and how is it told?"""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.dialects.dialect import Dialect, Stage
from lab.trainer.orders import Order
from lab.trainer.place import Place
from lab.truth import Injected, note


@dataclass(slots=True)
class Here:
    """This rank, now. `truth` is the truth file, `None` when nobody wants to know."""

    place: Place
    stage: Stage
    dialect: Dialect
    folder: Path  # of checkpoints
    address: tuple[str, int]  # of the ranks' meeting
    truth: Path | None = None
    case: str = ""
    step: int = 0
    noted: set[int] = field(default_factory=set)  # identities of orders that were told

    def tell(self, order: Order) -> None:
        """Write the deed into the truth file, the first time that it is done in this attempt."""
        if id(order) in self.noted:
            return
        self.noted.add(id(order))
        if self.truth is not None:
            place = self.place
            deed = (self.case, place.job, place.attempt, order.kind, time.time())
            note(self.truth, Injected(*deed, nodes=(place.host,), ranks=(place.rank,), step=self.step))

    def speaks_for(self, order: Order) -> bool:
        """Whether this rank is the first of those that the order concerns: what is said once, it says."""
        place = self.place
        hosts = self.stage.host
        concerned = (rank for rank in range(place.world) if order.concerns(rank, hosts(rank), place.attempt))
        return place.rank == next(concerned, place.rank)


def say(lines: Sequence[str]) -> None:
    """Lines on standard output, in one write: other ranks write into the same file."""
    if lines:
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()

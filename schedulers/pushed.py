"""How does an observation that somebody else took answer the questions of whoever observes?

As the scheduler itself would have at that moment; what was not asked there is not known here.
"""

from dataclasses import dataclass

from schedulers.observation import Observation
from schedulers.port import (
    AccountedAttempt,
    Limits,
    Listing,
    NoAccounting,
    NodeRow,
    NotTold,
    Unreachable,
)


@dataclass(frozen=True)
class Pushed:
    """`schedulers.port.Reading` over one observation."""

    told: Observation

    def jobs(self) -> Listing:
        """All jobs that it lists."""
        return Listing(self.told.jobs)

    def nodes(self) -> tuple[NodeRow, ...]:
        """All nodes that it lists."""
        return self.told.nodes

    def limits(self) -> Limits:
        """What the installation was when it was asked."""
        return self.told.limits

    def ended(self, number: int) -> tuple[AccountedAttempt, ...]:
        """What the accounting said there; `NotTold` when it was not asked about this job."""
        if not self.told.accounting:
            raise NoAccounting("This installation keeps no accounting.")
        for asked in self.told.ended:
            if asked.number == number:
                return asked.attempts
        raise NotTold(f"The accounting was not asked about job {number}.")

    def ping(self) -> None:
        """Returns when the scheduler answered a ping beside the listing."""
        if not self.told.answers:
            raise Unreachable("An empty listing was pushed, of a scheduler that answers nothing else.")

"""How much does one look at a cluster's sources take at most?"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from detectors.gathering import Stored

SECONDS = 10.0  # after which nothing new is begun; what runs then is bounded by its own time limit
ATTEMPTS, MOST_ATTEMPTS = 20, 200
FILES = 32  # of one job
HEAD, TAIL = 64 << 10, 256 << 10  # bytes of one file
BYTES = 32 << 20  # of all files together

Clock = Callable[[], float]
"""Seconds that only rise; given by the door."""


@dataclass
class Bounds:
    """What is left of one look."""

    clock: Clock
    until: float
    bytes_left: int = BYTES

    @classmethod
    def begin(cls, clock: Clock, seconds: float = SECONDS) -> "Bounds":
        """From now on."""
        return cls(clock, clock() + seconds)

    @property
    def up(self) -> bool:
        """Whether nothing new may be begun."""
        return self.bytes_left <= 0 or self.clock() >= self.until


@dataclass(frozen=True)
class Look:
    """What is the same for all jobs of one look: when, how much of it is left, and what is stored of them."""

    now: datetime
    bounds: Bounds
    stored: Stored

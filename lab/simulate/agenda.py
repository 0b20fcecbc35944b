"""What is due next? Timers in virtual time, in the order of their times and then of their making."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any


@dataclass(slots=True)
class Agenda:
    """A heap of timers. `now` moves only in `advance`; nothing here reads a clock."""

    now: float
    _heap: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = field(default_factory=list)
    _order: "count[int]" = field(default_factory=count)

    def after(self, seconds: float, act: Callable[..., None], *words: Any) -> None:
        """Call `act(*words)` in `seconds` from now."""
        heapq.heappush(self._heap, (self.now + max(seconds, 0.0), next(self._order), act, words))

    def advance(self, to: float) -> None:
        """Let everything happen that is due until `to`. A time before now changes nothing."""
        while self._heap and self._heap[0][0] <= to:
            at, _, act, words = heapq.heappop(self._heap)
            self.now = max(self.now, at)
            act(*words)
        self.now = max(self.now, to)

    @property
    def next_at(self) -> float | None:
        """When the next timer is due."""
        return self._heap[0][0] if self._heap else None

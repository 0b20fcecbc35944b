"""How does the step counter of one dialect move?"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from detectors.catalogue.dialects import Told

WINDOW = 64  # intervals that are remembered
SURE = 3  # rising steps after which a dialect is believed (reference, section 9)


@dataclass
class Counter:
    """One dialect of one attempt; its fields are its JSON.

    `anchor`: moment (epoch seconds) of the last rise that the clock could tell from the one before. `gaps`: seconds
    between lines that rose; `seconds`: of one step.
    """

    first: int
    last: int
    top: int
    anchor: float
    low: int | None = None
    rising: int = 1
    lines: int = 0  # rises since the anchor
    steps: int = 0  # steps since the anchor
    gaps: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    total: int | None = None
    rank: int = 0

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Counter":
        """From its JSON, which stays as it is."""
        return cls(**{**row, "gaps": list(row["gaps"]), "seconds": list(row["seconds"])})

    def state(self) -> dict[str, Any]:
        """As JSON, which stays as it is when the counter moves on."""
        return {**vars(self), "gaps": list(self.gaps), "seconds": list(self.seconds)}

    def see(self, heard: Told, step: int, at: float) -> bool:
        """One more line of the dialect. Whether the counter moved.

        A counter that goes back has moved only when it then rises again below its old place: two ranks that print
        in turn do not look like a restart inside the job.
        """
        self.total = heard.total or self.total
        if step > self.last:
            self._rise(step - self.last, at, heard.seconds)
            self.last, self.top, self.low = step, max(self.top, step), None
            return True
        if step < self.last:
            if self.low is not None and step > self.low:
                self.last, self.low = step, None
                self.anchor, self.lines, self.steps = at, 0, 0
                return True
            self.low = step
        return False

    def _rise(self, steps: int, at: float, told_seconds: float | None) -> None:
        self.rising += 1
        self.lines += 1
        self.steps += steps
        passed = at - self.anchor
        gap, each = None, told_seconds
        if passed > 0:
            gap = passed / self.lines
            each = told_seconds or passed / self.steps
            self.anchor, self.lines, self.steps = at, 0, 0
        if told_seconds is not None:
            gap = max(gap or 0.0, told_seconds * steps)
        if gap is not None and each is not None:
            self.gaps.append(gap)
            self.seconds.append(each)
            del self.gaps[:-WINDOW], self.seconds[:-WINDOW]

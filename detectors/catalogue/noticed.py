"""What was noticed beside faults? Vetoes of look-alikes, in whose lines the steps are told, what breaks off."""

from collections.abc import Mapping, Sequence
from typing import Any

TOPIC = "noticed"
VETOED, DIALECT, OPEN = "vetoed", "dialect", "open"
TRACEBACK = "traceback"
KEPT = 200  # names; the catalogue has fewer
LARGEST = 2**53  # a count that every JSON reader takes


class Noticed:
    """Counts by look-alike, the dialects in which steps are told, and how many tracebacks have no last line yet.

    A fold with JSON as its state.
    """

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._vetoed = {str(name): int(count) for name, count in dict(state.get(VETOED, {})).items()}
        self._dialects = [str(name) for name in state.get(DIALECT, ())]
        self._open = int(state.get(OPEN, 0))
        self.changed = False

    def state(self) -> dict[str, Any]:
        """As JSON; empty when nothing was noticed."""
        made = {VETOED: self._vetoed, DIALECT: self._dialects, OPEN: self._open}
        return {name: value for name, value in made.items() if value}

    def veto(self, names: Sequence[str]) -> None:
        """A line would have been a cause but for these look-alikes."""
        for name in names:
            if name in self._vetoed or len(self._vetoed) < KEPT:
                self._vetoed[name] = min(self._vetoed.get(name, 0) + 1, LARGEST)
                self.changed = True

    def step_told(self, signature: str) -> None:
        """A line tells a step in the dialect of this signature. Only a new one changes anything."""
        if signature not in self._dialects and len(self._dialects) < KEPT:
            self._dialects.append(signature)
            self.changed = True

    def left_open(self, tracebacks: int) -> None:
        """So many tracebacks wait for their last line: whoever ends a job may cut them off."""
        self.changed = self.changed or tracebacks != self._open
        self._open = tracebacks

    def rows(self) -> list[dict[str, Any]]:
        """What is stored beside the attempt."""
        vetoed = [{"sort": VETOED, "id": name, "count": count} for name, count in sorted(self._vetoed.items())]
        left_open = [{"sort": OPEN, "id": TRACEBACK, "count": self._open}] if self._open else []
        return [*vetoed, *({"sort": DIALECT, "id": name, "count": 0} for name in self._dialects), *left_open]

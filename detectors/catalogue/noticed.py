"""What was noticed beside faults? Look-alikes that vetoed one, and in whose lines the steps are told; JSON rows."""

from collections.abc import Mapping, Sequence
from typing import Any

TOPIC = "noticed"
VETOED, DIALECT = "vetoed", "dialect"
KEPT = 200  # names; the catalogue has fewer
LARGEST = 2**53  # a count that every JSON reader takes


class Noticed:
    """Counts by look-alike, and the dialects in which steps are told; a fold with JSON as its state."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._vetoed = {str(name): int(count) for name, count in dict(state.get(VETOED, {})).items()}
        self._dialects = [str(name) for name in state.get(DIALECT, ())]
        self.changed = False

    def state(self) -> dict[str, Any]:
        """As JSON; empty when nothing was noticed."""
        made = {VETOED: self._vetoed, DIALECT: self._dialects}
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

    def rows(self) -> list[dict[str, Any]]:
        """What is stored beside the attempt."""
        vetoed = [{"sort": VETOED, "id": name, "count": count} for name, count in sorted(self._vetoed.items())]
        return [*vetoed, *({"sort": DIALECT, "id": name, "count": 0} for name in self._dialects)]

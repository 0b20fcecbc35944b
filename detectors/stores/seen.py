"""Which lines of a store were read already? What is remembered, so that overlapping reads repeat nothing.

Equal lines of one instant are real in one of the stores: they are counted, not kept as a set.
"""

import base64
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from detectors.stores.store import SECOND, Line, StoreTrouble

KEY = 8  # bytes of one key
OVERLAP = 300  # seconds read again behind the newest line: shippers are late
REMEMBERED = 50_000  # keys of one selector; where there are more lines, the overlap is shorter
CLOCKS_DIFFER = 60  # seconds that a line may be later than our clock
LATEST = 3_000  # seconds that a whole store may be behind; Loki refuses lines an hour late


@dataclass(frozen=True)
class Cursor:
    """Up to where a selector is read, as stored in `Feed.position`.

    `ns` is the newest line read. From second `floor` on every line read is in `seen`, by second; `deep_at` is the
    second of the last read of the whole overlap, `waits_from` the oldest line whose attempt is not listed yet or 0.
    `nobody` and `several` count lines that belong to no attempt or fit several, `uncertain` the instants with more
    lines than the store gives, of which some may be missing.
    """

    ns: int
    floor: int
    seen: Mapping[int, Counter[bytes]] = field(default_factory=dict)
    deep_at: int = 0
    waits_from: int = 0
    nobody: int = 0
    several: int = 0
    uncertain: int = 0

    @classmethod
    def at(cls, ns: int) -> Self:
        """Nothing read yet: the first line wanted is one at `ns` or later."""
        return cls(ns=ns, floor=ns // SECOND)

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self | None:
        """From stored JSON; `None` when there is none or it is not understood."""
        try:
            seen = {int(second): _unpacked(keys) for second, keys in stored["seen"].items()}
            numbers = {name: int(value) for name, value in stored.items() if name != "seen"}
            return cls(seen=seen, **numbers)
        except (KeyError, TypeError, ValueError, AttributeError):
            return None

    def stored(self) -> dict[str, Any]:
        """As JSON values."""
        numbers = {name: value for name, value in vars(self).items() if name != "seen"}
        return {**numbers, "seen": {str(second): _packed(keys) for second, keys in sorted(self.seen.items())}}

    def start(self, seconds: int) -> int:
        """Where a read begins that overlaps by `seconds`: never before what is remembered."""
        wanted = self.ns // SECOND - seconds
        return max(wanted, self.floor) * SECOND

    def new(self, lines: Iterable[Line]) -> tuple[Line, ...]:
        """The lines not seen yet. Every line of one instant must be among `lines`, or none of equal ones."""
        counts: dict[int, Counter[bytes]] = defaultdict(Counter)
        found = []
        for line in lines:
            second = line.ns // SECOND
            counts[second][line.key] += 1
            if second >= self.floor and counts[second][line.key] > self.seen.get(second, Counter())[line.key]:
                found.append(line)
        return tuple(found)

    def taking(self, lines: Sequence[Line]) -> Self:
        """With new lines read."""
        if not lines:
            return self
        seen = dict(self.seen)
        touched: dict[int, Counter[bytes]] = {}
        for line in lines:
            second = line.ns // SECOND
            if second not in touched:
                seen[second] = touched[second] = Counter(seen.get(second, Counter()))
            touched[second][line.key] += 1
        return replace(self, ns=max(self.ns, *(line.ns for line in lines)), seen=seen)

    def reached(self, end: int) -> Self:
        """Everything before `end` that the store showed is read: an old end moves on without a line, too."""
        return replace(self, ns=max(self.ns, end - LATEST * SECOND))

    @property
    def newest(self) -> int:
        """The second of the newest line that is remembered; 0 for none."""
        return max(self.seen, default=0)

    def by_clock(self, now: int) -> Self:
        """The same; set back with a clock that shows `now` (ns): then the overlap before it is read once more.

        Raises `StoreTrouble` where lines are later than that clock: up to now is not all there is.
        """
        later = self.newest - now // SECOND
        if later > CLOCKS_DIFFER:
            raise StoreTrouble(f"the site's clock is {later} s behind the newest line that was read")
        if self.ns <= now + CLOCKS_DIFFER * SECOND:
            return self
        return replace(self, ns=now, floor=min(self.floor, now // SECOND - OVERLAP), deep_at=0)

    def pruned(self) -> Self:
        """Without what no later read will come back to."""
        keep_from = self.ns // SECOND - OVERLAP
        if self.waits_from:
            keep_from = min(keep_from, max(self.waits_from // SECOND, self.ns // SECOND - LATEST))
        floor, left = max(self.floor, keep_from), REMEMBERED
        seen: dict[int, Counter[bytes]] = {}
        for second in sorted((second for second in self.seen if second >= floor), reverse=True):
            left -= self.seen[second].total()
            if left < 0 and seen:
                floor = second + 1
                break
            seen[second] = self.seen[second]
        return replace(self, floor=floor, seen=seen)


def _packed(keys: Counter[bytes]) -> str:
    return base64.b64encode(b"".join(sorted(keys.elements()))).decode()


def _unpacked(text: str) -> Counter[bytes]:
    content = base64.b64decode(text, validate=True)
    return Counter(content[start : start + KEY] for start in range(0, len(content), KEY))

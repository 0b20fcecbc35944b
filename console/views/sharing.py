"""What may many pages that ask for the same panels in the same second have in common?

A frame of the live feed says when its change was seen (`at`); a page that asks because of it says so (`after`). The
version of a panel is a look at the database: one that began after that moment sees the change, for whichever page.
The clocks of hosts may differ by `SKEW_SECONDS`.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

from audit.in_sight import Hidden
from console.asking import Scope

SKEW_SECONDS = 0.1
VERSION_SECONDS = 2.0  # no version is older, whatever a page says
RIGHTS_SECONDS = 5.0  # what a person may do shapes panels; what is done is asked for its rights exactly
KEPT = 2000
ANSWERS_KEPT = 100  # some ten KB each

VersionKey = tuple[Scope, str, frozenset[str]]
Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True)
class Found(Generic[Value]):
    """Something looked up, and when the look began (seconds since 1970)."""

    value: Value
    at: float


class Shared(Generic[Key, Value]):
    """What was looked up lately in this process, the oldest dropped first."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._lock = Lock()
        self._found: OrderedDict[Key, Found[Value]] = OrderedDict()

    def get(self, key: Key, earliest: float, now: float, look: Callable[[], Value]) -> Value:
        """What was found by a look that began at or after `earliest`, else by one that begins now."""
        with self._lock:
            kept = self._found.get(key)
        if kept is not None and earliest <= kept.at <= now:
            return kept.value
        value = look()
        with self._lock:
            self._found[key] = Found(value, now)
            self._found.move_to_end(key)
            while len(self._found) > self._kept:
                self._found.popitem(last=False)
        return value

    def forget(self) -> None:
        """Drop everything."""
        with self._lock:
            self._found.clear()


versions: Shared[VersionKey, str] = Shared()
rights: Shared[tuple[int, str, str], tuple[frozenset[str], Hidden, str]] = Shared()
"""What a person may do, what he does not see, and the mark of both."""
answers: Shared[tuple[str, str, frozenset[str], frozenset[str], str], str] = Shared(ANSWERS_KEPT)
"""The JSON of whole answers, by addresses asked for, tags known, rights, what is hidden, language: hundreds see the
same page."""

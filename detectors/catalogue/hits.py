"""What has a line, and how is it told again for a line of the same shape?"""

from typing import NamedTuple

from detectors.catalogue.entries import Signature
from detectors.catalogue.linear import Spans, words_at
from detectors.catalogue.role import Role


class Hit(NamedTuple):
    """A signature of a line. `words`: what its groups caught; `start` and `end`: bytes of the encoded line.

    `role` is the signature's, or weaker when a look-alike says so; `tags` names look-alikes that mark it. `spans`:
    where the words stand.
    """

    signature: Signature
    words: dict[str, str]
    start: int
    end: int
    role: Role
    tags: tuple[str, ...] = ()
    spans: Spans = ()

    def again(self, raw: bytes) -> "Hit":
        """The same in another line of its shape."""
        words = words_at(self.spans, raw) if self.spans else {}
        return Hit(self.signature, words, self.start, self.end, self.role, self.tags, self.spans)


class Match(NamedTuple):
    """What a line has. `fault`: the strongest symptom; `others`: steps, checkpoints, phases and ends.

    `vetoed`: the look-alikes that took a cause away from it, or made it a victim's.
    """

    fault: Hit | None = None
    others: tuple[Hit, ...] = ()
    marks: frozenset[str] = frozenset()
    vetoed: tuple[str, ...] = ()

    def again(self, raw: bytes) -> "Match":
        """The same in another line of its shape."""
        if self.fault is None and not self.others:
            return self
        fault = self.fault.again(raw) if self.fault is not None else None
        others = tuple([hit.again(raw) for hit in self.others]) if self.others else ()
        return Match(fault, others, self.marks, self.vetoed)


NOTHING = Match()
KEPT = 4096  # shapes, and lines whose digits count
LONGEST = 1024  # bytes of a line that is remembered


class _Varied:
    """A shape whose lines differ by the digits from byte `since` on: what they have, by what stands there."""

    def __init__(self, since: int) -> None:
        self.since = since
        self.by_rest: dict[bytes, Match] = {}


class Remembered:
    """What lines had. Lines of one shape (`digits.SHAPE`) have the same, as far as patterns are blind to digits."""

    def __init__(self) -> None:
        self._known: dict[bytes, Match | _Varied] = {}
        self._kept = 0

    def match(self, shape: bytes, raw: bytes) -> Match | None:
        """What the line has, if one like it was seen."""
        known = self._known.get(shape)
        if isinstance(known, _Varied):
            known = known.by_rest.get(raw[known.since :])
        return known.again(raw) if known is not None else None

    def keep(self, shape: bytes, raw: bytes, found: Match, since: int | None) -> None:
        """Remember what a line had. `since`: the byte from which on its digits count; `None` where none does.

        Lines of one shape may count digits from different bytes on; the first of these bytes is right for all.
        """
        if len(raw) > LONGEST:
            return
        if self._kept >= KEPT:
            self._known.clear()
            self._kept = 0
        self._kept += 1
        if since is None:
            self._known[shape] = found
            return
        varied = self._known.get(shape)
        if not isinstance(varied, _Varied) or varied.since > since:
            varied = self._known[shape] = _Varied(since)
        varied.by_rest[raw[varied.since :]] = found

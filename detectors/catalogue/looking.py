"""What does one line have? Its signatures, once look-alikes and precedence have spoken.

What it is asked for is noted: from that follows whether other lines of the same shape have the same.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from detectors.catalogue import linear
from detectors.catalogue.catalogue import Catalogue, Lookalike
from detectors.catalogue.entries import SITE, Signature
from detectors.catalogue.hits import NOTHING, Hit, Match
from detectors.catalogue.refining import looks_closer, refined
from detectors.catalogue.role import Role

TRACEBACK = "traceback"
RANK_MAP = "rank_map"
ADDRESS = "address"
MARKS = (
    (TRACEBACK, r"Traceback \(most recent call last\)|^Exception ignored in: "),
    (RANK_MAP, r"NCCL INFO (?:ncclCommInit\w*(?:_impl)? )?comm 0x[0-9a-f]+ rank \d+ n[rR]anks \d+ cudaDev \d+"),
    (ADDRESS, r"Bootstrap ?: Using [^:\s]+:[0-9a-fA-F.:]+<\d+>"),
)
"""Lines that prove nothing and are needed: the start of a traceback, who runs where, whose address it is."""

_STRENGTH = {Role.ROOT: 0, Role.CANDIDATE: 1, Role.CONFIRM: 2, Role.SECONDARY: 3, Role.NONE: 4}
_CAUSES = (Role.ROOT, Role.CANDIDATE)
_UPTIME = re.compile(r"^(?:<\d{1,4}>)?\[\s*(\d{1,12}\.\d{1,9})\]", re.ASCII)
_NO_MARKS: frozenset[str] = frozenset()
Plan = tuple[tuple[int, ...], tuple[int, ...]]


class Compiled(Protocol):
    """A whole catalogue, compiled."""

    known: Catalogue
    signatures: tuple[Signature, ...]
    lookalikes: tuple[Lookalike, ...]
    losers: dict[str, set[str]]

    def plan(self, candidates: tuple[int, ...]) -> Plan:
        """The signatures in the order in which they are looked for, and the marks."""

    def alike(self, raw: bytes) -> Sequence[int]:
        """Which look-alikes the line may have."""

    def exact(self, pattern: str) -> linear.Exact | linear.Quick:
        """One pattern."""

    def counts_from(self, pattern: str, raw: bytes) -> int | None:
        """From which byte on the digits of the line count for the pattern; `None` when none does."""


class Look:
    """One look at one line."""

    def __init__(self, compiled: Compiled, raw: bytes) -> None:
        self._of = compiled
        self._raw = raw
        self._asked: set[str] = set()
        self._told: list[int] = []  # bytes from which on digits count, beside those of patterns

    def match(self, candidates: Sequence[int], closing: bool) -> Match:
        """What the line has."""
        numbers, marked = self._of.plan(tuple(candidates))
        marks = self._marks(marked) if marked else _NO_MARKS
        hits = self._hits(numbers)
        if not hits:
            return Match(marks=marks) if marks else NOTHING
        faults = [hit for hit in hits if hit.signature.is_fault]
        if not faults:
            return Match(None, tuple(hits), marks)
        others = tuple(hit for hit in hits if not hit.signature.is_fault)
        faults, vetoed = self._doubted(faults, closing)
        return Match(min(faults, key=_strength) if faults else None, others, marks, vetoed)

    def since(self) -> int | None:
        """From which byte on the line's digits count for what `match` gave; `None` when none does."""
        places = (self._of.counts_from(pattern, self._raw) for pattern in self._asked)
        return min((place for place in (*self._told, *places) if place is not None), default=None)

    def _marks(self, numbers: Iterable[int]) -> frozenset[str]:
        return frozenset(MARKS[number][0] for number in numbers if self._search(MARKS[number][1]) is not None)

    def _hit(self, number: int) -> Hit | None:
        signature = self._of.signatures[number]
        found = self._search(signature.pattern)
        if found is None or (signature.unless and self._search(signature.unless) is not None):
            return None
        return Hit(signature, found.words, found.start, found.end, signature.role, spans=found.spans)

    def _search(self, pattern: str) -> linear.Found | None:
        self._asked.add(pattern)
        return self._of.exact(pattern).search(self._raw)

    def _hits(self, numbers: Iterable[int]) -> list[Hit]:
        """The exact matches without the losers of the precedence, each seen at a second look."""
        hits: list[Hit] = []
        present: set[str] = set()
        for number in numbers:
            name = self._of.signatures[number].id
            winners = self._of.losers.get(name)
            if winners and (not winners.isdisjoint(present) or ("*" in winners and _any_fault(hits))):
                continue
            if (hit := self._hit(number)) is not None:
                present.add(name)
                hits.append(self._second_look(hit))
        return hits

    def _second_look(self, hit: Hit) -> Hit:
        if looks_closer(hit.signature.id):
            self._told.append(hit.start)
        name = refined(hit.signature.id, hit.words)
        if name == hit.signature.id:
            return hit
        signature = self._of.known.signature(name)
        return hit._replace(signature=signature, role=signature.role)

    def _doubted(self, faults: list[Hit], closing: bool) -> tuple[list[Hit], tuple[str, ...]]:
        """What look-alikes leave of the faults of a line, and which of them took a cause away."""
        vetoed: list[str] = []
        for number in sorted(self._of.alike(self._raw)):
            alike = self._of.lookalikes[number]
            found = self._search(alike.pattern)
            if found is None or alike.mode == "table" or not self._holds(alike):
                continue
            if alike.unless and self._search(alike.unless) is not None:
                continue
            if closing and alike.scope != "span" and alike.mode not in ("tag", "demote"):
                continue
            span = (found.start, found.end) if alike.scope == "span" else (0, len(self._raw))
            causes = sum(hit.role in _CAUSES for hit in faults)
            faults = [left for hit in faults if (left := _judged(hit, alike, span)) is not None]
            if sum(hit.role in _CAUSES for hit in faults) < causes:
                vetoed.append(alike.id)
        return faults, tuple(vetoed)

    def _holds(self, alike: Lookalike) -> bool:
        """Whether a look-alike's own condition holds."""
        if not alike.uptime_below_seconds:
            return True
        self._told.append(0)
        found = _UPTIME.match(self._raw[:40].decode("ascii", "replace"))
        return found is not None and float(found[1]) < alike.uptime_below_seconds


def _any_fault(hits: Iterable[Hit]) -> bool:
    return any(hit.signature.is_fault for hit in hits)


def _judged(hit: Hit, alike: Lookalike, span: tuple[int, int]) -> Hit | None:
    """The hit after one look-alike: as it is, weaker, marked, or `None`."""
    if alike.mode == "tag":
        return hit._replace(tags=(*hit.tags, alike.id))
    if alike.mode == "state":
        return None
    if hit.role not in _CAUSES or not (span[0] <= hit.start and hit.end <= span[1]):
        return hit
    if alike.mode in ("veto", "count"):
        return None
    return hit._replace(role=Role.SECONDARY)


def _strength(hit: Hit) -> tuple[bool, int, bool, float, int, str]:
    """Roots before candidates, ours before a site's; then the surer, then the one that caught more of the line.

    A site's own that says so comes before all others, unless a look-alike has made it weaker.
    """
    signature = hit.signature
    outranks = signature.outranks and hit.role is signature.role
    return (
        not outranks,
        _STRENGTH[hit.role],
        signature.group == SITE,
        -signature.confidence,
        hit.start - hit.end,
        signature.id,
    )

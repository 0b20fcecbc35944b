"""Which signatures does a line have, once look-alikes and precedence have spoken?

All patterns are looked for in one pass (`linear.Many`); only what may be there is searched by itself, which also
gives the caught words. Look-alikes are a second set, asked only about lines with a fault.
"""

import functools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from detectors.catalogue import linear
from detectors.catalogue.catalogue import Catalogue, Lookalike, catalogue
from detectors.catalogue.entries import SITE, CatalogueError, Signature
from detectors.catalogue.refining import refined
from detectors.catalogue.role import Role
from detectors.catalogue.sieve import Sieve

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


@dataclass(frozen=True, slots=True)
class Hit:
    """A signature of a line. `words`: what its groups caught; `start` and `end`: bytes of the encoded line.

    `role` is the signature's, or weaker when a look-alike says so; `tags` names look-alikes that mark it.
    """

    signature: Signature
    words: dict[str, str]
    start: int
    end: int
    role: Role
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """What a line has. `fault`: the strongest symptom; `others`: steps, checkpoints, phases and ends.

    `vetoed`: the look-alikes that took a cause away from it, or made it a victim's.
    """

    fault: Hit | None = None
    others: tuple[Hit, ...] = ()
    marks: frozenset[str] = frozenset()
    vetoed: tuple[str, ...] = ()


NOTHING = Match()
_NO_MARKS: frozenset[str] = frozenset()
PLANS_KEPT = 1024  # sets of candidates: few are ever seen
_Plan = tuple[tuple[int, ...], tuple[int, ...]]


class Matcher:
    """A whole catalogue, compiled. One per process and version is enough: it may be used by threads.

    `like`: the matcher of the shipped catalogue, whose compiled patterns are used again for the same ones.
    """

    def __init__(self, known: Catalogue, like: "Matcher | None" = None) -> None:
        self._known = known
        self._like = like
        self._signatures = known.signatures
        self._lookalikes = known.lookalikes
        patterns = [s.pattern for s in self._signatures] + [mark for _, mark in MARKS]
        needs = {number: s.needs for number, s in enumerate(self._signatures) if s.needs}
        self.candidates = linear.Many(patterns, needs).candidates
        self.sieve = Sieve(patterns)
        self._alike = linear.Many([alike.pattern for alike in self._lookalikes]).candidates
        self._exact: dict[str, linear.Exact | linear.Quick] = {}
        self.patterns = frozenset(_all_patterns(known))
        self._quick = frozenset(s.pattern for s in self._signatures if s.quick)
        self._losers = _losers(known)
        self._order = [_depth(s.id, self._losers) for s in self._signatures]  # winners are looked at first
        self._plans: dict[tuple[int, ...], _Plan] = {}
        self.names = frozenset(s.id for s in (*known.signatures, *known.derived))

    def match(self, raw: bytes, candidates: Sequence[int], closing: bool = False) -> Match:
        """What the encoded line `raw` has, given what `candidates(raw)` gave.

        `closing`: the line ends a traceback, so that no look-alike may hide it.
        """
        numbers, marked = self._plan(tuple(candidates))
        marks = self._marks(marked, raw) if marked else _NO_MARKS
        hits = self._hits(numbers, raw)
        if not hits:
            return Match(marks=marks) if marks else NOTHING
        faults = [hit for hit in hits if hit.signature.is_fault]
        if not faults:
            return Match(None, tuple(hits), marks)
        others = tuple(hit for hit in hits if not hit.signature.is_fault)
        faults, vetoed = self._doubted(faults, raw, closing)
        return Match(min(faults, key=_strength) if faults else None, others, marks, vetoed)

    def _plan(self, candidates: tuple[int, ...]) -> _Plan:
        """The signatures in the order in which they are looked for, and the marks."""
        plan = self._plans.get(candidates)
        if plan is None:
            count = len(self._signatures)
            numbers = sorted((n for n in candidates if n < count), key=self._order.__getitem__)
            plan = tuple(numbers), tuple(n - count for n in candidates if n >= count)
            if len(self._plans) >= PLANS_KEPT:
                self._plans.clear()
            self._plans[candidates] = plan
        return plan

    def _marks(self, numbers: Iterable[int], raw: bytes) -> frozenset[str]:
        return frozenset(MARKS[number][0] for number in numbers if self._search(MARKS[number][1], raw) is not None)

    def _hit(self, number: int, raw: bytes) -> Hit | None:
        signature = self._signatures[number]
        found = self._search(signature.pattern, raw)
        if found is None or (signature.unless and self._search(signature.unless, raw) is not None):
            return None
        return Hit(signature, found.words, found.start, found.end, signature.role)

    def _search(self, pattern: str, raw: bytes) -> linear.Found | None:
        return (self._exact.get(pattern) or self._compiled(pattern)).search(raw)

    def _compiled(self, pattern: str) -> linear.Exact | linear.Quick:
        """One pattern, compiled at its first use."""
        exact: linear.Exact | linear.Quick
        if self._like is not None and pattern in self._like.patterns:
            exact = self._like._exact.get(pattern) or self._like._compiled(pattern)
        else:
            exact = linear.Quick(pattern) if pattern in self._quick else linear.Exact(pattern)
        self._exact[pattern] = exact
        return exact

    def _hits(self, numbers: Iterable[int], raw: bytes) -> list[Hit]:
        """The exact matches without the losers of the precedence, each seen at a second look."""
        hits: list[Hit] = []
        present: set[str] = set()
        for number in numbers:
            name = self._signatures[number].id
            winners = self._losers.get(name)
            if winners and (not winners.isdisjoint(present) or ("*" in winners and _any_fault(hits))):
                continue
            if (hit := self._hit(number, raw)) is not None:
                present.add(name)
                hits.append(self._second_look(hit))
        return hits

    def _second_look(self, hit: Hit) -> Hit:
        name = refined(hit.signature.id, hit.words)
        if name == hit.signature.id:
            return hit
        signature = self._known.signature(name)
        return replace(hit, signature=signature, role=signature.role)

    def _doubted(self, faults: list[Hit], raw: bytes, closing: bool) -> tuple[list[Hit], tuple[str, ...]]:
        """What look-alikes leave of the faults of a line, and which of them took a cause away."""
        vetoed: list[str] = []
        for number in sorted(self._alike(raw)):
            alike = self._lookalikes[number]
            found = self._search(alike.pattern, raw)
            if found is None or alike.mode == "table" or not _holds(alike, raw):
                continue
            if alike.unless and self._search(alike.unless, raw) is not None:
                continue
            if closing and alike.scope != "span" and alike.mode not in ("tag", "demote"):
                continue
            span = (found.start, found.end) if alike.scope == "span" else (0, len(raw))
            causes = sum(hit.role in _CAUSES for hit in faults)
            faults = [left for hit in faults if (left := _judged(hit, alike, span)) is not None]
            if sum(hit.role in _CAUSES for hit in faults) < causes:
                vetoed.append(alike.id)
        return faults, tuple(vetoed)


def matcher(known: Catalogue | None = None) -> Matcher:
    """The matcher of a catalogue (default: the shipped one), compiled at its first use in this process."""
    shipped = _shipped()
    if known is None or known.version == catalogue().version:
        return shipped
    found = _extended.get(known.version)
    if found is None:
        found = _extended.setdefault(known.version, Matcher(known, like=shipped))
    return found


def forget_except(versions: Collection[str]) -> None:
    """Drop the matchers of catalogues with a site's own signatures whose version is none of these."""
    for version in [version for version in list(_extended) if version not in versions]:
        _extended.pop(version, None)


_extended: dict[str, Matcher] = {}


@functools.cache
def _shipped() -> Matcher:
    return Matcher(catalogue())


def _all_patterns(known: Catalogue) -> Iterable[str]:
    for one in known.signatures:
        yield from (one.pattern, one.unless)
    for alike in known.lookalikes:
        yield from (alike.pattern, alike.unless)
    yield from (mark for _, mark in MARKS)


def _losers(known: Catalogue) -> dict[str, set[str]]:
    """For every signature that gives way: the names it gives way to; `cuda.*` is written out."""
    losers: dict[str, set[str]] = {}
    for winner, loser in known.precedence:
        if winner != "*" and winner.endswith("*"):
            names = {s.id for s in known.signatures if s.id.startswith(winner[:-1])}
        else:
            names = {winner}
        losers.setdefault(loser, set()).update(names - {loser})
    return losers


def _depth(name: str, losers: Mapping[str, set[str]], seen: frozenset[str] = frozenset()) -> int:
    """How many signatures may stand above this one, one above the other. Raises `CatalogueError` on a circle."""
    if name in seen:
        raise CatalogueError(f"The precedence goes round in a circle at '{name}'.")
    above = losers.get(name, set())
    if "*" in above:
        return len(losers) + 1
    return 1 + max((_depth(winner, losers, seen | {name}) for winner in above), default=-1)


def _any_fault(hits: Iterable[Hit]) -> bool:
    return any(hit.signature.is_fault for hit in hits)


def _holds(alike: Lookalike, raw: bytes) -> bool:
    """Whether a look-alike's own condition holds."""
    if not alike.uptime_below_seconds:
        return True
    found = _UPTIME.match(raw[:40].decode("ascii", "replace"))
    return found is not None and float(found[1]) < alike.uptime_below_seconds


def _judged(hit: Hit, alike: Lookalike, span: tuple[int, int]) -> Hit | None:
    """The hit after one look-alike: as it is, weaker, marked, or `None`."""
    if alike.mode == "tag":
        return replace(hit, tags=(*hit.tags, alike.id))
    if alike.mode == "state":
        return None
    if hit.role not in _CAUSES or not (span[0] <= hit.start and hit.end <= span[1]):
        return hit
    if alike.mode in ("veto", "count"):
        return None
    return replace(hit, role=Role.SECONDARY)


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

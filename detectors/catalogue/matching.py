"""Which signatures does a line have, once look-alikes and precedence have spoken?

All patterns are looked for in one pass (`linear.Many`); only what may be there is searched by itself, which also
gives the caught words. Look-alikes are a second set, asked only about lines with a fault.
"""

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence

from detectors.catalogue import linear
from detectors.catalogue.catalogue import Catalogue, catalogue
from detectors.catalogue.digits import SHAPE, blind
from detectors.catalogue.entries import CatalogueError
from detectors.catalogue.hits import Match, Remembered
from detectors.catalogue.looking import MARKS, Look, Plan
from detectors.catalogue.sieve import Sieve

PLANS_KEPT = 1024  # sets of candidates: few are ever seen


class Matcher:
    """A whole catalogue, compiled. One per process and version is enough: it may be used by threads.

    `like`: the matcher of the shipped catalogue, whose compiled patterns are used again for the same ones.
    """

    def __init__(self, known: Catalogue, like: "Matcher | None" = None) -> None:
        self.known = known
        self._like = like
        self.signatures = known.signatures
        self.lookalikes = known.lookalikes
        patterns = [s.pattern for s in self.signatures] + [mark for _, mark in MARKS]
        needs = {number: s.needs for number, s in enumerate(self.signatures) if s.needs}
        self.candidates = linear.Many(patterns, needs).candidates
        self.sieve = Sieve(patterns)
        self.alike = linear.Many([alike.pattern for alike in self.lookalikes]).candidates
        self._exact: dict[str, linear.Exact | linear.Quick] = {}
        self._blind: dict[str, linear.Exact | tuple[()] | None] = {}
        self._remembered = (Remembered(), Remembered())  # of lines that end no traceback, and of those that do
        self.patterns = frozenset(_all_patterns(known))
        self._quick = frozenset(s.pattern for s in self.signatures if s.quick)
        self.losers = _losers(known)
        self._order = [_depth(s.id, self.losers) for s in self.signatures]  # winners are looked at first
        self._plans: dict[tuple[int, ...], Plan] = {}
        self.names = frozenset(s.id for s in (*known.signatures, *known.derived))

    def match(self, raw: bytes, candidates: Sequence[int], closing: bool = False) -> Match:
        """What the encoded line `raw` has, given what `candidates(raw)` gave.

        `closing`: the line ends a traceback, so that no look-alike may hide it. A line that differs from one before
        in digits alone, to which the patterns are blind, has the same, and only its words are cut out.
        """
        remembered, shape = self._remembered[closing], raw.translate(SHAPE)
        known = remembered.match(shape, raw)
        if known is None:
            look = Look(self, raw)
            known = look.match(candidates, closing)
            remembered.keep(shape, raw, known, look.since())
        return known

    def plainly(self, raw: bytes, candidates: Sequence[int], closing: bool = False) -> Match:
        """The same as `match`, without memory of other lines."""
        return Look(self, raw).match(candidates, closing)

    def plan(self, candidates: tuple[int, ...]) -> Plan:
        """The signatures in the order in which they are looked for, and the places of marks in `MARKS`."""
        plan = self._plans.get(candidates)
        if plan is None:
            count = len(self.signatures)
            numbers = sorted((n for n in candidates if n < count), key=self._order.__getitem__)
            plan = tuple(numbers), tuple(n - count for n in candidates if n >= count)
            if len(self._plans) >= PLANS_KEPT:
                self._plans.clear()
            self._plans[candidates] = plan
        return plan

    def exact(self, pattern: str) -> linear.Exact | linear.Quick:
        """One pattern of the catalogue, compiled at its first use."""
        return self._exact.get(pattern) or self._compiled(pattern)

    def counts_from(self, pattern: str, raw: bytes) -> int | None:
        """From which byte on the digits of the line count for the pattern; `None` when none does."""
        if pattern not in self._blind:
            around = blind(pattern)
            self._blind[pattern] = None if around is None else () if around.same else linear.Exact(around.pattern)
        around_it = self._blind[pattern]
        if around_it is None:
            return 0
        found = around_it.search(raw) if isinstance(around_it, linear.Exact) else None
        return None if found is None else found.start

    def _compiled(self, pattern: str) -> linear.Exact | linear.Quick:
        exact: linear.Exact | linear.Quick
        if self._like is not None and pattern in self._like.patterns:
            exact = self._like._exact.get(pattern) or self._like._compiled(pattern)
        else:
            exact = linear.Quick(pattern) if pattern in self._quick else linear.Exact(pattern)
        self._exact[pattern] = exact
        return exact


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

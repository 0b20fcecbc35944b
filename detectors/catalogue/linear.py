"""Which patterns may run on hostile text, and how are they run?

Only those that RE2 takes: its time grows with the length of the line, whatever the line says. Look-around and
repetition above 1,000 are refused; such a rule is split into a pattern and an `unless`.

Lines are matched as UTF-8 bytes in RE2's Latin-1 mode: a byte is a character there, so the automata stay small,
no text is invalid, and a literal of several bytes still matches itself.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import re2

from detectors.catalogue.literals import literals, without_digits

DIGITS = b"0123456789"
SEEN_LINES = 2048  # different lines, digits left out, whose candidates are remembered
SEEN_BYTES = 1024  # of such a line at most
_FILLER = re.compile(r"(?<!\\)(?:\.|\[\^\\n\])\{0,\d+\}")


class UnsafePattern(ValueError):
    """The linear engine refuses the pattern. The message is the rest of a sentence that begins with its name."""


def options() -> Any:
    """RE2's options for every pattern of ours."""
    chosen = re2.Options()
    chosen.encoding = re2.Options.Encoding.LATIN1
    chosen.log_errors = False
    return chosen


def encoded(text: str) -> bytes:
    """`text` as it is matched. Lone surrogates become question marks."""
    return text.encode("utf-8", "replace")


Spans = tuple[tuple[str, int, int], ...]
"""Named groups that caught something: name, first byte, and the byte behind the last."""


class Found(NamedTuple):
    """Where a pattern was found, in bytes of the encoded text, and what its named groups caught."""

    start: int
    end: int
    spans: Spans
    raw: bytes

    @property
    def words(self) -> dict[str, str]:
        """What the groups caught, by name."""
        return words_at(self.spans, self.raw)


def words_at(spans: Spans, raw: bytes) -> dict[str, str]:
    """What stands there."""
    return {name: raw[start:end].decode("utf-8", "replace") for name, start, end in spans}


class Exact:
    """One pattern, its fillers left open, searched in `encoded` text in linear time."""

    def __init__(self, pattern: str) -> None:
        """Raises `UnsafePattern`."""
        try:
            re2.compile(pattern.encode(), options())
            opened = re2.compile(widened(pattern).encode(), options())
        except (re2.error, UnicodeEncodeError) as error:
            raise UnsafePattern(f"cannot be run in linear time ({_words(error)}).") from error
        self._search, names = opened.search, opened.groupindex
        self._names = [(name.decode(), index) for name, index in names.items()]

    def search(self, raw: bytes) -> Found | None:
        """The leftmost place, `None` when there is none."""
        found = self._search(raw)
        if found is None:
            return None
        start, end = found.span()
        return Found(start, end, _spans(found, self._names), raw)


def _spans(found: Any, names: list[tuple[str, int]]) -> Spans:
    places = [(name, *found.span(index)) for name, index in names]
    return tuple(place for place in places if place[1] >= 0)


def _words(error: Exception) -> str:
    """What the engine says, which it gives as bytes."""
    said = error.args[0] if error.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(error)


class Quick:
    """One pattern, searched with Python's backtracking engine: only for patterns that a test proves harmless."""

    def __init__(self, pattern: str) -> None:
        compiled = re.compile(pattern.encode())
        self._search = compiled.search
        self._names = sorted(compiled.groupindex.items(), key=lambda named: named[1])

    def search(self, raw: bytes) -> Found | None:
        """The leftmost place, `None` when there is none."""
        found = self._search(raw)
        if found is None:
            return None
        start, end = found.span()
        return Found(start, end, _spans(found, self._names), raw)


def widened(pattern: str) -> str:
    """The pattern with its bounded fillers left open: `.{0,400}` costs an automaton 400 states, `.*` one.

    Bounds keep backtracking engines from being slow. Here they would do the opposite, and a line is bounded anyway.
    """
    return _FILLER.sub(".*", pattern)


class Many:
    """Many patterns looked for in one pass over a line.

    The pass finds the texts of which every match of a pattern holds one (`literals`); the patterns whose texts are
    there are then searched one by one. A single automaton over whole patterns is a little faster on dull lines, but
    its states fit no memory once lines vary, and then every line costs a hundredfold. Digits are left out, so that
    the lines of one statement of a program are the same, and looked at once.
    """

    def __init__(self, patterns: Sequence[str], needs: Mapping[int, str] | None = None) -> None:
        """`needs`: by number, a text of every match, for patterns that hold none of three characters."""
        self._owners: dict[bytes, list[int]] = {}
        self._always: list[int] = []
        self._digitless: dict[int, str | Exact | None] = {}  # compiled at the first use: most are never asked for
        for number, pattern in enumerate(patterns):
            need = (needs or {}).get(number)
            self._own(number, frozenset({need.encode()}) if need else literals(pattern))
            if (blind := without_digits(pattern)) is not None:
                self._digitless[number] = blind
        self._texts = list(self._owners)
        set_ = re2.Set.SearchSet(options())
        for text in self._texts:
            set_.Add(re2.escape(text))
        set_.Compile()
        self._match = set_.Match
        self._seen: dict[bytes, tuple[int, ...]] = {}

    def _own(self, number: int, texts: frozenset[bytes] | None) -> None:
        bare = {text.translate(None, DIGITS) for text in texts or (b"",)}
        if b"" in bare:
            self._always.append(number)
            return
        for text in bare:
            self._owners.setdefault(text, []).append(number)

    def candidates(self, raw: bytes) -> tuple[int, ...]:
        """The numbers of the patterns that the encoded text may hold, rising; usually none."""
        bare = raw.translate(None, DIGITS)
        found = self._seen.get(bare)
        if found is None:
            found = self._look(bare)
            if len(bare) <= SEEN_BYTES:
                if len(self._seen) >= SEEN_LINES:
                    self._seen.clear()
                self._seen[bare] = found
        return found

    def _look(self, bare: bytes) -> tuple[int, ...]:
        """The same for all texts that are this one without digits."""
        numbers = set(self._always)
        for place in self._match(bare) or ():
            numbers.update(self._owners[self._texts[place]])
        return tuple(number for number in sorted(numbers) if self._may_be_in(number, bare))

    def _may_be_in(self, number: int, bare: bytes) -> bool:
        exact = self._digitless.get(number)
        if isinstance(exact, str):
            exact = self._digitless[number] = _exact(exact)
        return exact is None or exact.search(bare) is not None


def _exact(pattern: str) -> Exact | None:
    """The pattern, compiled; `None` when it makes no sense, so that nothing is ruled out by it."""
    try:
        return Exact(pattern)
    except UnsafePattern:
        return None


def has_literal(pattern: str) -> bool:
    """Whether every match holds one of a few literals of at least three characters: what `Many` can filter by."""
    alone = re2.Filter()
    alone.Add(widened(pattern).encode(), options())
    alone.Add(b"a pattern beside it", options())  # a filter without any literal cannot be asked
    alone.Compile()
    return 0 not in (alone.Match(b"\x01", True) or [])

"""Which patterns may run on hostile text, and how are they run?

Only those that RE2 takes: its time grows with the length of the line, whatever the line says. Look-around and
repetition above 1,000 are refused; such a rule is split into a pattern and an `unless`.

Lines are matched as UTF-8 bytes in RE2's Latin-1 mode: a byte is a character there, so the automata stay small,
no text is invalid, and a literal of several bytes still matches itself.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import re2

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


@dataclass(frozen=True, slots=True)
class Found:
    """Where a pattern was found, in bytes of the encoded text, and what its named groups caught."""

    start: int
    end: int
    words: dict[str, str]


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
        caught = ((name, found[index]) for name, index in self._names)
        words = {name: word.decode("utf-8", "replace") for name, word in caught if word is not None}
        start, end = found.span()
        return Found(start, end, words)


def _words(error: Exception) -> str:
    """What the engine says, which it gives as bytes."""
    said = error.args[0] if error.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(error)


class Quick:
    """One pattern, searched with Python's backtracking engine: only for patterns that a test proves harmless."""

    def __init__(self, pattern: str) -> None:
        self._search = re.compile(pattern.encode()).search

    def search(self, raw: bytes) -> Found | None:
        """The leftmost place, `None` when there is none."""
        found = self._search(raw)
        if found is None:
            return None
        caught = found.groupdict()
        words = {name: word.decode("utf-8", "replace") for name, word in caught.items() if word is not None}
        return Found(found.start(), found.end(), words)


def widened(pattern: str) -> str:
    """The pattern with its bounded fillers left open: `.{0,400}` costs an automaton 400 states, `.*` one.

    Bounds keep backtracking engines from being slow. Here they would do the opposite, and a line is bounded anyway.
    """
    return _FILLER.sub(".*", pattern)


class Many:
    """Many patterns looked for in one pass over a line.

    The pass finds the literals that every match of a pattern must hold (RE2's filter); the patterns whose literals
    are all there are then searched one by one. A single automaton over whole patterns is a little faster on dull
    lines, but its states fit no memory once lines vary, and then every line costs a hundredfold.
    """

    def __init__(self, patterns: Sequence[str], needs: Mapping[int, str] | None = None) -> None:
        """`needs`: by number, a literal for patterns that hold none of three characters (`has_literal`)."""
        given = needs or {}
        self._numbers = [number for number in range(len(patterns)) if number not in given]
        self._short = [(literal.encode(), number) for number, literal in sorted(given.items())]
        filter_ = re2.Filter()
        for number in self._numbers:
            filter_.Add(widened(patterns[number]).encode(), options())
        filter_.Compile()
        self._candidates = filter_.Match

    def candidates(self, raw: bytes) -> list[int]:
        """The numbers of the patterns that the encoded text may hold, in no order; usually none."""
        found = self._candidates(raw, True)
        numbers = [self._numbers[one] for one in found] if found else []
        for literal, number in self._short:
            if literal in raw:
                numbers.append(number)
        return numbers


def has_literal(pattern: str) -> bool:
    """Whether every match holds one of a few literals of at least three characters: what `Many` can filter by."""
    alone = re2.Filter()
    alone.Add(widened(pattern).encode(), options())
    alone.Add(b"a pattern beside it", options())  # a filter without any literal cannot be asked
    alone.Compile()
    return 0 not in (alone.Match(b"\x01", True) or [])

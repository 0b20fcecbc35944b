"""Which patterns may run on hostile text, and how are they run?

Only those that RE2 takes: its time grows with the length of the line, whatever the line says. Look-around and
repetition above 1,000 are refused; such a rule is split into a pattern and an `unless`.

Lines are matched as UTF-8 bytes in RE2's Latin-1 mode: a byte is a character there, so the automata stay small,
no text is invalid, and a literal of several bytes still matches itself.
"""

import re
from dataclasses import dataclass
from typing import Any

import re2

_FILLER = re.compile(r"(?<!\\)(?:\.|\[\^\\n\])\{0,\d+\}\??")


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
    """One pattern, searched in `encoded` text in linear time."""

    def __init__(self, pattern: str) -> None:
        """Raises `UnsafePattern`."""
        try:
            self._search = re2.compile(pattern.encode(), options()).search
            names = re2.compile(pattern.encode(), options()).groupindex
        except (re2.error, UnicodeEncodeError) as error:
            raise UnsafePattern(f"cannot be run in linear time ({error}).") from error
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
    """A pattern that matches at least what `pattern` matches within one line, with bounded fillers left open.

    `.{0,400}` costs an automaton 400 states, `.*` one. What the wide form finds is checked with the exact one.
    """
    return _FILLER.sub(".*", pattern)


class Many:
    """Many patterns looked for in one pass over a line."""

    def __init__(self, patterns: list[str]) -> None:
        self._set = re2.Set.SearchSet(options())
        for pattern in patterns:
            self._set.Add(widened(pattern).encode())
        self._set.Compile()
        self.touched = self._set.Match
        """`touched(encoded text)`: the numbers of the patterns whose wide form is found, in no order, or `None`."""

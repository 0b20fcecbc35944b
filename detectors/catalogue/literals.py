"""Which short texts must a line hold, one of them at least, so that a pattern can be found in it?

Found from the pattern alone: what stands in it letter by letter, small sets of characters and alternatives written
out. The longest such texts are taken. What is not understood breaks the run of letters, so the answer may ask for
less than the pattern does, never for more.
"""

import functools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

ENOUGH = 24  # characters: a longer text finds no fewer lines
LONGEST = 16  # characters that are given of a text
SHORTEST = 2
RARE = 4  # shorter texts stand in every other line
MOST = 24  # texts written out for one run of letters
WITHIN = 200  # texts of all alternatives of one pattern

EVERYDAY = ("NCCL INFO ", "loss", "step ", "rank ", "epoch ", "iteration ")
"""Texts that lines without any meaning hold, too: taken only where there is nothing else."""

_CLASSES = {"d": "0123456789", "s": "\t\n\v\f\r "}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_HARMLESS = re.compile(r"\(\?P<\w+>|\{\d+(?:,\d*)?\}|a-z|A-Z|a-f|A-F|\\[bsnt\W]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_MAY_BE_DIGIT = re.compile(r"[\d.\\]|\[\^|\[[^\]]*-")
_NOWHERE = "bBAz"  # escapes that take no character
_REPEAT = re.compile(r"(?:[*+?]|\{(?P<least>\d+)(?P<open>,(?P<most>\d*))?\})[?]?")
_GROUP = re.compile(r"\?(?:P?<\w+>|(?P<on>[imsU]*)(?:-(?P<off>[imsU]+))?(?P<end>[:)]))")


class _Unclear(Exception):
    """A piece of syntax that is not understood here."""


@dataclass(frozen=True, slots=True)
class _Part:
    """What a part of a pattern asks for. `exact`: all that it matches; `needed`: one of these, at least."""

    exact: frozenset[str] | None = None
    needed: frozenset[str] | None = None


_ANYTHING = _Part()
_EMPTY = _Part(exact=frozenset({""}))


@functools.lru_cache(maxsize=4096)
def literals(pattern: str) -> frozenset[bytes] | None:
    """The texts as UTF-8; `None` when the pattern holds none of `SHORTEST` characters, or is not understood."""
    reader = _Pattern(pattern.encode().decode("latin-1"))
    try:
        needed = _best([reader.whole()])
    except _Unclear:
        return None
    if needed is None:
        return None
    cut = {text[:LONGEST].encode("latin-1") for text in needed if "\n" not in text}
    return frozenset(shortest(cut))


def shortest(texts: Collection[bytes]) -> list[bytes]:
    """Those that hold none of the others, sorted."""
    known = frozenset(texts)
    lengths = sorted({len(text) for text in known})
    return sorted(text for text in known if not any(_held(text, lengths, known)))


def _held(text: bytes, lengths: Sequence[int], known: Collection[bytes]) -> Iterator[bool]:
    """For each part of the text that is as long as one of the others whether it is one: a text knows few parts."""
    for length in lengths:
        if length >= len(text):
            return
        yield from (text[at : at + length] in known for at in range(len(text) - length + 1))


def without_digits(pattern: str) -> str | None:
    """The pattern as it is found in a line whose digits were left out, `None` when it may catch digits itself.

    Whoever catches no digit has no digit inside what it catches. What stood beside it may have been one, so that
    borders of words no longer count.
    """
    rest = _HARMLESS.sub("", pattern)
    if _MAY_BE_DIGIT.search(rest) is not None:
        return None
    return _ESCAPED.sub(lambda found: "" if found[1] == "b" else found[0], pattern)


def _goodness(texts: frozenset[str]) -> tuple[bool, int, int]:
    length = min(len(text) for text in texts)
    rare = length >= RARE and not any(text in word for text in texts for word in EVERYDAY)
    return rare, min(length, ENOUGH), -len(texts)


def _best(parts: Iterable[_Part]) -> frozenset[str] | None:
    """The best of what the parts ask for, all of which must be there."""
    asked = [texts for part in parts for texts in (part.exact, part.needed) if texts]
    usable = [texts for texts in asked if min(len(text) for text in texts) >= SHORTEST]
    return max(usable, key=_goodness, default=None)


class _Pattern:
    """A pattern in RE2's syntax, read from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._fold = False

    def whole(self) -> _Part:
        """All of it."""
        part = self._choice()
        if self._at < len(self._text):
            raise _Unclear
        return part

    def _choice(self) -> _Part:
        fold, branches = self._fold, [self._sequence()]
        while self._next("|"):
            branches.append(self._sequence())
        self._fold = fold
        if len(branches) == 1:
            return branches[0]
        exact = _union([branch.exact for branch in branches], MOST)
        return _Part(exact, _union([_best([branch]) for branch in branches], WITHIN))

    def _sequence(self) -> _Part:
        """Parts one after the other: a run of letters grows while all of it can be written out."""
        run, done, unbroken = frozenset({""}), list[_Part](), True
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            part, least, most = self._repeated()
            if part.exact is not None and (grown := _grown(run, part.exact, least, most)) is not None:
                run = grown
                continue
            unbroken = False
            before = _grown(run, part.exact, 1, 1) if part.exact is not None and least else None
            done.append(_Part(before or run, part.needed if least else None))
            run = part.exact if part.exact is not None and least and len(part.exact) <= MOST else frozenset({""})
        done.append(_Part(run))
        return _Part(run if unbroken else None, _best(done))

    def _repeated(self) -> tuple[_Part, int, int | None]:
        """The next part, and how often it stands there at least and at most."""
        part = self._one()
        found = _REPEAT.match(self._text, self._at)
        if found is None:
            return part, 1, 1
        self._at = found.end()
        if found["least"] is not None:
            least = int(found["least"])
            return part, least, (least if found["open"] is None else int(found["most"]) if found["most"] else None)
        return part, int(found[0][0] == "+"), 1 if found[0][0] == "?" else None

    def _one(self) -> _Part:
        character = self._text[self._at]
        self._at += 1
        if character == "(":
            return self._group()
        if character == "[":
            return self._set()
        if character == "\\":
            return self._escaped()
        if character == ".":
            return _ANYTHING
        return _EMPTY if character in "^$" else _letter(character, self._fold)

    def _escaped(self) -> _Part:
        character = self._text[self._at] if self._at < len(self._text) else ""
        self._at += 1
        if character in _CLASSES:
            return _Part(frozenset(_CLASSES[character]))
        if character in _CONTROLS:
            return _Part(frozenset({_CONTROLS[character]}))
        if character and character in "DSWw":
            return _ANYTHING
        if character and character in _NOWHERE:
            return _EMPTY
        if not character or character.isalnum():
            raise _Unclear
        return _Part(frozenset({character}))

    def _group(self) -> _Part:
        fold = self._fold
        if self._text.startswith("?", self._at):
            found = _GROUP.match(self._text, self._at)
            if found is None:
                raise _Unclear
            self._at = found.end()
            if found["end"] is not None:
                fold_within = ("i" in found["on"] or fold) and "i" not in (found["off"] or "")
                self._fold = fold_within
                if found["end"] == ")":
                    return _EMPTY
        part = self._choice()
        self._fold = fold
        if not self._next(")"):
            raise _Unclear
        return part

    def _set(self) -> _Part:
        """`[...]`: its characters when they are few."""
        end = self._text.find("]", self._at + (2 if self._text.startswith("^", self._at) else 1))
        while end > 0 and _is_escaped(self._text, end, self._at):
            end = self._text.find("]", end + 1)
        inside = self._text[self._at : end]
        if end < 0 or "[:" in inside:
            raise _Unclear
        self._at = end + 1
        members = None if inside.startswith("^") else _members(inside)
        if members is None or self._fold:
            return _ANYTHING
        return _Part(members)

    def _next(self, character: str) -> bool:
        """Step over the character if it stands there."""
        there = self._text.startswith(character, self._at)
        self._at += there
        return there


@functools.lru_cache(maxsize=1024)
def _letter(character: str, fold: bool) -> _Part:
    if not fold or not character.isalpha():
        return _Part(frozenset({character}))
    return _Part(frozenset({character.lower(), character.upper()})) if character.isascii() else _ANYTHING


def _is_escaped(text: str, place: int, start: int) -> bool:
    before = text[start:place]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _members(inside: str) -> frozenset[str] | None:
    """The characters of a set, `None` when they are too many or not understood."""
    found: set[str] = set()
    at = 0
    while at < len(inside):
        character, taken = inside[at], 1
        if character == "\\":
            character, taken = inside[at + 1 : at + 2], 2
            if character in _CLASSES:
                found.update(_CLASSES[character])
                at += 2
                continue
            if character.isalnum():
                character = _CONTROLS.get(character, "")
            if not character:
                return None
        at += taken
        if inside[at : at + 1] == "-" and at + 1 < len(inside):
            last = inside[at + 1]
            if last == "\\" or not 0 <= ord(last) - ord(character) < MOST:
                return None
            found.update(chr(code) for code in range(ord(character), ord(last) + 1))
            at += 2
        else:
            found.add(character)
    return frozenset(found) if len(found) <= MOST else None


def _grown(run: frozenset[str], exact: frozenset[str], least: int, most: int | None) -> frozenset[str] | None:
    """The run with the part behind it, each text written out; `None` when they are too many or have no end."""
    if most is None or most > ENOUGH or most < least:
        return None
    if least == most == 1:  # most parts are a letter
        return (
            frozenset([one + letter for one in run for letter in exact]) if len(run) * len(exact) <= MOST else None
        )
    grown: set[str] = set()
    for times in range(least, most + 1):
        if len(run) * len(exact) ** times > MOST:
            return None
        grown.update("".join(letters) for letters in product(run, *[exact] * times))
    return frozenset(grown) if len(grown) <= MOST else None


def _union(sets: Iterable[frozenset[str] | None], most: int) -> frozenset[str] | None:
    """All of them together; `None` when one is missing or they are too many."""
    together: set[str] = set()
    for texts in sets:
        if texts is None or len(together) + len(texts) > most:
            return None
        together |= texts
    return frozenset(together)

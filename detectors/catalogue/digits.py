"""Does a pattern tell one digit from another? Where it does not, lines that differ in digits alone are one to it.

Two lines have the same shape when they are equal once every digit is a zero. A pattern that takes all digits or
none wherever it takes a character is *blind*: it matches lines of one shape at the same places, groups included.
Every other pattern has a blind one around it, which is found wherever the pattern itself may be.
"""

import re
from typing import NamedTuple

SHAPE = bytes.maketrans(b"123456789", b"000000000")
"""`raw.translate(SHAPE)` is the shape of a line."""

_PIECE = re.compile(
    r"(?P<group>\(\?(?:P?<\w+>|[a-zA-Z\-]*[:)]))"  # names of groups may hold digits
    r"|(?P<times>\{\d+(?:,\d*)?\})"
    r"|(?P<escape>\\.)"
    r"|\[(?P<not>\^?)(?P<members>\]?(?:\\.|\[:\w+:\]|[^\]\\])*)\]"
    r"|(?P<digit>\d)"
    r"|(?P<other>.)",
    re.DOTALL | re.ASCII,
)
_MEMBER = re.compile(r"(?P<class>\\[dDsSwW]|\[:\w+:\])|(?P<first>\\?.)(?:-(?P<last>\\?[^\\\]]|\\.))?", re.DOTALL)
_ALL = frozenset("0123456789")
_NUMERIC = re.compile(r"\\[xpPQEC0-9]")  # escapes whose meaning is not in their second character alone


class Blind(NamedTuple):
    """A blind pattern, and whether it is the given one itself."""

    pattern: str
    same: bool


def blind(pattern: str) -> Blind | None:
    """The blind pattern around this one; `None` when its syntax is not understood here."""
    parts: list[str] = []
    for piece in _PIECE.finditer(pattern):
        kind = piece.lastgroup
        text = piece[0]
        if kind == "digit":
            text = r"\d"
        elif kind == "escape" and _NUMERIC.match(text):
            return None
        elif kind == "members":
            told = _set(piece["members"])
            if told is None:
                return None
            if told:
                rest = _without(piece["members"])
                if piece["not"] and (not rest or _set(rest) is not False):
                    return None
                text = f"[^{rest}]" if piece["not"] else f"[{rest}0-9]"
        parts.append(text)
    whole = "".join(parts)
    return Blind(whole, whole == pattern)


def _set(members: str) -> bool | None:
    """Whether a set of characters holds some digits and not all; `None` when it is not understood."""
    held: set[str] = set()
    for member in _MEMBER.finditer(members):
        if (named := member["class"]) is not None:
            if named in (r"\d", r"\w", r"\S", r"\D"):
                held |= _ALL if named != r"\D" else set()
            elif named not in (r"\s", r"\W"):
                return None
            continue
        first, last = member["first"], member["last"] or member["first"]
        if _NUMERIC.match(first) or _NUMERIC.match(last):
            return None
        held |= {digit for digit in _ALL if first[-1] <= digit <= last[-1]} if _is_plain(first, last) else set()
    return bool(held) and held != _ALL


def _is_plain(first: str, last: str) -> bool:
    """Whether neither end is an escape for a control character, which no digit lies between."""
    return not (len(first) > 1 and first[1].isalpha()) and not (len(last) > 1 and last[1].isalpha())


def _without(members: str) -> str:
    """The set without what holds digits: single ones, and ranges between them."""
    kept = []
    for member in _MEMBER.finditer(members):
        first, last = member["first"], member["last"]
        if first is not None and first in _ALL and (last is None or last in _ALL):
            continue
        kept.append(member[0])
    return "".join(kept)

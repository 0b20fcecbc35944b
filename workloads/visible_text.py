"""How does text that nobody can trust become text that cannot act?

Control characters, escape sequences, direction overrides and characters without width are replaced by a visible
stand-in. (Source of the set: Unicode general categories Cc, Cf, Cs, Co, Cn, Zl, Zp.)
"""

import unicodedata
from collections.abc import Iterator

MARKS_LIMIT = 3  # combining marks in a row; more of them paint over the neighbouring lines
_STRANGE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_MARKS = frozenset({"Mn", "Me"})


_NAMES = "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC"


def stand_in(character: str) -> str:
    """What is shown for one character that must not act: `⟨ESC⟩`, or `⟨U+202E⟩` for a direction override.

    Not the Unicode control pictures: many monospace fonts lack them, and an empty box says nothing.
    """
    names, code = _NAMES.split(), ord(character)
    return f"⟨{names[code]}⟩" if code < len(names) else f"⟨U+{code:04X}⟩"


def visible(text: object, limit: int) -> str:
    """The text with every acting character replaced by its stand-in, cut to `limit` characters. Tabs stay."""
    whole = str(text)
    if is_plain(whole, limit):
        return whole
    return "".join(part for part, _strange in visible_parts(whole, limit))


def is_plain(text: str, limit: int) -> bool:
    """Whether it is shown as it is, told without a look at each character: no page has many others."""
    return len(text) <= limit and text.isascii() and text.isprintable()


def visible_parts(text: str, limit: int) -> Iterator[tuple[str, bool]]:
    """Character by character what is shown, and whether it is no character of the text itself."""
    marks = 0
    for character in text[:limit]:
        category = unicodedata.category(character)
        marks = marks + 1 if category in _MARKS else 0
        if (category in _STRANGE and character != "\t") or marks > MARKS_LIMIT:
            yield stand_in(character), True
        else:
            yield character, False
    if len(text) > limit:
        yield f" … {len(text) - limit} more characters", True

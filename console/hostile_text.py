"""How is text that came from a log or a user shown so that it can neither hide nor pretend anything?

HTML escaping keeps markup out; it does not keep out what a terminal or the bidirectional algorithm obeys:
control characters, escape sequences, direction overrides, characters without width. All of those are shown
by a visible stand-in here. (Source of the set: Unicode general categories Cc, Cf, Cs, Co, Cn, Zl, Zp.)
"""

import unicodedata
from collections.abc import Iterator
from itertools import groupby

from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

LINE_LIMIT = 16384  # characters shown of one line: a line is stored with at most 16 KiB
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


def visible(text: object, limit: int = LINE_LIMIT) -> str:
    """The text with every acting character replaced by its stand-in, cut to `limit` characters. Tabs stay."""
    return "".join(part for part, _strange in _parts(str(text), limit))


def visible_html(text: object, limit: int = LINE_LIMIT) -> SafeString:
    """Like `visible`, escaped, with the stand-ins set apart as `<span class="stand-in">`."""
    shown = []
    for strange, parts in groupby(_parts(str(text), limit), key=lambda pair: pair[1]):
        joined = conditional_escape("".join(part for part, _ in parts))
        shown.append(f'<span class="stand-in">{joined}</span>' if strange else joined)
    return mark_safe("".join(shown))  # noqa: S308  # every part was escaped above


def visible_block(text: object, limit: int = LINE_LIMIT) -> SafeString:
    """Several lines, each like `visible_html`; the line ends stay line ends."""
    lines = str(text)[:limit].rstrip("\n").split("\n")
    return mark_safe("\n".join(visible_html(line) for line in lines))  # noqa: S308  # escaped by visible_html


def _parts(text: str, limit: int) -> Iterator[tuple[str, bool]]:
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

"""How is text that came from a log or a user shown so that it can neither hide nor pretend anything?

HTML escaping keeps markup out; it does not keep out what a terminal or the bidirectional algorithm obeys:
control characters, escape sequences, direction overrides, characters without width. All of those are shown
by a visible stand-in (`workloads.visible_text`).
"""

from itertools import groupby

from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

from workloads import visible_text

LINE_LIMIT = 16384  # characters shown of one line: a line is stored with at most 16 KiB


def visible(text: object, limit: int = LINE_LIMIT) -> str:
    """The text with every acting character replaced by its stand-in, cut to `limit` characters. Tabs stay."""
    return visible_text.visible(text, limit)


def visible_html(text: object, limit: int = LINE_LIMIT) -> SafeString:
    """Like `visible`, escaped, with the stand-ins set apart as `<span class="stand-in">`."""
    whole, shown = str(text), []
    if visible_text.is_plain(whole, limit):
        return conditional_escape(whole)
    for strange, parts in groupby(visible_text.visible_parts(whole, limit), key=lambda pair: pair[1]):
        joined = conditional_escape("".join(part for part, _ in parts))
        # stays English: markup
        shown.append(f'<span class="stand-in">{joined}</span>' if strange else joined)
    return mark_safe("".join(shown))  # noqa: S308  # every part was escaped above


def visible_block(text: object, limit: int = LINE_LIMIT) -> SafeString:
    """Several lines, each like `visible_html`; the line ends stay line ends."""
    lines = str(text)[:limit].rstrip("\n").split("\n")
    return mark_safe("\n".join(visible_html(line) for line in lines))  # noqa: S308  # escaped by visible_html

"""How do rows become a Markdown table that is straight in a terminal, whatever stands in its cells?"""

import re
from collections.abc import Sequence

CELL_LIMIT = 240  # characters: a sentence about a case, not a log
_BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")
# Within a word `_` is no markup, and names are full of it.
_SPECIAL = re.compile(r"([\\`*\[\]<>|#&~!$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")


def plain(words: str) -> str:
    """Words as a cell or a line of Markdown: one line, of bounded length, and nothing in it is markup."""
    told = _BREAKS.sub(" ", words)
    told = told if len(told) <= CELL_LIMIT else told[: CELL_LIMIT - 1] + "…"
    return _SPECIAL.sub(r"\\\1", told)


def rows(head: Sequence[str], body: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """A table of cells that are Markdown already; all but the first `left` columns are set to the right."""
    widths = [max(len(line[i]) for line in (head, *body)) for i in range(len(head))]
    rule = [f"{'-' * width}{'-' if i < left else ':'}".rjust(width + 1, "-") for i, width in enumerate(widths)]
    lines = ["| " + " | ".join(_set(cell, widths[i], i < left) for i, cell in enumerate(head)) + " |"]
    lines.append("|-" + "|-".join(rule) + "|")
    for line in body:
        lines.append("| " + " | ".join(_set(cell, widths[i], i < left) for i, cell in enumerate(line)) + " |")
    return lines


def _set(cell: str, width: int, left: bool) -> str:
    return cell.ljust(width) if left else cell.rjust(width)


def filled(head: Sequence[str], body: Sequence[Sequence[str]], empty: str) -> tuple[list[str], list[list[str]]]:
    """The table without the columns in which every cell is `empty`."""
    kept = [i for i in range(len(head)) if any(line[i] != empty for line in body)]
    return [head[i] for i in kept], [[line[i] for i in kept] for line in body]

"""How is a stored copy of a log read line by line?"""

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.models import Excerpt

LINES_SHOWN = 400  # around the asked offset; a copy of 256 KiB has thousands


@dataclass(frozen=True)
class CopiedLine:
    """One line of a copy: the byte offset of its first byte in the file, its text, whether it was asked for."""

    offset: int
    text: str
    asked: bool


@dataclass(frozen=True)
class LogCopy:
    """The part of a copy that is shown; `exact` tells whether the offsets are those of the file."""

    lines: tuple[CopiedLine, ...]
    exact: bool
    before: int
    after: int


def read_copy(excerpt: Excerpt, asked: int | None) -> LogCopy:
    """The lines around byte `asked`, or the last ones. Offsets are inexact after an undecodable byte."""
    lines = list(_lines(excerpt.offset, excerpt.text))
    place = len(lines) - 1
    if asked is not None:
        place = max((i for i, (offset, _) in enumerate(lines) if offset <= asked), default=0)
    first = max(0, min(place - LINES_SHOWN // 2, len(lines) - LINES_SHOWN))
    shown = lines[first : first + LINES_SHOWN]
    hit = lines[place][0] if lines and asked is not None else None
    return LogCopy(
        tuple(CopiedLine(offset, text, offset == hit) for offset, text in shown),
        "\N{REPLACEMENT CHARACTER}" not in excerpt.text,
        first,
        len(lines) - first - len(shown),
    )


def _lines(offset: int, text: str) -> Iterator[tuple[int, str]]:
    for line in text.removesuffix("\n").split("\n"):
        yield offset, line
        offset += len(line.encode("utf-8", "surrogatepass")) + 1

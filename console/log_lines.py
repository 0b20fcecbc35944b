"""Pure: how do the bytes of a log become lines on a page, each with its place, and which of them are shown?

Lines keep the byte offset of their first byte in the file. A line that is too long for a page is shown in parts, of
which the first bears its number. Secrets are masked before anything is cut, so that none is halved into view.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from detectors.catalogue.masking import masked_copy
from detectors.catalogue.texts import text_of

ROWS_SHOWN = 400
ROWS_AROUND = 200  # of them before a place that was asked for
PART = 2_000  # characters of one row
SEARCH_LIMIT = 100  # characters of what is searched for
LOST = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True)
class Row:
    """One line, or a part of a long one. `number`: of its line, where known, and only in its first part."""

    offset: int
    end: int
    text: str
    number: int | None = None
    part: bool = False  # it goes on from the row before
    asked: bool = False
    host: str = ""
    rank: str = ""
    pieces: tuple[tuple[str, bool], ...] = ()  # the text, and which of it was searched for

    @property
    def found(self) -> bool:
        """Whether it holds what was searched for."""
        return any(hit for _text, hit in self.pieces)


def rows_of(content: bytes, start: int, shown_from: int, number: int | None, *, masked: bool = False) -> list[Row]:
    """The rows of the lines from `shown_from` on; `start` is the offset of the first byte of `content`.

    What is in front of `shown_from` only tells what to mask. `number`: that of the line at `shown_from`. `masked`:
    it was masked already.
    """
    raw = content.removesuffix(b"\n").split(b"\n") if content else []
    text = "\n".join(text_of(line) for line in raw)
    lines = (text if masked else masked_copy(text)).split("\n") if raw else []
    rows: list[Row] = []
    offset, over = start, start + len(content)
    for line, written in zip(raw, lines, strict=True):
        end = min(over, offset + len(line) + 1)
        if end > shown_from:
            inside = len(written) > PART and offset < shown_from
            skipped = _characters(written, shown_from - offset) if inside else 0
            rows += _parts(line, written[skipped:], shown_from if inside else offset, end, number)
            if inside or (offset == start and start > 0):  # it began before
                at = len(rows) - -(-max(1, len(written) - skipped) // PART)
                rows[at] = replace(rows[at], part=True, number=None)
            number = None if number is None else number + 1
        offset = end
    return rows


def _characters(text: str, size: int) -> int:
    """How many characters the first `size` bytes of a text hold."""
    return len(text.encode("utf-8", "surrogatepass")[:size].decode("utf-8", "ignore"))


def _parts(raw: bytes, text: str, offset: int, last: int, number: int | None) -> Iterator[Row]:
    """Offsets inside a long line are exact unless it holds bytes that are no text."""
    if len(text) <= PART:
        yield Row(offset, last, text, number)
        return
    lost = 1 if LOST in text and LOST.encode() not in raw else 3
    for place in range(0, len(text), PART):
        part = text[place : place + PART]
        end = min(last, offset + len(part.encode("utf-8", "surrogatepass")) - part.count(LOST) * (3 - lost))
        end = last if place + PART >= len(text) else end
        yield Row(offset, end, part, number if not place else None, part=place > 0)
        offset = end


def asked_for(rows: Sequence[Row], at: int) -> int | None:
    """The place of the row that holds byte `at`; none when it lies in no row."""
    for place, row in enumerate(rows):
        if row.offset <= at < row.end:
            return place
    return None


def around(rows: Sequence[Row], place: int) -> tuple[int, int]:
    """From where to where rows are shown around one of them."""
    first = max(0, min(place - ROWS_AROUND, len(rows) - ROWS_SHOWN))
    return first, min(len(rows), first + ROWS_SHOWN)


def searched(text: str, wanted: str) -> tuple[tuple[str, bool], ...]:
    """The text in pieces, those that are what was searched for told apart; large and small letters are the same."""
    if not wanted:
        return ((text, False),)
    pieces: list[tuple[str, bool]] = []
    at = 0
    for found in re.finditer(re.escape(wanted[:SEARCH_LIMIT]), text, re.IGNORECASE):
        pieces += [(text[at : found.start()], False), (found[0], True)]
        at = found.end()
    return tuple(piece for piece in [*pieces, (text[at:], False)] if piece[0])

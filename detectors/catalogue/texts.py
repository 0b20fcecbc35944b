"""How are many lines held without splitting them? Most lines of a log are never looked at one by one."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import overload

from detectors.catalogue.records import Record

_INK = re.compile(rb"[!-~]")


def text_of(line: bytes) -> str:
    """The line as text that every database stores: no NUL, no lone surrogate."""
    return line.decode("utf-8", "replace").replace("\0", "\ufffd")


@dataclass(frozen=True, slots=True)
class Text:
    """Whole lines of one stream that were read at one moment: `raw` holds them with newlines between them.

    `offset` is the byte offset of the first one. Its lines are records with the same `read_at`, `host` and `rank`.
    """

    stream: str
    offset: int
    raw: bytes
    read_at: datetime
    host: str | None = None
    rank: int | None = None

    def record(self, start: int, end: int) -> Record:
        """The line from byte `start` of `raw` to `end`."""
        line = text_of(self.raw[start:end])
        return Record(self.stream, self.offset + start, line, self.read_at, self.host, self.rank)

    def __len__(self) -> int:
        return self.raw.count(b"\n") + 1

    def __iter__(self) -> Iterator[Record]:
        start = 0
        for line in self.raw.split(b"\n"):
            yield self.record(start, start + len(line))
            start += len(line) + 1

    @property
    def is_blank(self) -> bool:
        """Whether all of its lines are empty or spaces."""
        return _INK.search(self.raw) is None and not text_of(self.raw).strip()


class Lines(Sequence[Record]):
    """Records in reading order, as far as possible in texts: who takes them one by one splits them."""

    def __init__(self, pieces: Iterable[Text | Record]) -> None:
        self.pieces = tuple(pieces)

    def __len__(self) -> int:
        return sum(len(piece) if isinstance(piece, Text) else 1 for piece in self.pieces)

    def __iter__(self) -> Iterator[Record]:
        for piece in self.pieces:
            if isinstance(piece, Text):
                yield from piece
            else:
                yield piece

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | Sequence[Record]:
        return tuple(self)[index]


def pieces_of(records: Sequence[Record]) -> Sequence[Text | Record]:
    """The records, those of a text together."""
    return records.pieces if isinstance(records, Lines) else records


def joined(some: Iterable[Sequence[Record]]) -> Lines:
    """Records one after the other."""
    return Lines(piece for records in some for piece in pieces_of(records))


def size_of(records: Sequence[Record]) -> int:
    """How much text they are: bytes of texts, characters of single records."""
    return sum(len(piece.raw if isinstance(piece, Text) else piece.line) for piece in pieces_of(records))


def spoke_at(records: Sequence[Record]) -> datetime | None:
    """The newest read that brought a line of the job with anything in it; `None` when none did."""
    return max((piece.read_at for piece in pieces_of(records) if _is_alive(piece)), default=None)


def _is_alive(piece: Text | Record) -> bool:
    if isinstance(piece, Text):
        return not piece.is_blank
    return not piece.of_node and bool(piece.line.strip())

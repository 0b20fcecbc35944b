"""Which complete lines stand in a chunk of a log?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from detectors.catalogue.records import LINE_LIMIT

LINES_LIMIT = 50_000  # in one chunk: a log of empty lines must not become a million records at once
_BLOCK = LINE_LIMIT // 2


@dataclass(frozen=True)
class Split:
    """Whole lines, the bytes used up, and what goes on in the next chunk.

    `pieces`: the offset of the first byte and the bytes of one or more lines, with newlines between them only.
    `skipping`: the chunk ends inside a line whose beginning was taken already. `cut` counts the lines cut. `more`:
    complete lines are left, as there were more than one turn takes.
    """

    pieces: tuple[tuple[int, bytes], ...]
    used: int
    skipping: bool = False
    cut: int = 0
    more: bool = False

    @property
    def lines(self) -> tuple[tuple[int, bytes], ...]:
        """Each line by itself."""
        return tuple(
            (offset + start, line) for offset, raw in self.pieces for start, line in _with_starts(raw.split(b"\n"))
        )


def split(chunk: bytes, start: int, *, skipping: bool, take_rest: bool) -> Split:
    """Complete lines of a chunk that begins at byte `start` of its file, at most about `LINES_LIMIT`.

    A line without its newline waits, unless `take_rest`. One longer than `LINE_LIMIT` is taken at its carriage
    returns (a progress bar is one endless line), else cut, and its rest is skipped up to the newline.
    """
    at = 0
    if skipping:
        end = chunk.find(b"\n")
        if end < 0:
            return Split((), len(chunk), skipping=True)
        at = end + 1
    taken = _Taken([])
    last = chunk.rfind(b"\n", at)
    more = last >= 0 and chunk.count(b"\n", at) > LINES_LIMIT
    if more:
        last = len(chunk) - len(chunk[at:].split(b"\n", LINES_LIMIT)[-1]) - 1
    if last >= 0:
        taken.add(chunk[at:last], start + at)
        at = last + 1
    if more:
        return Split(tuple(taken.pieces), at, cut=taken.cut, more=True)
    return _rest(chunk, start, at, taken, take_rest)


@dataclass
class _Taken:
    pieces: list[tuple[int, bytes]]
    cut: int = 0

    def add(self, raw: bytes, start: int) -> None:
        """Take lines: together, as far as they are not too long."""
        if not _has_long(raw):
            self.pieces.append((start, raw))
            return
        begun = at = 0
        for line in raw.split(b"\n"):
            if len(line) > LINE_LIMIT:
                if at > begun:
                    self.pieces.append((start + begun, raw[begun : at - 1]))
                self._add_long(line, start + at)
                begun = at + len(line) + 1
            at += len(line) + 1
        if at > begun:
            self.pieces.append((start + begun, raw[begun:]))

    def _add_long(self, line: bytes, start: int) -> None:
        """The parts of a line between its carriage returns, each cut to the limit."""
        for part in line.split(b"\r"):
            if part:
                self.pieces.append((start, part[:LINE_LIMIT]))
                self.cut += len(part) > LINE_LIMIT
            start += len(part) + 1


def _with_starts(lines: Sequence[bytes]) -> Iterator[tuple[int, bytes]]:
    return zip(accumulate((len(line) + 1 for line in lines), initial=0), lines, strict=False)


def _has_long(raw: bytes) -> bool:
    """Whether a line may be longer than `LINE_LIMIT`: whichever is covers one of these blocks."""
    places = range(0, len(raw) - _BLOCK + 1, _BLOCK)
    return len(raw) > LINE_LIMIT and any(raw.find(b"\n", place, place + _BLOCK) < 0 for place in places)


def _rest(chunk: bytes, start: int, at: int, taken: _Taken, take_rest: bool) -> Split:
    """What stands behind the last newline."""
    drawn = chunk.rfind(b"\r", at) + 1
    if drawn:  # what a progress bar has drawn so far is complete
        taken.add(chunk[at : drawn - 1], start + at)
        at = drawn
    rest = chunk[at:]
    if len(rest) >= LINE_LIMIT:
        taken.pieces.append((start + at, rest[:LINE_LIMIT]))
        return Split(tuple(taken.pieces), len(chunk), skipping=True, cut=taken.cut + 1)
    if rest and take_rest:
        taken.pieces.append((start + at, rest))
        at = len(chunk)
    return Split(tuple(taken.pieces), at, cut=taken.cut)

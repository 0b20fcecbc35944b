"""Which complete lines stand in a chunk of a log?"""

from dataclasses import dataclass

from detectors.catalogue.records import LINE_LIMIT

LINES_LIMIT = 50_000  # in one chunk: a log of empty lines must not become a million records at once


@dataclass(frozen=True)
class Split:
    """Lines with the offset of their first byte, the bytes used up, and what goes on in the next chunk.

    `skipping`: the chunk ends inside a line whose beginning was taken already. `cut` counts the lines cut. `more`:
    complete lines are left, as there were more than one turn takes.
    """

    lines: tuple[tuple[int, bytes], ...]
    used: int
    skipping: bool = False
    cut: int = 0
    more: bool = False


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
    *complete, rest = chunk[at:].split(b"\n", LINES_LIMIT)
    for line in complete:
        taken.add(line, start + at)
        at += len(line) + 1
    if b"\n" in rest:  # there is more than one turn takes
        return Split(tuple(taken.lines), at, cut=taken.cut, more=True)
    return _rest(chunk, start, at, taken, take_rest)


def text_of(line: bytes) -> str:
    """The line as text that every database stores: no NUL, no lone surrogate."""
    return line.decode("utf-8", "replace").replace("\0", "\ufffd")


@dataclass
class _Taken:
    lines: list[tuple[int, bytes]]
    cut: int = 0

    def add(self, line: bytes, start: int) -> None:
        """Take a line, or its parts between carriage returns when it is too long, each cut to the limit."""
        if len(line) <= LINE_LIMIT:
            self.lines.append((start, line))
            return
        for part in line.split(b"\r"):
            if part:
                self.lines.append((start, part[:LINE_LIMIT]))
                self.cut += len(part) > LINE_LIMIT
            start += len(part) + 1


def _rest(chunk: bytes, start: int, at: int, taken: _Taken, take_rest: bool) -> Split:
    """What stands behind the last newline."""
    drawn = chunk.rfind(b"\r", at) + 1
    if drawn:  # what a progress bar has drawn so far is complete
        taken.add(chunk[at : drawn - 1], start + at)
        at = drawn
    rest = chunk[at:]
    if len(rest) >= LINE_LIMIT:
        taken.lines.append((start + at, rest[:LINE_LIMIT]))
        return Split(tuple(taken.lines), len(chunk), skipping=True, cut=taken.cut + 1)
    if rest and take_rest:
        taken.lines.append((start + at, rest))
        at = len(chunk)
    return Split(tuple(taken.lines), at, cut=taken.cut)

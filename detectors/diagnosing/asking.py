"""Which lines of a block are looked at, and which of them say again what others said?"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from detectors.catalogue.cleaning import clean
from detectors.catalogue.linear import encoded
from detectors.catalogue.matching import matcher
from detectors.catalogue.texts import text_of
from detectors.catalogue.tracebacks import Tracebacks
from detectors.diagnosing.blocks import Block

KEEP, REPEATED, MOVES = 0, 1, 2
REPETITIONS = 5  # of one speaker: so many lines are kept as evidence of a symptom
BEGINNING = 32  # bytes of a line that tell who speaks
CLOSE, UNASKED = 8, 64  # so many lines found one after the other: so many are taken without the sieve
_HEADS = (b"Traceback (most", b"Exception ignored in")
_LABELLED = re.compile(r"(?P<label>[A-Za-z][\w.\-]{0,64}): (?P<rest>.*)", re.ASCII | re.DOTALL)


class Often:
    """What speakers repeat while nothing moves; `count` of it is left out. `folding` has the same for all streams.

    A line is a repetition when its beginning is the same and the rest differs in numbers alone.
    """

    def __init__(self) -> None:
        self.count = 0
        self._seen: dict[tuple[bytes, bytes], int] = {}

    def is_too_often(self, line: bytes, sort: int) -> bool:
        """Whether what is kept of the lines before says as much."""
        if sort == MOVES:
            self._seen.clear()
        if sort != REPEATED:
            return False
        key = (line[:BEGINNING], line.translate(None, b"0123456789"))
        times = self._seen[key] = self._seen.get(key, 0) + 1
        self.count += times > REPETITIONS
        return times > REPETITIONS


def asked(block: Block, offsets: Sequence[int], sieve: "Sieve") -> Iterator[int]:
    """The places of the lines that are looked at, of those that begin at `offsets`.

    All of them while an error report or a line in parts is open, else those that the one pass over the block finds.
    Where it finds one line after the other, the next ones are taken without it: it only saves work.
    """
    find, content, start = matcher().sieve.find, block.content, block.start
    index = close = unasked = 0
    while index < len(offsets):
        if unasked > 0:
            unasked -= 1
        elif not sieve.is_open:
            at = find(content, offsets[index] - start)
            if at < 0:
                return
            found = bisect_right(offsets, start + at, index) - 1
            close = close + 1 if found == index else 0
            unasked = UNASKED if close >= CLOSE else 0
            index = found
        yield index
        index += 1


class Sieve:
    """Lines in their order; an error report that has begun keeps every line until it ends.

    `going_on`: the line looked at last is a part of one, or of a line that was cut.
    """

    def __init__(self, lead: bytes) -> None:
        self.going_on = False
        self._candidates = matcher().candidates
        self._reports = Tracebacks({})
        self._labels: set[str] = set()
        self._partial = clean(text_of(lead.rstrip(b"\n").rpartition(b"\n")[2])).partial
        starts = [at for at in (lead.find(head) for head in _HEADS) if at >= 0]
        if starts:
            for line in lead[lead.rfind(b"\n", 0, min(starts)) + 1 :].split(b"\n"):
                self._follow(line, text_of(line))

    @property
    def is_open(self) -> bool:
        """Whether the next line is a part of what has begun, whatever it says."""
        return bool(self._reports.open or self._partial)

    def found(self, line: bytes) -> Sequence[int] | None:
        """The numbers of the patterns that the line may hold; `None` when it says nothing."""
        if not line.isascii() or self._reports.open or self._partial or b"\x1b" in line or b"\r" in line:
            return self._wrapped(line)
        if line[:1].isdigit() and b" P " in line[:64]:
            return self._wrapped(line)
        self.going_on = False
        found = self._candidates(line)
        if not found:
            return None
        if b"Traceback (most" in line or b"Exception ignored in" in line:
            self.going_on = True
            self._follow(line, text_of(line))
        return found

    def _wrapped(self, line: bytes) -> Sequence[int] | None:
        """A line with colours, a part of one, or one while an error report goes on."""
        text = text_of(line)
        going_on, part = bool(self._reports.open), self._partial
        cleaned = clean(text)
        self._partial = cleaned.partial
        found = self._candidates(encoded(text)) or self._candidates(encoded(cleaned.text))
        begins = any(head in line for head in _HEADS)
        if going_on or begins:
            self._follow(line, text)
        self.going_on = going_on or begins or part or cleaned.partial
        return found if found or going_on or part or cleaned.partial else None

    def _follow(self, line: bytes, text: str) -> None:
        """What the reader of all lines would make of the error reports that are open."""
        cleaned = clean(text)
        label, said = cleaned.said.label, cleaned.text
        named = _LABELLED.match(said)
        if named is not None:
            if named["rest"].startswith(("Traceback (most", "Exception ignored in")) and len(self._labels) < 256:
                self._labels.add(named["label"])
            if named["label"] in self._labels:
                label, said = f"{label}|{named['label']}", clean(named["rest"]).text
        self._reports.see(label, said)

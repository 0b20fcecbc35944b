"""Which lines of a block may say anything, when were they written, and which hosts do they speak of?

A block is sifted without knowledge of the others, so that several can be at once. What is kept is at least what a
reader of all lines would have looked at a second time; what is left out says nothing. The filter is the
catalogue's own.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate

from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.cleaning import clean
from detectors.catalogue.entries import FAULTS
from detectors.catalogue.linear import encoded
from detectors.catalogue.looking import MARKS
from detectors.catalogue.matching import matcher
from detectors.catalogue.records import LINE_LIMIT
from detectors.catalogue.stamps import parse
from detectors.catalogue.texts import text_of
from detectors.catalogue.tracebacks import Tracebacks
from detectors.diagnosing.blocks import Block
from detectors.diagnosing.speakers import hosts_of
from detectors.sources.lines import split

FEW = 2_000  # lines of a block that are all asked for hosts
AHEAD = 3  # lines behind one without a stamp in which its time is looked for
ASKED_AT_MOST = 5_000  # lines of a block that are asked for hosts
ASKED_ALIKE = 300  # of those that differ in numbers alone
TAIL = 64  # lines at the end of a block in which its last time is looked for

KEEP, REPEATED, MOVES = 0, 1, 2
_HEADS = (b"Traceback (most", b"Exception ignored in")
_CLOCK_TIME = re.compile(rb"\d\d:\d\d:\d\d")
_LABELLED = re.compile(r"(?P<label>[A-Za-z][\w.\-]{0,64}): (?P<rest>.*)", re.ASCII | re.DOTALL)


@dataclass(frozen=True)
class Clock:
    """How the stamps of a stream are read. `reference`: near which a stamp without a year lies. `zone_seconds`:
    what a stamp without a zone is ahead of UTC. `latest`: no line was written after it."""

    reference: datetime
    zone_seconds: float
    latest: datetime


@dataclass(frozen=True, slots=True)
class Row:
    """One line. `number` is that of its line in the stream, `at` when it was written or the next dated line was.

    `sort`: `REPEATED` for a symptom that stands by itself, `MOVES` for what may show a step, a save or a phase.
    """

    offset: int
    number: int
    at: datetime | None
    text: str
    sort: int = 0


@dataclass(frozen=True)
class Sifted:
    """What is left of a block. `last_at`: its newest time. `hosts`: those that its lines speak of."""

    rows: tuple[Row, ...]
    size: int
    first_at: datetime | None
    last_at: datetime | None
    hosts: tuple[str, ...]
    last: bool
    broken: str


Lines = Sequence[tuple[int, bytes]]


def sift(block: Block, clock: Clock, ask_hosts: bool) -> Sifted:
    """The lines of a block that may say anything, and its last one."""
    lines = _lines(block)
    sieve = _Sieve(block.lead)
    kept: list[_Kept] = []
    for index, (_offset, line) in enumerate(lines):
        found = sieve.found(line)
        if found is not None:
            kept.append(_Kept(index, _may_name(found, len(lines) > FEW), _sort(found, sieve.going_on)))
    telling = [lines[one.index][1] for one in kept if one.may_name] if ask_hosts else []
    closing = next((index for index in range(len(lines) - 1, -1, -1) if lines[index][1].strip()), None)
    if closing is not None and (not kept or kept[-1].index < closing):
        kept.append(_Kept(closing, False, KEEP))
    times = _times(lines, kept, clock)
    return Sifted(
        rows=tuple(_rows(block, lines, kept, times)),
        size=len(block.content),
        first_at=_first(lines, clock) or next((at for at in times if at is not None), None),
        last_at=_newest(lines, times, clock),
        hosts=_hosts(telling, clock.reference),
        last=block.last,
        broken=block.broken,
    )


def first_stamp(content: bytes, clock: Clock, lines: int = 200) -> tuple[datetime, bool] | None:
    """The first time near the start of a stream, and whether its line names the zone; `None` without one."""
    for line in content.split(b"\n", lines)[:lines]:
        text = text_of(line[:400])
        cleaned = clean(text)
        if cleaned.said.at is not None:
            return cleaned.said.at, True
        stamp = parse(cleaned.text, clock.reference)
        if stamp is not None:
            named = stamp.wall.tzinfo is not None
            return (stamp.wall.astimezone(UTC) if named else stamp.wall.replace(tzinfo=UTC)), named
    return None


@dataclass(frozen=True, slots=True)
class _Kept:
    """The place of a line in its block, whether it may name a host, and its sort."""

    index: int
    may_name: bool
    sort: int


class _Sieve:
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

    def found(self, line: bytes) -> Sequence[int] | None:
        """The numbers of the patterns that the line may hold; `None` when it says nothing."""
        if not line.isascii() or self._reports.open or self._partial or b"\x1b" in line or b"\r" in line:
            return self._wrapped(line)
        if line[:1].isdigit() and b" P " in line[:64]:
            return self._wrapped(line)
        found = self._candidates(line)
        if not found:
            return None
        if b"Traceback (most" in line or b"Exception ignored in" in line:
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


def _may_name(found: Sequence[int], many: bool) -> bool:
    """Whether a kept line may be a symptom, or tell who runs where: only then it can name a host.

    Among many lines, those that may report a step are not asked: they are the most, and what they might name is
    named elsewhere.
    """
    kinds = _kinds()
    return not (many and any(kinds[number] == "progress" for number in found)) and (
        not found or any(kinds[number] in FAULTS for number in found)
    )


def _sort(found: Sequence[int], going_on: bool) -> int:
    """Whether it may be one of many repetitions, shows that the job moves, or neither."""
    kinds = _kinds()
    if any(kinds[number] not in FAULTS for number in found):
        return MOVES
    return REPEATED if found and not going_on else KEEP


@functools.cache
def _kinds() -> tuple[str, ...]:
    """By the number of a pattern its signature's kind; marks tell who runs where."""
    return (*(one.kind for one in catalogue().signatures), *("crash" for _mark in MARKS))


def _lines(block: Block) -> Lines:
    pieces = block.content.split(b"\n")
    if not block.skipping and max(map(len, pieces)) <= LINE_LIMIT:
        if not pieces[-1]:
            pieces.pop()
        return list(zip(accumulate((len(one) + 1 for one in pieces), initial=block.start), pieces, strict=False))
    return list(_cut_lines(block))


def _cut_lines(block: Block) -> Iterator[tuple[int, bytes]]:
    """Lines of which some are too long, or whose first was begun in the block before."""
    at, skipping = 0, block.skipping
    while at < len(block.content):
        part = split(block.content[at:], block.start + at, skipping=skipping, take_rest=True)
        yield from part.lines
        at, skipping = at + part.used, part.skipping
        if not part.more:
            return


def _stamp(line: bytes, clock: Clock) -> datetime | None:
    """When a line says that it was written."""
    if _CLOCK_TIME.search(line, 0, 300) is None:  # every stamp holds one; most lines hold none
        return None
    text = text_of(line[:600])
    cleaned = clean(text)
    at = cleaned.said.at
    if at is None:
        stamp = parse(cleaned.text, clock.reference)
        if stamp is None:
            return None
        if stamp.wall.tzinfo is not None:
            at = stamp.wall.astimezone(UTC)
        else:
            at = stamp.wall.replace(tzinfo=UTC) - timedelta(seconds=clock.zone_seconds)
    return at if at <= clock.latest else None


def _times(lines: Lines, kept: Sequence[_Kept], clock: Clock) -> list[datetime | None]:
    """For each kept line its own time, else that of the next one that has any."""
    times: list[datetime | None] = [_stamp(lines[one.index][1], clock) for one in kept]
    following: datetime | None = None
    for place in range(len(kept) - 1, -1, -1):
        if times[place] is None:
            index = kept[place].index
            alone = place + 1 == len(kept) or kept[place + 1].index > index + 1
            behind = lines[index + 1 : index + 1 + AHEAD] if alone and kept[place].may_name else ()
            near = next((at for _offset, line in behind if (at := _stamp(line, clock)) is not None), None)
            times[place] = near or following
        following = times[place]
    return times


def _first(lines: Lines, clock: Clock) -> datetime | None:
    return next((at for _offset, line in lines[:TAIL] if (at := _stamp(line, clock)) is not None), None)


def _newest(lines: Lines, times: Sequence[datetime | None], clock: Clock) -> datetime | None:
    tail = [at for _offset, line in lines[-TAIL:] if (at := _stamp(line, clock)) is not None]
    return max([*tail, *(at for at in times if at is not None)], default=None)


def _rows(block: Block, lines: Lines, kept: Sequence[_Kept], times: Sequence[datetime | None]) -> Iterator[Row]:
    number, counted = block.line, 0
    for one, at in zip(kept, times, strict=True):
        offset, line = lines[one.index]
        place = offset - block.start
        number += block.content.count(b"\n", counted, place)
        counted = place
        yield Row(offset, number, at, text_of(line), one.sort)


def _hosts(telling: Sequence[bytes], at: datetime) -> tuple[str, ...]:
    """Of lines that differ in numbers alone, some are asked: the others come in other blocks, or say the same."""
    asked: dict[bytes, int] = {}
    some: list[str] = []
    for line in dict.fromkeys(telling):
        shape = line.translate(None, b"0123456789")
        asked[shape] = asked.get(shape, 0) + 1
        if asked[shape] <= ASKED_ALIKE:
            some.append(text_of(line))
    return hosts_of(some[:ASKED_AT_MOST], at) if some else ()

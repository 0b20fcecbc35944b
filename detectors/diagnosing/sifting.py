"""Which lines of a block may say anything, when were they written, and which hosts do they speak of?

A block is sifted without knowledge of the others, so that several can be at once. What is kept is at least what a
reader of all lines would have looked at a second time; what is left out says nothing. The filter is the
catalogue's own: one pass over the block, and a closer look at the lines where it finds something.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate, count
from operator import add
from typing import NamedTuple

from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.cleaning import NOTHING, UNSURE, clean, said_by, wrapped
from detectors.catalogue.digits import SHAPE
from detectors.catalogue.entries import FAULTS
from detectors.catalogue.looking import MARKS
from detectors.catalogue.records import LINE_LIMIT
from detectors.catalogue.stamps import parse
from detectors.catalogue.texts import text_of
from detectors.diagnosing.asking import KEEP, MOVES, REPEATED, Often, Sieve, asked
from detectors.diagnosing.blocks import Block
from detectors.diagnosing.speakers import hosts_of
from detectors.sources.lines import split

FEW = 2_000  # lines of a block that are all asked for hosts
AHEAD = 3  # lines behind one without a stamp in which its time is looked for
ASKED_AT_MOST = 5_000  # lines of a block that are asked for hosts
ASKED_ALIKE = 300  # of those that differ in numbers alone
TAIL = 64  # lines at the end of a block in which its last time is looked for

_CLOCK_TIME = re.compile(rb"\d\d:\d\d:\d\d")


@dataclass(frozen=True)
class Clock:
    """How the stamps of a stream are read. `reference`: near which a stamp without a year lies. `zone_seconds`:
    what a stamp without a zone is ahead of UTC. `latest`: no line was written after it."""

    reference: datetime
    zone_seconds: float
    latest: datetime


class Row(NamedTuple):
    """One line; a named tuple, as all that is made for each line.

    `number` is that of its line in the stream, `at` when it was written or the next dated line was.
    `sort`: `REPEATED` for a symptom that stands by itself, `MOVES` for what may show a step, a save or a phase.
    """

    offset: int
    number: int
    at: datetime | None
    text: str
    sort: int = 0


@dataclass(frozen=True)
class Sifted:
    """What is left of a block. `last_at`: its newest time. `hosts`: those that its lines speak of. `passed_over`:
    repetitions that were left out."""

    rows: tuple[Row, ...]
    size: int
    first_at: datetime | None
    last_at: datetime | None
    hosts: tuple[str, ...]
    last: bool
    broken: str
    passed_over: int = 0


class Lines(NamedTuple):
    """Lines without their ends, and at which byte of the stream each begins."""

    offsets: Sequence[int]
    pieces: Sequence[bytes]


def sift(block: Block, clock: Clock, ask_hosts: bool, alone: bool = False) -> Sifted:
    """The lines of a block that may say anything, and its last one.

    `alone`: no other stream is read, so that what a speaker repeats while nothing moves can be left out at once.
    """
    lines = _lines(block)
    pieces = lines.pieces
    sieve, often = Sieve(block.lead), Often()
    kept: list[_Kept] = []
    telling: list[bytes] = []
    looked_at = -1
    for index in asked(block, lines.offsets, sieve):
        line = pieces[index]
        found = sieve.found(line)
        if found is None:
            continue
        looked_at = index
        may_name, sort = _may_name(found, len(pieces) > FEW), _sort(found, sieve.going_on)
        if may_name and ask_hosts:
            telling.append(line)
        if not (alone and often.is_too_often(line, sort)):
            kept.append(_Kept(index, may_name, sort))
    closing = next((index for index in range(len(pieces) - 1, -1, -1) if pieces[index].strip()), None)
    if closing is not None and looked_at < closing:
        kept.append(_Kept(closing, False, KEEP))
    times = _times(pieces, kept, clock)
    return Sifted(
        rows=tuple(_rows(block, lines, kept, times)),
        size=len(block.content),
        first_at=_first(pieces, clock) or next((at for at in times if at is not None), None),
        last_at=_newest(pieces, times, clock),
        hosts=_hosts(telling, clock.reference),
        last=block.last,
        broken=block.broken,
        passed_over=often.count,
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


class _Kept(NamedTuple):
    """The place of a line in its block, whether it may name a host, and its sort."""

    nth: int
    may_name: bool
    sort: int


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
        starts = map(add, accumulate(map(len, pieces[:-1]), initial=block.start), count())
        return Lines(list(starts) if pieces else [], pieces)
    cut = list(_cut_lines(block))
    return Lines([offset for offset, _line in cut], [line for _offset, line in cut])


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
    head = line[:600]
    text, shape = text_of(head), head.translate(SHAPE) if head.isascii() else None
    cut = wrapped(shape) if shape is not None else UNSURE
    if cut >= 0 and shape is not None:
        said, text, shape = said_by(text[:cut]) if cut else NOTHING, text[cut:], shape[cut:]
    else:
        cleaned = clean(text)
        said, text, shape = cleaned.said, cleaned.text, None
    at = said.at
    if at is None:
        stamp = parse(text, clock.reference, shape)
        if stamp is None:
            return None
        if stamp.wall.tzinfo is not None:
            at = stamp.wall.astimezone(UTC)
        else:
            at = stamp.wall.replace(tzinfo=UTC) - timedelta(seconds=clock.zone_seconds)
    return at if at <= clock.latest else None


def _times(lines: Sequence[bytes], kept: Sequence[_Kept], clock: Clock) -> list[datetime | None]:
    """For each kept line its own time, else that of the next one that has any."""
    times: list[datetime | None] = [_stamp(lines[one.nth], clock) for one in kept]
    following: datetime | None = None
    for place in range(len(kept) - 1, -1, -1):
        if times[place] is None:
            index = kept[place].nth
            alone = place + 1 == len(kept) or kept[place + 1].nth > index + 1
            behind = lines[index + 1 : index + 1 + AHEAD] if alone and kept[place].may_name else ()
            near = next((at for line in behind if (at := _stamp(line, clock)) is not None), None)
            times[place] = near or following
        following = times[place]
    return times


def _first(lines: Sequence[bytes], clock: Clock) -> datetime | None:
    return next((at for line in lines[:TAIL] if (at := _stamp(line, clock)) is not None), None)


def _newest(lines: Sequence[bytes], times: Sequence[datetime | None], clock: Clock) -> datetime | None:
    tail = [at for line in lines[-TAIL:] if (at := _stamp(line, clock)) is not None]
    return max([*tail, *(at for at in times if at is not None)], default=None)


def _rows(block: Block, lines: Lines, kept: Sequence[_Kept], times: Sequence[datetime | None]) -> Iterator[Row]:
    number, counted = block.line, 0
    for one, at in zip(kept, times, strict=True):
        offset = lines.offsets[one.nth]
        place = offset - block.start
        number += block.content.count(b"\n", counted, place)
        counted = place
        yield Row(offset, number, at, text_of(lines.pieces[one.nth]), one.sort)


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

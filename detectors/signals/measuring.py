"""What do the lines of one job show, as the detectors themselves read them?

The lines are cleaned, dated, located and counted by the code that watches jobs; nothing is read differently here.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from detectors.catalogue import progress, stamps
from detectors.catalogue.cleaning import Cleaned, clean
from detectors.catalogue.course import Course
from detectors.catalogue.locating import Places
from detectors.catalogue.records import Context, Record
from detectors.catalogue.turning import FORMAT, READER, turn
from detectors.signals.clocks import HALF_HOUR, shift_of
from detectors.signals.facts import Lines

LINES = 20_000  # of one job that are looked at, the newest
AT_THE_END = 10  # a stamp further from the end of a stream says nothing about when the stream was written
BACK = 5.0  # seconds by which writers of one stream may differ
TOGETHER = 3  # lines that arrived in one second: fewer may be chance
ODD_LENGTH = 300
_ODD = re.compile(
    r"\b(?:step|iter(?:ation)?|global_step|batch|update)s?\b['\"]?\s{0,3}[=:#/\[(]?\s{0,3}\d{1,12}\b", re.IGNORECASE
)
_STEPPING = 3  # lines that look like progress: one may be a setting that is printed

States = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Sample:
    """Lines of one job: `head` from its beginning (who runs where is told there), `tail` the newest ones.

    `stored`: what the detectors that watch it have learnt, by detector; empty when nobody watches yet.
    """

    head: Sequence[Record]
    tail: Sequence[Record]
    stored: States


@dataclass
class _Counts:
    count: int = 0
    stamped: int = 0
    zoned: int = 0
    backwards: int = 0
    ranked: int = 0
    hosted: int = 0


@dataclass
class _Stream:
    """One stream while its lines are counted. `wall`: the last stamp; `ago`: lines since then."""

    stamp: stamps.Stamp | None = None
    read_at: datetime | None = None
    ago: int = 0
    stamped: int = 0
    count: int = 0


def measure(sample: Sample, context: Context, now: datetime) -> Lines:
    """The facts of one job's lines; a fold over the sample, with the states of the detectors beside it."""
    seen = turn(_begun(sample, context, now), sample.tail, context, now)
    places = _places(context, seen.states, sample.stored)
    counts, streams, odd = _counted([*sample.head, *sample.tail][-LINES:], places)
    lines = Lines(**vars(counts), mapped=len(places.hosts))
    lines = _moving(lines, _course(seen.states), _course(sample.stored))
    shifts = _shifts(streams.values())
    burst = max(lines.burst, _burst(sample.tail))
    return replace(lines, **shifts, burst=burst, odd="" if lines.dialect else odd)


def _begun(sample: Sample, context: Context, now: datetime) -> dict[str, Mapping[str, Any]]:
    """Who runs where and which zone the lines have: as the watching detectors know it, else from the sample.

    The zone is told by the newest lines alone, so without a memory all of them are read once before.
    """
    learnt = _usable(sample.stored, READER)
    if learnt:
        return {READER: {**learnt, "tracebacks": {}, "partials": {}}}
    first = turn({}, [*sample.head, *sample.tail], context, now).states
    return {READER: {**_usable(first, READER), "tracebacks": {}, "partials": {}, "v": FORMAT}}


def _places(context: Context, *states: States) -> Places:
    """Who runs where, by the sample and by what was learnt."""
    known = [dict(_usable(one, READER).get("places", {})) for one in states]
    places = Places(known[0], context.nodes)
    for other in known[1:]:
        for rank, host in Places(other, context.nodes).hosts.items():
            places.learn(rank, host)
    return places


def _course(states: States) -> Course:
    return Course.of(_usable(states, progress.NAME))


def _usable(states: States, name: str) -> Mapping[str, Any]:
    state = states.get(name, {})
    return state if state.get("v") == FORMAT else {}


def _moving(lines: Lines, sample: Course, learnt: Course) -> Lines:
    """Progress by whichever has seen more: the sample, or the detectors since the job's start."""
    best = max((sample, learnt), key=lambda course: course.counter.rising if course.counter else 0)
    counter = best.counter
    saved = [step for step in (sample.saved, learnt.saved) if step is not None]
    loaded = [step for step in (sample.loaded, learnt.loaded) if step is not None]
    gaps = sorted(counter.gaps) if counter else []
    return replace(
        lines,
        dialect=best.active,
        steps=counter.rising if counter else 0,
        step=max((one.step for one in (sample, learnt) if one.step is not None), default=None),
        gap=gaps[len(gaps) // 2] if gaps else None,
        saved=max(saved, default=None),
        loaded=max(loaded, default=None),
        burst=max(learnt.bursts, default=0.0),
    )


def _counted(records: Sequence[Record], places: Places) -> tuple[_Counts, dict[str, _Stream], str]:
    counts, odd, looking = _Counts(), "", 0
    streams: dict[str, _Stream] = {}
    for record in records:
        if not record.line.strip() or record.of_node:
            continue
        cleaned = clean(record.line)
        stream = streams.setdefault(record.stream, _Stream())
        counts.count += 1
        stream.count += 1
        _date(counts, stream, cleaned, record)
        speaker = places.speaker(cleaned.text, cleaned.said, record)
        counts.ranked += speaker.rank is not None or speaker.local_rank is not None
        counts.hosted += speaker.host is not None
        if _ODD.search(cleaned.text[:1000]) is not None:
            looking += 1
            odd = cleaned.text[:ODD_LENGTH]
    return counts, streams, odd if looking >= _STEPPING else ""


def _date(counts: _Counts, stream: _Stream, cleaned: Cleaned, record: Record) -> None:
    """Count the line's stamp, and whether it is older than the one before."""
    own = cleaned.said.at
    stamp = stamps.Stamp(own, "container") if own is not None else stamps.parse(cleaned.text, record.read_at)
    stream.ago += 1
    if stamp is None:
        return
    counts.stamped += 1
    counts.zoned += stamp.wall.tzinfo is not None
    before = stream.stamp
    if before is not None and before.form == stamp.form and _seconds(stamp) < _seconds(before) - BACK:
        counts.backwards += 1
    stream.stamp, stream.read_at, stream.ago = stamp, record.read_at, 0
    stream.stamped += 1


def _seconds(stamp: stamps.Stamp) -> float:
    """Seconds of the wall clock as if it were UTC."""
    aware = stamp.wall if stamp.wall.tzinfo is not None else stamp.wall.replace(tzinfo=UTC)
    return aware.timestamp()


def _shifts(streams: Iterable[_Stream]) -> dict[str, Any]:
    """How the newest stamps stand to the arrival of their lines: by zone, and what is left of that."""
    plain: set[int] = set()
    named: set[int] = set()
    late: list[float] = []
    for stream in streams:
        stamp = stream.stamp
        if stamp is None or stream.read_at is None or stream.ago >= AT_THE_END:
            continue
        zone, rest = shift_of(_seconds(stamp) - stream.read_at.timestamp())
        (named if stamp.wall.tzinfo is not None else plain).add(zone)
        late.append(rest)
    return {
        "shifts": tuple(sorted(plain)),
        "zone_shifts": tuple(sorted(named)),
        "late": max(late, key=abs, default=None),
    }


def _burst(records: Sequence[Record]) -> float:
    """The longest time by whose own stamps three or more lines arrived in one second; for lines that a store dates.

    A file has one time for all that was read, which says nothing.
    """
    arrived: dict[datetime, list[float]] = {}
    for record in records:
        cleaned = clean(record.line)
        stamp = stamps.parse(cleaned.text, record.read_at)
        if stamp is not None:
            arrived.setdefault(record.read_at.replace(microsecond=0), []).append(_seconds(stamp))
    if len(arrived) < TOGETHER:
        return 0.0
    spans = [max(some) - min(some) for some in arrived.values() if len(some) >= TOGETHER]
    return max((one for one in spans if one < HALF_HOUR), default=0.0)

"""What do some files tell about one attempt? From names to a diagnosis."""

import gc
import resource
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import chain
from typing import BinaryIO

from detectors.catalogue.matching import matcher
from detectors.diagnosing.accounting import Told
from detectors.diagnosing.blocks import Block, blocks, size_for
from detectors.diagnosing.dumping import dumps_among, read_dumps
from detectors.diagnosing.folding import Found, fold
from detectors.diagnosing.judging import Diagnosis, diagnose
from detectors.diagnosing.merging import Merger, Stream, workers
from detectors.diagnosing.naming import NameReader
from detectors.diagnosing.opening import FILES_LIMIT, Place, Unreadable, opened, places_of, written_at
from detectors.diagnosing.sifting import Clock, first_stamp

MANY = 8  # files above which it pays to look at them side by side
HALF_HOUR = 1800.0
EARLY = timedelta(minutes=2)  # a job's first line comes after its start, give or take the clocks
FARTHEST_ZONE = 14 * 3600.0


@dataclass(frozen=True)
class Asked:
    """What is to be read. `now` bounds the stamps that are believed."""

    names: Sequence[str]
    told: Told
    node_of: NameReader | None
    now: datetime
    stdin: BinaryIO
    seen: Callable[[int], None] = lambda _size: None


@dataclass
class Answer:
    """What came of it. `diagnosis` is `None` when nothing could be read. `troubles`: what could not, and why."""

    diagnosis: Diagnosis | None
    found: Found
    files: list[str]
    size: int = 0
    dated: bool = False
    troubles: list[str] = field(default_factory=list)


def read(asked: Asked) -> Answer:
    """Read everything once and judge it as one attempt."""
    named_places, troubles = places_of(asked.names)
    dumps, places = dumps_among(named_places, asked.node_of)
    _more_descriptors()
    streams: list[Stream] = []
    files: list[str] = []
    large = len(places) > MANY or len(dumps) > MANY
    for place in places:
        try:
            stream, first = _stream(asked, place, len(streams), size_for(len(places)))
        except Unreadable as error:
            troubles.append(f"{place.name}: {error}")
            continue
        large = large or not first.last
        streams.append(stream)
        files.append(place.name)
    if not streams and not dumps:
        return Answer(None, Found(), [], troubles=troubles)
    matcher()  # compiled before the processes part
    named = [host for host in (*(one.host for one in streams), *(one.host for one in dumps)) if host is not None]
    with _few_collections(), workers(large) as pool:
        recorded = read_dumps(dumps, pool)
        troubles += recorded.troubles
        if not streams and not recorded.by_rank:
            return Answer(None, Found(), [], troubles=troubles)
        merger = Merger(streams, pool, not asked.told.nodes, asked.seen)
        found = fold(merger, asked.told, named)
    recorded.tell(found)
    files += sorted({name for name, _told in recorded.by_rank.values()})
    return Answer(
        diagnosis=diagnose(found, asked.told),
        found=found,
        files=files,
        size=merger.size + recorded.size,
        dated=merger.dated > 0,
        troubles=[*troubles, *merger.troubles],
    )


def _stream(asked: Asked, place: Place, number: int, size: int) -> tuple[Stream, Block]:
    """The stream of a file, with its first block. Raises `Unreadable`."""
    parts = blocks(opened(place, asked.stdin), size)
    first = next(parts)
    if first.broken and not first.content:
        raise Unreadable(first.broken)
    host, rank = asked.node_of.read(place.name) if asked.node_of is not None else (None, None)
    reference = asked.told.started_at or written_at(place) or asked.now
    latest = max(asked.now, reference) + timedelta(days=1)
    clock = Clock(reference, 0.0, latest)
    clock = replace(clock, zone_seconds=_zone(first.content, clock, asked.told.started_at))
    return Stream(place.name, number, chain([first], parts), clock, host, rank), first


@contextmanager
def _few_collections() -> Iterator[None]:
    """Millions of short-lived rows hold no circles: looking for some costs a fifth of the time."""
    before = gc.get_threshold()
    gc.set_threshold(200_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _zone(content: bytes, clock: Clock, started_at: datetime | None) -> float:
    """What stamps without a zone are ahead of UTC, by the start that the scheduler tells; else nobody knows: 0."""
    found = first_stamp(content, clock) if started_at is not None else None
    if found is None or found[1] or started_at is None:
        return 0.0
    ahead = (found[0] - started_at + EARLY).total_seconds() // HALF_HOUR * HALF_HOUR
    return ahead if abs(ahead) <= FARTHEST_ZONE else 0.0


def _more_descriptors() -> None:
    """A file for each rank is common."""
    with suppress(ValueError, OSError):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 2 * FILES_LIMIT), hard), hard))

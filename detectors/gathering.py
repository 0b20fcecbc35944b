"""What is new in the logs of some attempts? Reads the database and the sources, outside any transaction."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from detectors.catalogue.records import Record
from detectors.catalogue.texts import joined, size_of
from detectors.models import Feed, Watch
from detectors.sources import SOURCES
from detectors.sources.opening import real_roots
from detectors.sources.source import Asked, Found, Known, Portion, Position, Source, Stream
from detectors.told_models import ToldLine
from detectors.told_reading import NAME as TOLD
from detectors.told_reading import STREAM as TOLD_STREAM
from detectors.told_reading import Told, told_portion
from schedulers.states import FINAL, JobState
from workloads.attempt_logs import log_patterns_of
from workloads.models import Attempt

TURN_FACTOR = 2  # times REKINDLE_READ_BYTES: what one attempt may take in one turn, over all its files
LINES_TOGETHER = 200_000  # lines of one attempt after which the turn ends: an empty one takes memory, too
FEW = 16_384  # bytes of lines that may be held until a batch is stored
KEYS = 5_000  # in one IN (…): SQLite takes at most 32,766 parameters


@dataclass(frozen=True, slots=True)
class Memory:
    """A stored row of `Watch`: what a detector knew, and the catalogue it knew it with."""

    key: int
    catalogue: str
    state: Mapping[str, Any]


@dataclass(frozen=True)
class StreamNews:
    """One stream of an attempt in this turn: where it comes from, its stored cursor and what it gave."""

    source: Source
    portion: Portion
    feed: Feed | None

    @property
    def stream(self) -> Stream:
        """The stream read."""
        return self.portion.stream

    @property
    def position(self) -> Position:
        """Where the stream is read up to after this turn."""
        stored: Position = self.feed.position if self.feed else {}
        return stored if self.portion.position is None else self.portion.position


@dataclass(frozen=True)
class News:
    """Everything read of one attempt in one turn.

    `troubles`: what the sources say of the whole attempt. `moved_at`: when a line of it was stored last. `late`:
    how long after the end lines may still come where nothing shows their end.
    """

    attempt: Attempt
    asked: Asked
    watches: Mapping[str, Memory]
    streams: tuple[StreamNews, ...] = ()
    records: Sequence[Record] = ()
    tried: tuple[str, ...] = ()
    troubles: tuple[str, ...] = ()
    moved_at: datetime | None = None
    late: timedelta = timedelta(0)

    @property
    def readable(self) -> tuple[StreamNews, ...]:
        """The streams that are this attempt's and can be read."""
        return tuple(news for news in self.streams if not news.portion.trouble)

    @property
    def at_end(self) -> bool:
        """Whether everything that can be read was read."""
        return all(news.portion.at_end for news in self.readable)

    def read_up_to(self, now: datetime) -> datetime | None:
        """The newest moment up to which every stream was read; `None` while nothing can be read at all.

        Of a stream that is behind, that is when its last line was stored, at the earliest the attempt's start.
        """
        began_at = self.attempt.started_at or self.attempt.first_seen_at
        behind = [
            (news.feed.moved_at if news.feed else None) or began_at
            for news in self.readable
            if not news.portion.at_end
        ]
        if not self.readable:
            return None
        return min(behind, default=now)

    def without_records(self) -> "News":
        """The same without the lines, where they are many: until it is stored it is held with others."""
        if size_of(self.records) <= FEW:
            return self
        lean = tuple(replace(news, portion=replace(news.portion, records=())) for news in self.streams)
        return replace(self, streams=lean, records=())


@dataclass
class Stored:
    """What the database knows of some attempts, in five queries; and the real log roots by cluster, once asked.

    `told`: what they told of themselves and nobody has read.
    """

    feeds: dict[int, dict[tuple[str, str], Feed]] = field(default_factory=lambda: defaultdict(dict))
    watches: dict[int, dict[str, Memory]] = field(default_factory=lambda: defaultdict(dict))
    next_started_at: dict[int, datetime] = field(default_factory=dict)
    roots: dict[int, tuple[str, ...]] = field(default_factory=dict)
    told: dict[int, list[ToldLine]] = field(default_factory=lambda: defaultdict(list))


def stream_key(name: str) -> str:
    """A stream's name, short enough for an index."""
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()


def load(attempts: Sequence[Attempt]) -> Stored:
    """Cursors, memories and successors of some attempts."""
    stored, keys = Stored(), [attempt.pk for attempt in attempts]
    for feed in Feed.objects.filter(attempt__in=keys):
        if feed.attempt_id is not None:
            stored.feeds[feed.attempt_id][feed.source, feed.stream_key] = feed
    watches = Watch.objects.filter(attempt__in=keys).values_list(
        "attempt_id", "detector", "pk", "catalogue", "state"
    )
    for attempt, detector, key, version, state in watches:
        stored.watches[attempt][detector] = Memory(key, version, state)
    for row in ToldLine.objects.filter(attempt__in=keys, unread=True).order_by("attempt", "offset"):
        stored.told[row.attempt_id].append(row)
    jobs = {attempt.job_id for attempt in attempts}
    starts: dict[int, list[tuple[int, datetime]]] = defaultdict(list)
    started = Attempt.objects.filter(job__in=jobs, started_at__isnull=False)
    for job, index, started_at in started.values_list("job_id", "index", "started_at"):
        if started_at is not None:
            starts[job].append((index, started_at))
    for one in attempts:
        later = [moment for index, moment in starts[one.job_id] if index > one.index]
        if later:
            stored.next_started_at[one.pk] = min(later)
    return stored


def told_news(
    attempt: Attempt, asked: Asked, stored: Stored, streams: Sequence[StreamNews], now: datetime
) -> tuple[StreamNews, ...]:
    """What the attempt told of itself, as one more stream beside its logs (`streams`); none when it never did."""
    feeds, source = stored.feeds[attempt.pk], Told(attempt.pk, stored.told[attempt.pk])
    feed = feeds.get((TOLD, stream_key(TOLD_STREAM.name)))
    was_read = any(int(one.position.get("offset", 0)) > 0 for one in feeds.values() if one.source != TOLD)
    readable = any(not news.portion.trouble and not news.portion.empty for news in streams)
    portion = told_portion(source, feed, asked, now, other_logs=was_read or readable)
    return () if portion is None else (StreamNews(source, portion, feed),)


@dataclass(frozen=True)
class Unread:
    """An attempt whose files broke their reader; `error` says how."""

    attempt: Attempt
    error: Exception


def gather(attempts: Sequence[Attempt], now: datetime) -> Iterable[News | Unread]:
    """The news of each attempt, one after the other: whoever takes them holds one attempt's lines at a time.

    Names and files are the owner's to choose: one attempt that breaks its reader must not blind the others.
    """
    stored = load(attempts)
    readings: list[_Reading] = []
    for attempt in attempts:
        try:
            asked = ask(attempt, stored)
            readings.append(_Reading(attempt, asked, [(source, source.find(asked)) for source in SOURCES], now))
        except Exception as error:
            yield Unread(attempt, error)
    before = _positions_before(readings, stored)
    for reading in readings:
        try:
            news = _read(reading, stored, before)
        except Exception as error:
            yield Unread(reading.attempt, error)
        else:
            yield news


@dataclass(frozen=True)
class _Reading:
    """One attempt about to be read."""

    attempt: Attempt
    asked: Asked
    found: Sequence[tuple[Source, Found]]
    now: datetime


def ask(attempt: Attempt, stored: Stored) -> Asked:
    """What the sources are asked for; reads `attempt.job.cluster`."""
    job = attempt.job
    if job.cluster_id not in stored.roots:
        stored.roots[job.cluster_id] = real_roots(job.cluster.log_roots)
    return Asked(
        patterns=log_patterns_of(attempt),
        roots=tuple(job.cluster.log_roots),
        owner=job.user_id,
        nodes=tuple(attempt.nodes),
        started_at=attempt.started_at,
        ended=JobState(attempt.state) in FINAL,
        taken_over_at=stored.next_started_at.get(attempt.pk),
        listed_at=job.cluster.seen_at,
        real_roots=stored.roots[job.cluster_id],
    )


Before = Mapping[tuple[int, str, str], Sequence[tuple[int, Position]]]


def _positions_before(readings: Sequence[_Reading], stored: Stored) -> Before:
    """Where other attempts' reading ended in streams that are new to an attempt, by cluster, source and stream."""
    new = {
        (one.attempt.job.cluster_id, source.name, stream_key(stream.name))
        for one in readings
        for source, places in one.found
        for stream in places.streams
        if (source.name, stream_key(stream.name)) not in stored.feeds[one.attempt.pk]
    }
    keys = sorted({key for _cluster, _source, key in new})
    before: dict[tuple[int, str, str], list[tuple[int, Position]]] = defaultdict(list)
    for start in range(0, len(keys), KEYS):
        feeds = Feed.objects.filter(stream_key__in=keys[start : start + KEYS], attempt__isnull=False)
        for feed in feeds.order_by("attempt_id"):
            if feed.attempt_id is not None:
                before[feed.cluster_id, feed.source, feed.stream_key].append((feed.attempt_id, feed.position))
    return before


def _read(reading: _Reading, stored: Stored, before: Before) -> News:
    attempt, asked, found = reading.attempt, reading.asked, reading.found
    feeds = stored.feeds[attempt.pk]
    places = [
        (source, stream, feeds.get((source.name, stream_key(stream.name))))
        for source, place in found
        for stream in place.streams
    ]
    # Whoever moved least comes first: a log that grows without end must not starve the others.
    places.sort(key=lambda place: (place[2].revision if place[2] else 0, place[1].name))
    most = settings.REKINDLE["REKINDLE_READ_BYTES"]
    left, lines_left = most * TURN_FACTOR, LINES_TOGETHER
    streams = []
    for source, stream, feed in places:
        if left <= 0 or lines_left <= 0:
            streams.append(StreamNews(source, Portion(stream, None, at_end=False), feed))
            continue
        earlier = before.get((attempt.job.cluster_id, source.name, stream_key(stream.name)), ())
        known = Known(
            feed.position if feed else {},
            next((position for other, position in reversed(earlier) if other < attempt.pk), {}),
        )
        portion = source.read(asked, stream, known, min(most, left), reading.now)
        left -= size_of(portion.records)
        lines_left -= len(portion.records)
        streams.append(StreamNews(source, portion, feed))
    streams += told_news(attempt, asked, stored, streams, reading.now)
    streams.sort(key=lambda news: news.stream.name)
    return News(
        attempt=attempt,
        asked=asked,
        watches=stored.watches[attempt.pk],
        streams=tuple(streams),
        records=joined(news.portion.records for news in streams),
        tried=tuple(path for _source, place in found for path in place.tried),
        troubles=tuple(place.trouble for _source, place in found if place.trouble),
        moved_at=max((feed.moved_at for feed in feeds.values() if feed.moved_at), default=None),
    )

"""What do the files of one job show? The beginning and the end of each, read as the product reads them."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from detectors.catalogue.records import Context, Record
from detectors.catalogue.texts import Lines as Records
from detectors.catalogue.texts import Text, joined, size_of
from detectors.gathering import ask, stream_key
from detectors.models import Feed
from detectors.signal_bounds import FILES, HEAD, TAIL, Look
from detectors.signals.facts import JobFacts, Lines, Stream
from detectors.signals.measuring import Sample, measure
from detectors.sources import SOURCES
from detectors.sources.files import FileSource
from detectors.sources.lines import split
from detectors.sources.opening import Unreadable, opened, real_roots
from detectors.sources.position import FilePosition
from detectors.sources.source import Asked, Known, Position
from detectors.sources.source import Stream as Found
from schedulers.states import FINAL, JobState
from workloads.models import Attempt


@dataclass
class _Files:
    """What the files of one job gave so far, and how they are asked. `before`: where earlier attempts ended."""

    asked: Asked
    look: Look
    before: Mapping[str, Position]
    streams: list[Stream] = field(default_factory=list)
    heads: list[Sequence[Record]] = field(default_factory=list)
    tails: list[Sequence[Record]] = field(default_factory=list)
    newest: list[datetime] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)
    trouble: str = ""
    more: int = 0


def file_facts(attempt: Attempt, context: Context, look: Look) -> JobFacts:
    """One job's facts, from files; reads `attempt.job.cluster`, one query beside."""
    files = _Files(ask(attempt, look.stored), look, _before(attempt))
    for source in SOURCES:
        found = source.find(files.asked)
        files.tried += found.tried
        files.trouble = files.trouble or found.trouble
        for place, stream in enumerate(found.streams):
            if place >= FILES or look.bounds.up:
                files.more += len(found.streams) - place
                break
            if isinstance(source, FileSource):
                _take(files, source, stream)
    tails = joined(files.tails)
    watched = {name: watch.state for name, watch in look.stored.watches[attempt.pk].items()}
    lines = measure(Sample(joined(files.heads), tails, watched), context, look.now) if files.tails else Lines()
    return JobFacts(
        number=attempt.job.number,
        index=attempt.index,
        running=JobState(attempt.state) not in FINAL,
        started_at=attempt.started_at,
        node_count=len(attempt.nodes) or attempt.job.node_count,
        streams=tuple(files.streams),
        tried=tuple(files.tried),
        trouble=files.trouble,
        cut=bool(files.more) and look.bounds.up,
        more=files.more,
        lines=lines,
        newest_at=max(files.newest, default=None),
    )


def _before(attempt: Attempt) -> Mapping[str, Position]:
    """Where the reading of the job's earlier attempts ended: what stands before is not this one's."""
    rows = Feed.objects.filter(attempt__job=attempt.job, attempt__index__lt=attempt.index)
    return dict(rows.order_by("attempt__index").values_list("stream_key", "position"))


def _take(files: _Files, source: FileSource, stream: Found) -> None:
    """The beginning as the product would read it, with all of its refusals, then the end."""
    asked, bounds, now = files.asked, files.look.bounds, files.look.now
    before = files.before.get(stream_key(stream.name), {})
    head = source.read(asked, stream, Known({}, before), HEAD, now)
    if head.trouble:
        files.streams.append(Stream(stream.name, head.trouble))
        return
    files.streams.append(Stream(stream.name, "", head.written_at))
    bounds.bytes_left -= size_of(head.records)
    if head.written_at is not None:
        files.newest.append(min(head.written_at, now))
    position = FilePosition.read(head.position or {})
    if position is None or position.offset >= position.size:
        files.tails.append(head.records)
        return
    tail, whole = _tail(asked, stream, position, now)
    bounds.bytes_left -= size_of(tail)
    if whole:
        files.tails += [head.records, tail]
    else:
        files.heads.append(head.records)
        files.tails.append(tail)


def _tail(asked: Asked, stream: Found, position: FilePosition, now: datetime) -> tuple[Records, bool]:
    """The last lines behind a position, and whether they are everything behind it."""
    try:
        with opened(stream.name, real_roots(asked.roots), asked.owner) as file:
            size = file.status.st_size
            start = max(position.offset, size - TAIL)
            chunk = os.pread(file.descriptor, TAIL, start)
            written_at = datetime.fromtimestamp(max(file.status.st_mtime, 0.0), UTC)
    except (Unreadable, OSError, OverflowError, ValueError):
        return Records(()), True
    whole = start == position.offset
    found = split(chunk, start, skipping=not whole, take_rest=False)
    read_at = min(max(written_at, asked.started_at or written_at), now)
    pieces = (Text(stream.name, at, raw, read_at, stream.host, stream.rank) for at, raw in found.pieces)
    return Records(pieces), whole

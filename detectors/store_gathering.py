"""What do the lines of a log store mean for the attempts of its cluster? The news of each, as from files."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Q

from detectors.catalogue.records import LINE_LIMIT, Record
from detectors.catalogue.texts import text_of
from detectors.catalogue.turning import FORMAT, READER
from detectors.gathering import News, Stored, StreamNews, ask, stream_key, told_news
from detectors.models import Feed, Watch
from detectors.sources.source import Asked, Found, Known, Portion, Position, Stream
from detectors.stores.belonging import CLOCKS, GRACE, Run, safe_host, safe_rank
from detectors.stores.store import SECOND, Labels, Line
from schedulers.states import FINAL
from workloads.models import Attempt, Cluster

LATE = timedelta(seconds=GRACE)
STREAMS = 4096  # of one attempt; the lines of any more share one
PARTS = 1000  # lines in one entry of a store: a shipper may send a traceback as one
JOBS = 500  # asked for in one query
REST = "other streams"
DOUBT = (
    "its lines fit another attempt of the job as well: map the label restart to the restart count, or let its "
    "lines begin with the time"
)


@dataclass
class Kept:
    """Stands for a source: the text of this turn, which is all that can be quoted without asking again.

    The text stays in the store: nothing needs to be saved from a requeue.
    """

    name: str
    text: dict[str, tuple[int, bytearray]] = field(default_factory=dict)

    def find(self, asked: Asked) -> Found:
        """Nothing: lines come by the cluster."""
        return Found((), ())

    def read(self, asked: Asked, stream: Stream, known: Known, budget: int, now: datetime) -> Portion:
        """Nothing: lines come by the cluster."""
        return Portion(stream, None)

    def around(self, asked: Asked, stream: Stream, position: Position, start: int, end: int) -> bytes:
        """What this turn read of these bytes."""
        begin, content = self.text.get(stream.name, (0, bytearray()))
        return bytes(content[max(start - begin, 0) : max(end - begin, 0)])


@dataclass(frozen=True)
class Told:
    """What is the same for all attempts of one turn. `at_end`: the store is read to its end.

    `doubted`: attempts with lines that fit another attempt as well.
    """

    kind: str
    labels: Labels
    selector: str
    trouble: str
    at_end: bool
    now: datetime
    doubted: Set[int] = frozenset()


def runs_between(cluster: Cluster, oldest: int, newest: int) -> list[Run]:
    """The attempts that may have written lines between two moments (ns since 1970), in one query.

    Two more where a job had another attempt before.
    """
    since = datetime.fromtimestamp(oldest // SECOND - GRACE - 1, UTC)
    until = datetime.fromtimestamp(newest // SECOND + CLOCKS + 1, UTC)
    found = Attempt.objects.filter(
        Q(ended_at__gte=since) | Q(ended_at=None) & ~Q(state__in=[state.value for state in FINAL]),
        job__cluster=cluster,
        started_at__lte=until,
    )
    rows = list(
        found.values_list(
            "pk",
            "job",
            "index",
            "job__number",
            "job__array_job",
            "job__array_task",
            "nodes",
            "started_at",
            "ended_at",
        )
    )
    others, offsets = _others({job for _pk, job, index, *_rest in rows if index > 0})
    return [
        Run(
            pk,
            index,
            names_of(number, array, task),
            frozenset(nodes),
            _ns(started),
            _ns(ended) if ended else None,
            others.get(job, frozenset()) - frozenset(nodes) if nodes else frozenset(),
            offsets.get(pk, {}),
        )
        for pk, job, index, number, array, task, nodes, started, ended in rows
        if started is not None
    ]


def _others(jobs: Collection[int]) -> tuple[dict[int, frozenset[str]], dict[int, dict[str, float]]]:
    """Of jobs with several attempts: all nodes of each, and the zones that each attempt's lines have shown."""
    nodes: dict[int, set[str]] = defaultdict(set)
    offsets = {}
    keys = sorted(jobs)
    for start in range(0, len(keys), JOBS):
        some = keys[start : start + JOBS]
        for job, names in Attempt.objects.filter(job__in=some).values_list("job", "nodes"):
            nodes[job].update(names)
        readers = Watch.objects.filter(attempt__job__in=some, detector=READER)
        for attempt, state in readers.values_list("attempt", "state"):
            offsets[attempt] = _offsets(state)
    return {job: frozenset(names) for job, names in nodes.items()}, offsets


def _offsets(state: Mapping[str, Any]) -> dict[str, float]:
    known = state.get("zones", {}).get("offsets", {}) if state.get("v") == FORMAT else {}
    return {form: float(seconds) for form, seconds in known.items()}


def news_of(
    attempt: Attempt, stored: Stored, told: Told, lines: Sequence[Line] = (), of_node: Sequence[Line] = ()
) -> News:
    """The news of one attempt: new lines of its job, and of its nodes."""
    feeds = stored.feeds[attempt.pk]
    kept = Kept(told.kind)
    groups: dict[str, list[Line]] = defaultdict(list)
    known = {feed.stream for feed in feeds.values()}
    for line in lines:
        name = _stream_name(told.labels, line)
        if name not in groups and len(groups.keys() | known) >= STREAMS and name not in known:
            name = REST
        groups[name].append(line)
    streams = []
    for name, some in groups.items():
        feed = feeds.get((told.kind, stream_key(name)))
        streams.append(StreamNews(kept, _portion(attempt, told, kept, (name, feed), some), feed))
    for feed in feeds.values():
        if feed.stream not in groups and feed.source == told.kind:
            streams.append(StreamNews(kept, Portion(Stream(feed.stream), None, at_end=told.at_end), feed))
    trouble = told.trouble
    if trouble:
        streams = []
    elif attempt.pk in told.doubted and not streams:
        trouble = DOUBT
    asked = ask(attempt, stored)
    streams += told_news(attempt, asked, stored, streams, told.now)
    records = [record for news in streams for record in news.portion.records]
    records += [record for line in of_node for record in _node_records(attempt, told, line)]
    records.sort(key=lambda record: record.read_at)
    return News(
        attempt=attempt,
        asked=asked,
        watches=stored.watches[attempt.pk],
        streams=tuple(streams),
        records=tuple(records),
        tried=(f"{told.selector} with {told.labels.job_id}={attempt.job.number}",),
        troubles=(trouble,) if trouble else (),
        moved_at=max((feed.moved_at for feed in feeds.values() if feed.moved_at), default=None),
        late=LATE,
    )


def _portion(
    attempt: Attempt, told: Told, kept: Kept, stream: tuple[str, Feed | None], lines: Sequence[Line]
) -> Portion:
    name, feed = stream
    offset = int(feed.position.get("offset", 0)) if feed else 0
    host, rank = safe_host(told.labels, lines[0], attempt.nodes), safe_rank(told.labels, lines[0])
    if name == REST:
        host = rank = None
    content = bytearray()
    records = []
    for line in lines:
        at = _read_at(attempt, line, told.now)
        for part in _parts(line):
            records.append(Record(name, offset + len(content), text_of(part), at, host, rank))
            content += part + b"\n"
    kept.text[name] = (offset, content)
    position = {"offset": offset + len(content), "ns": lines[-1].ns}
    return Portion(Stream(name, host, rank), position, tuple(records), told.at_end, records[-1].read_at)


def _node_records(attempt: Attempt, told: Told, line: Line) -> list[Record]:
    """Lines of a node are no stream of the job: neither a sign of life nor of sight. The offset is microseconds."""
    host, at = safe_host(told.labels, line, attempt.nodes), _read_at(attempt, line, told.now)
    name = f"{told.kind} lines of node {host}"
    return [Record(name, line.ns // 1000, text_of(part), at, host, None, True) for part in _parts(line)]


def _parts(line: Line) -> list[bytes]:
    """The lines of one entry, each cut to what is kept of a line."""
    parts = line.text.rstrip("\n").split("\n", PARTS)[:PARTS]
    return [part.encode("utf-8", "replace")[:LINE_LIMIT] for part in parts]


def _read_at(attempt: Attempt, line: Line, now: datetime) -> datetime:
    at = datetime.fromtimestamp(line.ns / SECOND, UTC)
    return min(max(at, attempt.started_at or at), now)


def _stream_name(labels: Labels, line: Line) -> str:
    """The file and who wrote into it, as far as labels tell."""
    told = [
        f'{name}="{line.labels[label][:1000]}"'
        for name, label in (("filename", labels.filename), ("node", labels.node), ("rank", labels.rank))
        if label and label in line.labels
    ]
    return text_of(", ".join(told).encode("utf-8", "replace")) or "lines of the job"


def names_of(number: int, array: int | None, task: int | None) -> tuple[str, ...]:
    """What a job is called in a store: its number, and as a task of an array `ARRAY_TASK`, too."""
    own = (str(number),)
    return own if array is None or task is None else (*own, f"{array}_{task}")


def _ns(moment: datetime) -> int:
    return int(moment.timestamp()) * SECOND + moment.microsecond * 1000

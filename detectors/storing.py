"""How does what a turn gave get into the database? In one short transaction, whole or not at all."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import models, transaction

from audit.trail import record
from detectors.catalogue.analyses import ANALYSED, POLLED
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.noticed import TOPIC as NOTICED
from detectors.catalogue.witnesses import EDGES, PORTS, STORE, WAITS
from detectors.excerpts import Cut
from detectors.found import store_findings
from detectors.gathering import KEYS, StreamNews, stream_key
from detectors.models import Excerpt, Feed, Observation, Watch
from detectors.seeing import store_sight
from detectors.stays import leave_unharmed
from detectors.told_models import ToldLine
from detectors.turned import Turned
from schedulers.states import FINAL, WAITING, JobState
from workloads.many_rows import change_each
from workloads.models import Attempt
from workloads.progress import CheckpointSample, Moved, ProgressSample, ProgressUpdate, store_all_progress
from workloads.turns import hasten

RANK_HOSTS = "rank_hosts"  # topic of the observation: {rank: host}
READING = "reading"  # of an ended attempt: {"to_end": whether all of its logs were read to their end}
TOPICS = (RANK_HOSTS, READING, WAITS, EDGES, PORTS, STORE, NOTICED, POLLED, ANALYSED)
ALL = "all"
ROWS = 500  # new ones in one statement, where the database takes as many


class Overtaken(Exception):
    """Somebody else stored a turn over the same attempt first: everything is dropped."""


def store(
    turns: Sequence[tuple[Turned, Sequence[Cut]]], now: datetime, first: Callable[[], None] | None = None
) -> None:
    """Store some turns in one transaction. Raises `Overtaken`, or `IntegrityError` for the same reason.

    `first` is the compare-and-swap of whoever reads for a whole cluster, and raises `Overtaken`. It replaces those
    of the attempts: one that was made due meanwhile stays due.
    """
    turned = [one for one, _cuts in turns]
    with transaction.atomic():
        if first is not None:
            first()
        _move_due(turned, now, alone=first is None)
        _move_feeds(turned, now)
        _take_told(turned)
        _remember(turned)
        entries = [entry for one in turned for entry in store_findings(one, now)]
        entries += [entry for one in turned for entry in store_sight(one, now)]
        _observe(turned, now)
        _keep(turns, now)
        store_all_progress([moved for one in turned if (moved := _progress(one)) is not None], now)
        leave_unharmed([one.attempt for one in turned if _over_well(one, now)], now)
        if entries:
            record(entries, now)
    # Outside: whoever observes locks the cluster before its attempts.
    hasten({one.attempt.job.cluster_id for one in turned if _dies(one)}, now)


def _dies(one: Turned) -> bool:
    """Whether lines just told of a crash whose end the scheduler has not shown."""
    ended = JobState(one.attempt.state) in FINAL | WAITING
    return not ended and any(found.kind is AnomalyKind.CRASH for found in one.new_findings)


def _over_well(one: Turned, now: datetime) -> bool:
    """Whether nothing more comes of an attempt that no verdict will speak of."""
    return JobState(one.attempt.state) is JobState.COMPLETED and one.finished(now)


def _move_due(turned: Sequence[Turned], now: datetime, *, alone: bool) -> None:
    """The first compare-and-swap: an attempt that was made due meanwhile changed, and is read afresh."""
    pause = timedelta(seconds=settings.REKINDLE["REKINDLE_READ_SECONDS"])
    groups: dict[tuple[datetime | None, datetime | None], list[int]] = defaultdict(list)
    for one in turned:
        groups[one.attempt.read_due_at, one.read_due_at(now, pause)].append(one.attempt.pk)
    for (before, after), keys in groups.items():
        moved = Attempt.objects.filter(pk__in=keys, read_due_at=before).update(read_due_at=after, looked_at=now)
        if alone and moved != len(keys):
            raise Overtaken(f"the due time of {len(keys)} attempts moved")
    read = [one.attempt.pk for one in turned if one.attempt.settled_at is None and one.finished(now)]
    if read:
        Attempt.objects.filter(pk__in=read).update(settled_at=now)
    for one in turned:
        judge_at = _judge_at(one, now)
        if judge_at is not None:
            Attempt.objects.filter(pk=one.attempt.pk).update(judge_due_at=judge_at)


def _judge_at(one: Turned, now: datetime) -> datetime | None:
    """The new due time of the verdict, `None` to leave it.

    What is new moves a time that has come, so that a verdict being made just now without it is dropped and made
    again.
    """
    wanted, pending = one.judge_due_at(now), one.attempt.judge_due_at
    if wanted is None or pending is None or wanted < pending:
        return wanted
    return now if one.new_findings and pending < now else None


def _move_feeds(turned: Sequence[Turned], now: datetime) -> None:
    moved = [(one, news) for one in turned for news in one.news.streams if news.portion.position is not None]
    new = [_feed(one.attempt, news, now) for one, news in moved if news.feed is None]
    if new:
        Feed.objects.bulk_create(new, 500)
    old = {news.feed.pk: (news.feed, news.position) for _one, news in moved if news.feed is not None}
    if not old:
        return
    changes = {
        key: {"position": dict(position), "revision": feed.revision + 1, "moved_at": now}
        for key, (feed, position) in old.items()
    }
    found = change_each(Feed, changes, {key: feed.revision for key, (feed, _position) in old.items()}, "revision")
    if found != len(old):
        raise Overtaken(f"{len(old) - found} of {len(old)} cursors moved")


def _take_told(turned: Sequence[Turned]) -> None:
    """What was told and read is not read again; the cursor moved with it."""
    taken = [key for one in turned for news in one.news.streams for key in news.portion.taken]
    for start in range(0, len(taken), KEYS):
        ToldLine.objects.filter(pk__in=taken[start : start + KEYS]).update(unread=False)


def _feed(attempt: Attempt, news: StreamNews, now: datetime) -> Feed:
    return Feed(
        cluster_id=attempt.job.cluster_id,
        attempt=attempt,
        source=news.source.name,
        stream=news.stream.name.encode("utf-8", "replace").decode(),
        stream_key=stream_key(news.stream.name),
        position=dict(news.position),
        revision=1,
        moved_at=now,
    )


def _remember(turned: Sequence[Turned]) -> None:
    """Store the memories that changed."""
    new, old = [], {}
    for one in turned:
        for name, state in one.states.items():
            watch = one.news.watches.get(name)
            if watch is None:
                new.append(Watch(attempt=one.attempt, detector=name, catalogue=one.catalogue, state=dict(state)))
            else:
                old[watch.key] = {"state": dict(state), "catalogue": one.catalogue}
    _write(Watch, new, old)


def _observe(turned: Sequence[Turned], now: datetime) -> None:
    """What a verdict is computed from beside the anomalies: one row for each topic of an attempt.

    Learned from lines: without new ones it is the same, but for how far an ended one was read.
    """
    said = {one.attempt.pk: one for one in turned if (one.grew or one.ended) and _told(one)}
    if not said:
        return
    rows = Observation.objects.filter(attempt__in=list(said), topic__in=TOPICS)
    known = {(row.attempt_id, row.topic): row for row in rows}
    new, old = [], {}
    for key, one in said.items():
        for topic, value in _told(one).items():
            row = known.get((key, topic))
            if row is None:
                new.append(Observation(attempt=one.attempt, topic=topic, key=ALL, value=value, at=now))
            elif row.value != value:
                old[row.pk] = {"value": value, "at": now}
    _write(Observation, new, old)


def _told(one: Turned) -> dict[str, Any]:
    """By topic: which rank ran on which host, what the ranks told about each other, and how far it was read."""
    outcome = one.outcome
    hosts = {str(rank): host for rank, host in sorted(outcome.rank_hosts.items())}
    rows = {topic: [dict(row) for row in rows] for topic, rows in outcome.witnesses.items()}
    reading = {READING: {"to_end": one.news.at_end}} if one.ended else {}
    return {**({RANK_HOSTS: hosts} if hosts else {}), **rows, **reading}


def _keep(turns: Sequence[tuple[Turned, Sequence[Cut]]], now: datetime) -> None:
    new: list[Excerpt] = []
    old: dict[int, dict[str, Any]] = {}
    for one, cuts in turns:
        for cut in cuts:
            if cut.row is not None:
                old[cut.row] = {"offset": cut.offset, "text": cut.text, "kept_at": now}
                continue
            stream = cut.stream.encode("utf-8", "replace").decode()
            row = Excerpt(
                attempt=one.attempt, stream=stream, offset=cut.offset, text=cut.text, why=cut.why, kept_at=now
            )
            new.append(row)
    _write(Excerpt, new, old)


def _write(model: type[models.Model], new: list[Any], old: dict[int, dict[str, Any]]) -> None:
    if new:
        model._default_manager.bulk_create(new, ROWS)
    change_each(model, old)


def _progress(one: Turned) -> Moved | None:
    """How far the attempt came in this turn; `None`: nobody looked at a line of it."""
    outcome = one.outcome
    if not one.grew and (one.ended or outcome.progress.phase == one.attempt.phase):
        return None
    told = outcome.progress
    update = ProgressUpdate(
        first_step=told.first_step,
        last_step=told.last_step,
        last_step_at=told.last_step_at,
        last_checkpoint_step=told.last_checkpoint_step,
        loaded_checkpoint_step=told.loaded_checkpoint_step,
        baseline_step_seconds=told.baseline_step_seconds,
        phase=told.phase,
        checkpoints=tuple(CheckpointSample(one.at, one.step, one.deed, one.place) for one in outcome.checkpoints),
        checkpoints_saved=outcome.checkpoints_saved,
        checkpoints_loaded=outcome.checkpoints_loaded,
    )
    samples = [
        ProgressSample(point.at, point.step, point.seconds, point.loss, point.tokens, point.tflop, point.nan)
        for point in outcome.points
    ]
    return Moved(one.attempt, update, samples)

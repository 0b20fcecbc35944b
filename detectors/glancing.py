"""Which logs may wait a little, when there is more to read than can be read at once?

A glance opens what was written since the last turn and asks whether it may hold a symptom (`catalogue.urgent`). It
stores nothing and moves no cursor: what waits is read later, all of it. So many more logs are looked at in a second
than can be read, and a fault is read at once while steps wait.
"""

import os
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from detectors.catalogue.catalogue import Catalogue
from detectors.catalogue.urgent import is_urgent
from detectors.models import Anomaly, Feed
from detectors.site_catalogues import site_catalogues
from detectors.sources.files import FileSource
from detectors.sources.opening import Unreadable, opened, real_roots
from detectors.sources.position import FilePosition
from schedulers.states import JobState
from workloads.models import Attempt, Cluster

GLANCED = 65_536  # new bytes of one file: more of them are read at once
WAITS = timedelta(seconds=10)  # at most between two turns over an attempt, as long as glances keep up
WAITS_SILENT = timedelta(seconds=5)  # the same where nothing was written: its silence may be a hang
WAITS_LONGEST = timedelta(seconds=60)
LATE_FACTOR = 5  # times what glances themselves are late by: turns are spread further when there are too many
_SPREAD = 0.618034  # of the attempts' numbers over a pause: neighbours do not have their turns at once


@dataclass(frozen=True)
class _Log:
    """One file of an attempt, and where its reading ended."""

    path: str
    position: FilePosition
    roots: tuple[str, ...]
    owner: int | None
    known: Catalogue


def may_wait(due: Mapping[int, datetime], now: datetime, pause: timedelta) -> set[int]:
    """Those of some due attempts (`due`: since when, `pause` after the last look) that need no turn now.

    Only running ones whose every file was read before and is still the same, without an open anomaly. Each gets its
    turn after `WAITS` at the latest, or later where even glances are late.
    """
    late = now - min(due.values(), default=now)
    longest = min(max(WAITS, late * LATE_FACTOR), WAITS_LONGEST)
    resting = {key for key, at in due.items() if not _has_turn(key, at - pause, now, longest)}
    suspects = Anomaly.objects.filter(attempt__in=resting, refuted_at=None).values_list("attempt_id", flat=True)
    resting -= set(suspects)
    waiting = set()
    for key, logs in _logs_of(resting).items():
        written = [log for log in logs if not _is_silent(log)]
        if not written and longest > WAITS_SILENT and _has_turn(key, due[key] - pause, now, WAITS_SILENT):
            continue
        if all(_is_dull(log) for log in written):
            waiting.add(key)
    return waiting


def _has_turn(key: int, since: datetime, now: datetime, every: timedelta) -> bool:
    """Whether the attempt's own moment, once in `every`, lies between the last look and now."""
    seconds = every.total_seconds()
    own = key * _SPREAD % 1 * seconds
    return (since.timestamp() - own) // seconds != (now.timestamp() - own) // seconds


def _logs_of(keys: Collection[int]) -> dict[int, list[_Log]]:
    """The files of those attempts that can be glanced at."""
    known = site_catalogues()
    running = Attempt.objects.filter(pk__in=list(keys), state=JobState.RUNNING.value, blind_since=None)
    owners = {
        key: (owner, cluster) for key, owner, cluster in running.values_list("pk", "job__user_id", "job__cluster")
    }
    roots = {
        key: real_roots(some)
        for key, some in Cluster.objects.filter(pk__in={one for _, one in owners.values()}).values_list(
            "pk", "log_roots"
        )
    }
    rows = Feed.objects.filter(attempt__in=list(owners)).values_list("attempt_id", "source", "stream", "position")
    logs: dict[int, list[_Log]] = defaultdict(list)
    unfit = set()
    for key, source, stream, stored in rows:
        position = FilePosition.read(stored)
        if key is None or source != FileSource.name or position is None or position.rewritten_at is not None:
            unfit.add(key)
            continue
        owner, cluster = owners[key]
        if not position.closed:
            logs[key].append(_Log(stream, position, roots[cluster], owner, known.of(cluster)))
    return {key: some for key, some in logs.items() if key not in unfit}


def _is_silent(log: _Log) -> bool:
    """Whether nobody wrote since the last turn: told without opening the file."""
    try:
        return log.position.unchanged(os.stat(log.path))
    except (OSError, ValueError):
        return False


def _is_dull(log: _Log) -> bool:
    """Whether it is still the file that was read, and what was written since holds nothing urgent."""
    position = log.position
    try:
        with opened(log.path, log.roots, log.owner) as file:
            new = file.status.st_size - position.offset
            if not position.same_file(file.status) or not 0 <= new <= GLANCED:
                return False
            return not is_urgent(os.pread(file.descriptor, new, position.offset), log.known)
    except (Unreadable, OSError):
        return False

"""What does the site's worker say of one log of a cascade, and what does it take? Needs a database with tables."""

import os
import time
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.cascade import Measured, Said, peak_mb
from benchmarks.cascades import Cluster, Kind
from detectors.judging import judge
from detectors.reading import read_attempt
from detectors.sources.files import FileSource
from schedulers.states import JobState
from workloads.models import Attempt, Job, Node
from workloads.models import Cluster as StoredCluster


def measure(kind: Kind, cluster: Cluster, log: Path) -> Measured:
    """All the way into the database."""
    attempt = stored(kind, cluster, log)
    last_read = [0.0, 0.0]
    real = FileSource.read

    def read(*words: Any, **more: Any) -> Any:
        portion = real(*words, **more)
        if portion.records:
            last_read[:] = time.monotonic(), time.process_time()
        return portion

    began, spent = time.monotonic(), time.process_time()
    with mock.patch.object(FileSource, "read", read):
        attempt = read_to_its_end(attempt)
    read_at = time.monotonic()
    verdict = judge(attempt, datetime.now(UTC))
    ended = time.monotonic()
    if verdict is None:
        raise RuntimeError("there is no verdict")
    said = Said.of_body(verdict.body)
    return Measured(
        seconds=round(ended - began, 2),
        verdict_seconds=round(ended - read_at, 3),
        last_byte_seconds=round(ended - last_read[0], 2),
        core_seconds=round(time.process_time() - last_read[1], 2),
        peak_mb=round(peak_mb(), 1),
        said=said.words(),
        wrong=said.wrong(kind.right(cluster)),
        spent_seconds=round(time.process_time() - spent, 2),
    )


def read_to_its_end(attempt: Attempt) -> Attempt:
    """Turn after turn, as the site's worker does it."""
    while True:
        now = datetime.now(UTC)
        if not read_attempt(attempt, now):
            raise RuntimeError("a turn was not stored")
        attempt = Attempt.objects.select_related("job__cluster").get(pk=attempt.pk)
        if attempt.read_due_at is None or attempt.read_due_at > now:
            return attempt


def stored(kind: Kind, cluster: Cluster, log: Path) -> Attempt:
    """The attempt, which has ended, and its nodes, as the scheduler showed them."""
    now = datetime.now(UTC)
    known = StoredCluster.objects.create(name=uuid.uuid4().hex[:12], log_roots=[str(log.parent)])
    for host in cluster.hosts:
        state = "down+not_responding" if kind.down and host == cluster.host else "idle"
        Node.objects.create(cluster=known, name=host, state=state, seen_at=now)
    job = Job.objects.create(
        cluster=known, number=7001, name="train", user="trainer", user_id=os.getuid(), stdout=str(log),
        work_dir=str(log.parent), created_at=now, seen_at=now,
    )  # fmt: skip
    attempt = Attempt.objects.create(
        job=job, index=0, heimdall_id=uuid.uuid4(), state=JobState[kind.state].value, scheduler_word=kind.state,
        nodes=list(cluster.hosts), exit_code=1, started_at=cluster.at - timedelta(seconds=900),
        ended_at=cluster.at + timedelta(seconds=70), first_seen_at=now, read_due_at=now, changed_at=now,
    )  # fmt: skip
    return Attempt.objects.select_related("job__cluster").get(pk=attempt.pk)

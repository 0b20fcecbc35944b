"""What do so many live attempts cost, and how soon is a fault seen? One size, in a process of its own.

`python -m benchmarks.crowd COUNT SECONDS WORKERS`, started by `benchmarks.many_attempts` with the stores in the
environment; prints one JSON object. The site is what runs in production: Celery workers (prefork) and a beat on
MariaDB and Redis. The observation of the scheduler is left out: `benchmarks.observing` measures it.
"""

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
from django.db import connection
from django.db.models import Sum

from benchmarks.fresh_site import prepare
from benchmarks.stations import percentile
from detectors.models import Anomaly, Feed
from schedulers.states import JobState
from workloads.models import Attempt, Cluster, Job

FAULTS = 60
WARM = 40  # seconds: every log is opened for the first time, which costs more than to read on
AFTER = 15  # seconds in which the last faults may still be seen
LOOK = 0.2  # seconds between two looks for anomalies: a lag is too long by at most this
CELERY = [sys.executable, "-m", "celery", "--quiet", "-A", "recovery_site.celery"]
BEAT = ["beat", "--scheduler", "recovery_site.beating:Beat", "--schedule"]


@dataclass
class Share:
    """Processor seconds and memory of one part: a process and all it started."""

    process: psutil.Process
    began: float = 0.0
    resident: float = 0.0
    proportional: float = 0.0

    def seconds(self) -> float:
        """Processor seconds since the processes began."""
        return sum(sum(one.cpu_times()[:2]) for one in self._all())

    def weigh(self) -> None:
        """Keep the largest memory seen, in MB; `proportional` counts what is shared once."""
        some = [one.memory_full_info() for one in self._all()]
        self.resident = max(self.resident, sum(one.rss for one in some) / 1e6)
        self.proportional = max(self.proportional, sum(one.pss for one in some) / 1e6)

    def _all(self) -> list[psutil.Process]:
        return [self.process, *self.process.children(recursive=True)]


@dataclass
class Seen:
    """When was which anomaly visible? By attempt and kind, seconds since 1970."""

    at: dict[tuple[int, str], float] = field(default_factory=dict)

    def look(self) -> None:
        """One look from outside."""
        rows = list(Anomaly.objects.values_list("attempt_id", "kind"))
        now = time.time()
        for row in rows:
            self.at.setdefault(row, now)


def seed(folder: Path, count: int) -> dict[int, int]:
    """A cluster with so many running attempts; their keys by the number of the file."""
    now = datetime.now(UTC)
    cluster = Cluster.objects.create(
        name="crowd", log_roots=[str(folder)], observe_due_at=now + timedelta(days=1), seen_at=now
    )
    Job.objects.bulk_create(
        [
            Job(
                cluster=cluster, number=number + 1, name="train", user="trainer", user_id=os.getuid(), node_count=1,
                partition="main", work_dir=str(folder), stdout=str(folder / "slurm-%j.out"),
                created_at=now, seen_at=now,
            )
            for number in range(count)
        ],
        500,
    )  # fmt: skip
    jobs = dict(Job.objects.values_list("number", "pk"))
    Attempt.objects.bulk_create(
        [
            Attempt(
                job_id=jobs[number + 1], index=0, heimdall_id=uuid.uuid4(), state=JobState.RUNNING.value,
                nodes=[f"n{number:05d}"], started_at=now, first_seen_at=now, read_due_at=now, changed_at=now,
            )
            for number in range(count)
        ],
        500,
    )  # fmt: skip
    return {number - 1: key for number, key in Attempt.objects.values_list("job__number", "pk")}


def main() -> int:
    """Run one size and print what it took."""
    count, seconds, workers = map(int, sys.argv[1:4])
    folder = Path(prepare()) / "logs"
    folder.mkdir()
    keys = seed(folder, count)
    started: list[subprocess.Popen[bytes]] = []
    try:
        print(json.dumps(_measure(folder, keys, (count, seconds, workers), started)))
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()  # a busy machine: what was measured is told all the same
    return 0


def _measure(
    folder: Path, keys: Mapping[int, int], size: tuple[int, int, int], started: list[subprocess.Popen[bytes]]
) -> dict[str, Any]:
    count, seconds, _workers = size
    shares = _start(folder, size, started)
    seen = Seen()
    old: list[tuple[float, float, float]] = []
    began, before = time.time(), -1
    while (passed := time.time() - began) < WARM + seconds:
        seen.look()
        if passed >= WARM and before < 0:
            before = turns()
            for share in shares.values():
                share.began = share.seconds()
        if passed >= WARM + len(old) * seconds / 4:
            old.append(ages(datetime.now(UTC)))
            shares["workers"].weigh()
        time.sleep(LOOK)
    spent = {name: share.seconds() - share.began for name, share in shares.items() if share.process.is_running()}
    turned = turns() - before
    old.append(ages(datetime.now(UTC)))
    late = time.time() + AFTER
    while time.time() < late:
        seen.look()
        time.sleep(LOOK)
    return {
        "attempts": count,
        **_lags(folder, keys, seen),
        "turns_a_second": round(turned / seconds),
        "cpu": {name: round(used / seconds, 3) for name, used in spent.items()},
        "resident_mb": round(shares["workers"].resident),
        "proportional_mb": round(shares["workers"].proportional),
        "ages": old,
    }


def _start(folder: Path, size: tuple[int, int, int], started: list[subprocess.Popen[bytes]]) -> dict[str, Share]:
    """Start writer, workers and beat; the parts whose cost is told."""
    count, seconds, workers = size
    own = {**os.environ, "REKINDLE_SHARDS": str(workers)}

    def start(command: list[str]) -> Share:
        started.append(subprocess.Popen(command, env=own, stdout=sys.stderr))
        return Share(psutil.Process(started[-1].pid))

    length = [str(count), str(WARM + seconds), str(FAULTS), str(WARM)]
    return {
        "writer": start([sys.executable, "-m", "benchmarks.crowd_writer", str(folder), *length]),
        "workers": start([*CELERY, "worker", "--pool", "prefork", "--concurrency", str(workers)]),
        "beat": start([*CELERY, *BEAT, str(folder.parent / "beat")]),
        "database": Share(psutil.Process(database())),
    }


def _lags(folder: Path, keys: Mapping[int, int], seen: Seen) -> dict[str, Any]:
    """From the moment the proving line was written to the first look that showed its anomaly."""
    lags: dict[str, list[float]] = {}
    missed = 0
    for line in (folder / "faults").read_text().splitlines():
        place, kind, at = line.split()
        found = seen.at.get((keys[int(place)], kind))
        if found is None:
            missed += 1
        else:
            lags.setdefault(kind, []).append(found - float(at))
    every = [lag for some in lags.values() for lag in some]
    told = [round(percentile(every, 50), 2), round(percentile(every, 95), 2), round(max(every), 2)] if every else []
    return {"faults": len(every), "missed": missed, "lag_p50_p95_max": told}


def ages(now: datetime) -> tuple[float, float, float]:
    """How long ago the logs were read with something new: p50, p95 and the longest."""
    moved = Feed.objects.values_list("moved_at", flat=True)
    found = [(now - at).total_seconds() for at in moved if at is not None]
    if len(found) < 2:
        return 0.0, 0.0, 0.0
    return round(percentile(found, 50), 2), round(percentile(found, 95), 2), round(max(found), 2)


def turns() -> int:
    """How many turns over a log brought something new so far."""
    return int(Feed.objects.aggregate(turns=Sum("revision"))["turns"] or 0)


def database() -> int:
    """The process id of the database that we are connected to."""
    with connection.cursor() as cursor:
        cursor.execute("select @@pid_file")
        return int(Path(str(cursor.fetchone()[0])).read_text())


if __name__ == "__main__":
    sys.exit(main())

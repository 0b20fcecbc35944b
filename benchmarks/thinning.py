"""What does it cost to thin the series of many attempts?

`python -m benchmarks.thinning [--attempts 10000] [--points 60] [--every 10]`. Every attempt has its points, one
each so many seconds, all of them older than the hour for which they are kept whole; all attempts are due. Ticks
follow each other until nothing is due; then comes one for which nothing is due. Wall time, and processor time of
the product alone.
"""

import argparse
import statistics
import sys
import time
import uuid
from datetime import UTC, datetime, timedelta

from django.db import connection

from benchmarks.fresh_site import prepare
from benchmarks.machine import machine_line
from workloads.models import Attempt, Cluster, Job
from workloads.progress_models import ProgressPoint
from workloads.sweeping import thin_due

TOGETHER = 5_000  # rows made at once


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.thinning")
    parser.add_argument("--attempts", type=int, default=10_000)
    parser.add_argument("--points", type=int, default=60, help="of each attempt")
    parser.add_argument("--every", type=float, default=10.0, metavar="SECONDS")
    told = parser.parse_args()
    prepare()
    now = datetime.now(UTC)
    _fill(told.attempts, told.points, told.every, now)
    words = f"--attempts {told.attempts} --points {told.points} --every {told.every:g}"
    print(f"`python -m benchmarks.thinning {words}`\n\n{machine_line()}; {connection.vendor}.\n")
    print(
        "| points before | after | ticks | tick p50 s | longest s | all of them s | processor s | nothing due s |"
    )
    print("|--:|--:|--:|--:|--:|--:|--:|--:|")
    before, cpu = ProgressPoint.objects.count(), time.process_time()
    ticks = []
    while Attempt.objects.filter(thin_due_at__lte=now).exists():
        ticks.append(_tick(now))
    cpu = time.process_time() - cpu
    cells = [statistics.median(ticks), max(ticks), sum(ticks), cpu]
    after = ProgressPoint.objects.count()
    print(f"| {before} | {after} | {len(ticks)} | {' | '.join(f'{c:.2f}' for c in cells)} | {_tick(now):.4f} |")
    return 0


def _tick(now: datetime) -> float:
    began = time.perf_counter()
    thin_due(now)
    return time.perf_counter() - began


def _fill(attempts: int, points: int, every: float, now: datetime) -> None:
    cluster = Cluster.objects.create(name="bench")
    first = now - timedelta(hours=2) - timedelta(seconds=points * every)
    jobs = Job.objects.bulk_create(
        [
            Job(cluster=cluster, number=n, name="train", user="u", created_at=first, seen_at=now)
            for n in range(attempts)
        ],
        TOGETHER,
    )
    rows = Attempt.objects.bulk_create(
        [
            Attempt(
                job=job,
                index=0,
                heimdall_id=uuid.uuid4(),
                state="running",
                first_seen_at=first,
                changed_at=now,
                thin_due_at=now,
            )
            for job in jobs
        ],
        TOGETHER,
    )
    for start in range(0, attempts, 500):  # in the order of time, as they come
        some = rows[start : start + 500]
        ProgressPoint.objects.bulk_create(
            [
                ProgressPoint(
                    attempt=row,
                    at=first + timedelta(seconds=n * every),
                    step=n,
                    step_seconds=1.0 + 0.01 * (n % 7),
                    loss=2.0 - 0.001 * n,
                )
                for n in range(points)
                for row in some
            ],
            TOGETHER,
        )


if __name__ == "__main__":
    sys.exit(main())

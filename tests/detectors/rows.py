"""How does a test put a cluster, a job and an attempt with a real log into the database?"""

import os
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from schedulers.states import JobState
from workloads.models import Attempt, Cluster, Job, Node

NODES = ("n01", "n02", "n03")


def make_cluster(root: Path | None = None, **changes: Any) -> Cluster:
    """A cluster whose logs may be read below `root`."""
    values = {"name": f"c{uuid.uuid4().hex[:8]}", "log_roots": [str(root)] if root else []}
    return Cluster.objects.create(**{**values, **changes})


def make_attempt(cluster: Cluster, job: Job | None = None, **changes: Any) -> Attempt:
    """A running attempt on three nodes that writes to `slurm-NUMBER.out` and is due to be read."""
    now = datetime.now(UTC)
    if job is None:
        job = Job.objects.create(
            cluster=cluster,
            number=Job.objects.count() + 1000,
            name="train",
            user="trainer",
            user_id=os.getuid(),
            partition="main",
            node_count=3,
            work_dir=str(cluster.log_roots[0]) if cluster.log_roots else "/tmp/none",
            created_at=now,
            seen_at=now,
        )
    values: dict[str, Any] = {
        "job": job,
        "index": 0,
        "heimdall_id": uuid.uuid4(),
        "state": JobState.RUNNING.value,
        "nodes": list(NODES),
        "started_at": now - timedelta(seconds=10),
        "first_seen_at": now,
        "read_due_at": now,
        "changed_at": now,
    }
    attempt = Attempt.objects.create(**{**values, **changes})
    return Attempt.objects.select_related("job__cluster").get(pk=attempt.pk)


def make_nodes(cluster: Cluster, down: tuple[str, ...] = ()) -> None:
    """The nodes as the scheduler describes them."""
    for name in NODES:
        state = "down+not_responding" if name in down else "idle"
        Node.objects.create(
            cluster=cluster, name=name, state=state, available=name not in down, seen_at=datetime.now(UTC)
        )


def again(attempt: Attempt) -> Attempt:
    """The attempt as it is stored now, with its job and cluster, and as if it had been looked at all the time."""
    stored = Attempt.objects.select_related("job__cluster").get(pk=attempt.pk)
    stored.looked_at = datetime(9000, 1, 1, tzinfo=UTC)
    return stored


def end(attempt: Attempt, state: JobState = JobState.FAILED, at: datetime | None = None, **changes: Any) -> Attempt:
    """The scheduler shows its end, as the observation stores it."""
    at = at or datetime.now(UTC)
    values = {"state": state.value, "ended_at": at, "read_due_at": at, "exit_code": 1, "exit_signal": 0}
    Attempt.objects.filter(pk=attempt.pk).update(**{**values, **changes})
    return again(attempt)


@dataclass
class Log:
    """The output file of an attempt."""

    path: Path

    @classmethod
    def of(cls, attempt: Attempt) -> "Log":
        """Where the attempt writes to."""
        return cls(Path(attempt.job.work_dir) / f"slurm-{attempt.job.number}.out")

    def write(self, *lines: str, at: datetime | None = None) -> None:
        """Append lines; `at` is the file's time afterwards."""
        with self.path.open("a") as file:
            file.write("".join(f"{line}\n" for line in lines))
        if at is not None:
            os.utime(self.path, (at.timestamp(), at.timestamp()))


def megatron(step: int, at: datetime) -> str:
    """A progress line."""
    return (
        f" [{at:%Y-%m-%d %H:%M:%S}.{at.microsecond:06}] iteration {step:8}/    2000 |"
        f" consumed samples: {step * 32:12} |"
        f" elapsed time per iteration (ms): 500.0 | learning rate: 1.500000E-04 | global batch size:    32 |"
        f" lm loss: 2.104561E+00 | loss scale: 1.0 | grad norm: 0.412 | number of skipped iterations:   0 |"
        f" number of nan iterations:   0 |"
    )


ECC = "n03: [rank5]: RuntimeError: CUDA error: uncorrectable ECC error encountered"

"""Where are traps put on? A cluster in the database, a scheduler that lists what was written down, logs on disk.

One `look` is one round of the beat over real code: observe, read, judge, decide. Nothing of the product is
replaced, and time is an argument.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from advisor_api.deciding import decide_all_due
from advisor_api.models import Advice
from detectors.catalogue.records import Turn
from detectors.catalogue.turning import turn as catalogue_turn
from detectors.claims import claim_due
from detectors.judging import judge
from detectors.models import Anomaly, Verdict
from detectors.reading import read_attempts
from lab.simulate.demo import opt_in
from schedulers.port import JobRow, NodeRow, Scheduler
from tests.detectors.rows import megatron
from tests.workloads.scripted import ScriptedScheduler, a_row, after, failed
from workloads.models import Attempt, Cluster
from workloads.observing import observe

NODES = tuple(f"n{number:02}" for number in range(1, 65))
ACTS = frozenset({"restart", "terminate"})


@dataclass
class Stage:
    """`rows` is what the scheduler lists; `at` is where the story stands, in seconds since its start.

    `turn` may look on at what the detectors are given.
    """

    folder: Path
    cluster: Cluster = field(init=False)
    scheduler: ScriptedScheduler = field(init=False)
    at: float = 0.0
    turn: Turn = catalogue_turn

    def __post_init__(self) -> None:
        self.cluster = Cluster.objects.create(
            name="demo",
            environment="demo",
            mode="action",
            acknowledge_scheduler_actions=True,
            log_roots=[str(self.folder)],
        )
        self.scheduler = ScriptedScheduler(
            [], tuple(NodeRow(name, ("idle",), partitions=("main",)) for name in NODES)
        )

    @property
    def now(self) -> datetime:
        """The moment of the story."""
        return after(self.at)

    def submit(self, number: int = 7, **facts: Any) -> JobRow:
        """A job of two nodes that runs from now on and asked to be recovered."""
        values: dict[str, Any] = {
            "submitted_at": self.now,
            "started_at": self.now,
            "work_dir": str(self.folder),
            "stdout": "%j.log",
            "user_id": os.getuid(),
            "comment": opt_in("demo"),
        }
        row = a_row(number, **{**values, **facts})
        self.show(row)
        return row

    def show(self, *rows: JobRow) -> None:
        """The scheduler lists these rows from now on, in place of what it listed of the same jobs."""
        numbers = {row.number for row in rows}
        self.scheduler.rows = [*(row for row in self.scheduler.rows if row.number not in numbers), *rows]

    def fail(self, number: int = 7, **facts: Any) -> None:
        """The scheduler shows from now on that the job has failed just now."""
        self.show(replace(failed(self.row(number), self.now), **facts))

    def row(self, number: int = 7) -> JobRow:
        """What is listed of a job."""
        return next(row for row in self.scheduler.rows if row.number == number)

    def node(self, name: str, *states: str, **facts: Any) -> None:
        """The scheduler describes a node so from now on."""
        changed = NodeRow(name, states, partitions=("main",), **facts)
        self.scheduler.node_rows = tuple(changed if row.name == name else row for row in self.scheduler.node_rows)

    def path(self, number: int = 7) -> Path:
        """The log of a job."""
        return self.folder / f"{number}.log"

    def say(self, *lines: str, number: int = 7) -> None:
        """The job prints lines now."""
        with self.path(number).open("a", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write("".join(f"{line}\n" for line in lines))
        os.utime(self.path(number), (self.now.timestamp(), self.now.timestamp()))

    def train(self, first: int, last: int, *, every: float = 5.0, number: int = 7) -> None:
        """The job makes steps, and the product looks after each."""
        for step in range(first, last + 1):
            self.at += every
            self.say(megatron(step, self.now), number=number)
            self.look()

    def wait(self, seconds: float, every: float = 15.0) -> None:
        """Time passes, and the product looks."""
        until = self.at + seconds
        while self.at < until:
            self.at = min(self.at + every, until)
            before = self.now - timedelta(seconds=1)  # as if it had looked in between, too
            Attempt.objects.exclude(looked_at=None).update(looked_at=before)
            self.look()

    def look(self, scheduler: Scheduler | None = None) -> None:
        """One round of the beat: observe, read what is due, judge, decide."""
        observe(self.cluster, scheduler or self.scheduler, self.now)
        for _batch in range(10):
            if not (attempts := claim_due(0, 1, self.now)):
                break
            read_attempts(attempts, self.now, self.turn)
        due = Attempt.objects.filter(judge_due_at__lte=self.now).select_related("job__cluster")
        for attempt in due.order_by("pk"):
            judge(attempt, self.now)
        decide_all_due(self.now)

    def attempt(self, number: int = 7, index: int = 0, epoch: int = 0) -> Attempt:
        """An attempt as it is stored."""
        found = Attempt.objects.select_related("job__cluster")
        return found.get(job__number=number, job__epoch=epoch, index=index)

    def kinds(self, number: int = 7) -> list[str]:
        """Kinds of the anomalies of a job that stand."""
        rows = Anomaly.objects.filter(attempt__job__number=number, refuted_at=None)
        return sorted(rows.values_list("kind", flat=True))

    def advised(self) -> list[tuple[int, str, list[str]]]:
        """Everything advised: job, operation, nodes to leave out."""
        rows = Advice.objects.order_by("attempt__job__number", "generation").select_related("attempt__job")
        return [(row.attempt.job.number, row.operation, list(row.excluded_nodes)) for row in rows]

    def acts(self) -> list[tuple[int, str, list[str]]]:
        """What of it does something to a job."""
        return [row for row in self.advised() if row[1] in ACTS]

    def verdict(self, number: int = 7) -> Verdict | None:
        """The newest verdict on a job."""
        return Verdict.objects.filter(attempt__job__number=number).order_by("-pk").first()


def culprits(verdict: Verdict | None) -> Sequence[str]:
    """The nodes that a verdict would leave out."""
    return [one["host"] for one in verdict.implicated if one["excludable"]] if verdict else []

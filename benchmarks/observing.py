"""What does one observation cost?

`python -m benchmarks.observing [--jobs 100 1000 10000]`. A simulated cluster in this process answers; its own time
is taken off, and neither a process nor a network is in it. The product reads the answers, compares and stores.
Processor time of one core, not wall time.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import connection

from benchmarks.fresh_site import prepare
from benchmarks.machine import machine_line
from lab.simulate.commands import answer
from lab.simulate.logs import MemoryLogs
from lab.simulate.model import Cluster as SimulatedCluster
from lab.simulate.play import Play
from lab.simulate.settings import Settings
from schedulers.slurm.adapter import Slurm
from schedulers.transport import Answer
from workloads.models import Cluster
from workloads.observing import observe

NODES = 1000
COMMENT = json.dumps({"nvidia-recovery": {"environment": "test", "mode": "action"}, "workflowId": "benchmark"})
CHANGED = 100  # one job in so many ends between two observations


class InProcess:
    """`schedulers.transport.Transport` to a simulated cluster; adds up the bytes and seconds of its answers."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self.cluster = cluster
        self.seconds = 0.0
        self.size = 0

    def run(self, argv: tuple[str, ...], seconds: float) -> Answer:
        """Answer as the commands of the simulated cluster do."""
        began = time.process_time()
        found = Answer(*answer(self.cluster, argv, "%s"))
        self.size += len(found.stdout)
        self.seconds += time.process_time() - began
        return found


@dataclass
class Counter:
    """Counts the queries that pass through it."""

    queries: int = 0

    def __call__(self, execute: Callable[..., Any], sql: str, parameters: Any, many: bool, context: Any) -> Any:
        """Django's execute wrapper."""
        self.queries += 1
        return execute(sql, parameters, many, context)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.observing")
    parser.add_argument("--jobs", type=int, nargs="+", default=[100, 1000, 10_000])
    sizes = parser.parse_args().jobs
    prepare()
    print(f"`python -m benchmarks.observing --jobs {' '.join(map(str, sizes))}`\n")
    print(f"{machine_line()}; {connection.vendor}, {NODES} nodes.\n")
    print("| jobs | what the listing shows | answers MB | reading them s | all of it s | queries |")
    print("|--:|---|--:|--:|--:|--:|")
    for jobs in sizes:
        _observe(jobs)
    return 0


def _observe(jobs: int) -> None:
    """Three observations of one cluster, a line of the table for each."""
    simulated = simulated_cluster(jobs)
    cluster = Cluster.objects.create(name=f"c{jobs}", log_roots=["/logs"])
    transport = InProcess(simulated)
    for words in ("every job for the first time", "nothing new", f"the end of one job in {CHANGED}"):
        if words.startswith("the end"):
            simulated.advance(simulated.now + 60)
        print(f"| {jobs} | {words} | {_measured(cluster, transport)} |", flush=True)


def simulated_cluster(jobs: int) -> SimulatedCluster:
    """All jobs run, with a node each as far as there are enough; one in `CHANGED` ends within a minute."""
    names = tuple(f"n{number:04d}" for number in range(NODES))
    settings = Settings(node_names=names, jobs_per_node=jobs // NODES + 1)
    simulated = SimulatedCluster(time.time(), settings, MemoryLogs())
    for number in range(jobs):
        steps, seconds = (1, 20.0) if number % CHANGED == 0 else (10_000, 3600.0)
        simulated.submit(Play(comment=COMMENT, steps=steps, step_seconds=seconds, output="%x_%j.log"))
    simulated.advance(simulated.now + 5)
    return simulated


def _measured(cluster: Cluster, transport: InProcess) -> str:
    """Reading alone (on a second asking), then one whole observation."""
    scheduler = Slurm(transport, 60)
    transport.seconds, transport.size = 0.0, 0
    began = time.process_time()
    scheduler.jobs()
    scheduler.nodes()
    reading = time.process_time() - began - transport.seconds
    size, transport.seconds, counter = transport.size, 0.0, Counter()
    began = time.process_time()
    with connection.execute_wrapper(counter):
        observe(cluster, scheduler, datetime.now(UTC))
    seconds = time.process_time() - began - transport.seconds
    return f"{size / 1e6:.2f} | {reading:.3f} | {seconds:.3f} | {counter.queries}"


if __name__ == "__main__":
    sys.exit(main())

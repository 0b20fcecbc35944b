"""What does one pushed listing cost, here and there?

`python -m benchmarks.pushing [--jobs 100 1000 10000]`. A simulated cluster in this process answers, its own time is
taken off. The controller's part: what it reads, makes and packs. The site's: one request in this process through
the same doors as any, with all checks, on an empty database; no network is in it. Processor time of one core,
except *accepted*, which is elapsed.
"""

import argparse
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from benchmarks.fresh_site import prepare  # Django must be ready before anything that has models

# isort: split

from django.db import connection
from django.test import Client
from django.test.utils import setup_test_environment

from advisor_api.token_role import TokenRole
from advisor_api.tokens import issue
from audit.actor_kind import ActorKind
from audit.trail import Actor
from benchmarks.machine import machine_line
from benchmarks.observing import CHANGED, NODES, Counter, InProcess, simulated_cluster
from controller.push_client import packed
from schedulers.observation import Observation, written
from schedulers.slurm.adapter import Slurm
from workloads.models import Cluster


@dataclass
class Pusher:
    """One cluster and whoever pushes for it."""

    scheduler: Slurm
    transport: InProcess
    client: Client
    cluster: Cluster

    def push(self) -> str:
        """One listing; the fields of a line of the table."""
        self.transport.seconds = 0.0
        began = time.process_time()
        jobs, nodes = self.scheduler.jobs().jobs, self.scheduler.nodes()
        limits, now = self.scheduler.limits(), datetime.now(UTC)
        read = time.process_time() - began - self.transport.seconds
        began = time.process_time()
        told = Observation(int(now.timestamp() * 1000), now, jobs, nodes, limits, answers=True)
        body = packed(written(told))
        packing = time.process_time() - began
        path, kind = f"/v1/clusters/{self.cluster.name}/observation", "application/json"
        counter, began, elapsed = Counter(), time.process_time(), time.monotonic()
        with connection.execute_wrapper(counter):
            answer = self.client.put(path, body, kind, headers={"Content-Encoding": "gzip"})
        elapsed, taking = time.monotonic() - elapsed, time.process_time() - began
        if answer.status_code != 200 or not answer.json()["stored"]:
            raise SystemExit(f"{answer.status_code}: {answer.content[:300]!r}")
        cells = f"{len(body) / 1e6:.3f} | {read:.3f} | {packing:.3f} | {taking:.3f} | {elapsed:.3f}"
        return f"{cells} | {counter.queries}"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pushing")
    parser.add_argument("--jobs", type=int, nargs="+", default=[100, 1000, 10_000])
    sizes = parser.parse_args().jobs
    prepare()
    setup_test_environment()
    print(f"`python -m benchmarks.pushing --jobs {' '.join(map(str, sizes))}`\n")
    print(f"{machine_line()}; {connection.vendor}, {NODES} nodes.\n")
    print("| jobs | what the listing shows | packed MB | reading s | packing s | taking s | accepted s | queries |")
    print("|--:|---|--:|--:|--:|--:|--:|--:|")
    for jobs in sizes:
        _push(jobs)
    return 0


def _push(jobs: int) -> None:
    """Three listings of one cluster, a line of the table for each."""
    simulated = simulated_cluster(jobs)
    cluster = Cluster.objects.create(name=f"c{jobs}", log_roots=["/logs"], scheduler_transport="push")
    actor = Actor(ActorKind.PERSON, "benchmark")
    secret = issue(f"c{jobs}", TokenRole.CONTROLLER, [cluster], now=datetime.now(UTC), actor=actor)
    transport = InProcess(simulated)
    pusher = Pusher(Slurm(transport, 60), transport, Client(headers={"Authorization": f"Bearer {secret}"}), cluster)
    for words in ("every job for the first time", "nothing new", f"the end of one job in {CHANGED}"):
        if words.startswith("the end"):
            simulated.advance(simulated.now + 60)
        print(f"| {jobs} | {words} | {pusher.push()} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())

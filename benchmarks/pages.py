"""How long does each page of the console take on a site with 100,000 jobs and a million events?

`python -m lab.stores nice python -m benchmarks.pages [--jobs N] [--events N] [--repeat N]` on MariaDB; without
`lab.stores` on SQLite. Every page and panel of `console/urls.py` and the list of jobs under each of its filters,
with nothing rendered before. Seen is what a person waits for, without the network; CPU is the site's own.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.fresh_site import prepare  # Django must be ready before anything that has models

# isort: split

from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext, setup_test_environment
from django.utils import timezone

from benchmarks.console_addresses import addresses
from benchmarks.crowded_site import CLUSTERS, fill
from benchmarks.machine import machine_line
from console.rendering import bodies
from recovery_site.settling import settle
from workloads.models import Cluster

FILTERS = (
    "state=live", "state=running", "state=waiting", "state=recovery", "state=approval", "state=blind",
    "state=stopped", "state=failed", "state=ended", "state=every", "state=every&user=user017", "user=user017",
    "state=failed&user=user017&cluster=alpha", "partition=debug&state=every", "cluster=beta&state=every",
    "kind=slurm&state=every", "node=n0007&state=every", "pattern=gpu.fault3&state=every",
    "wish=nothing&state=every", "attempts=1&state=failed", "attempts=5&state=every", "since=2h&state=every",
    "until=60d&state=every", "q=user017", "q=seed7&state=every", "q=nowhere&state=every",
    "q=n0007&state=every", "q=100777&state=every", "q=gpu.fault3&state=every",
    "q=train-69&state=failed&partition=gpu", "state=every&sort=name", "state=every&sort=-nodes",
    "state=every&sort=-attempts", "state=failed&sort=user", "state=every&sort=state",
    "state=every&sort=-submitted", "state=every&sort=-number", "q=seed7&state=every&sort=-nodes",
    "state=every&after=50000", "state=every&sort=name&after=50000~train-350-seed3",
)  # fmt: skip


@dataclass
class Taken:
    """What one address took: seconds seen and of the processor, queries, and seconds of MariaDB's each time."""

    seen: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    queries: int = 0
    database: float = 0.0
    longest: str = ""


def main() -> int:
    """Seed, ask, print a table in Markdown; 1 when a page is no page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--only", default="", help="the page of this name, or addresses that contain this")
    parser.add_argument("--panels", action="store_true", help="each panel by itself, too")
    parser.add_argument("--hide", metavar="CLUSTER", help="asked by somebody who sees the other clusters alone")
    parser.add_argument("--filled", action="store_true", help="the database was filled by an earlier run")
    parser.add_argument(
        "--explain", action="store_true", help="print the plan of the slowest query of each address"
    )
    options = parser.parse_args()
    prepare()
    setup_test_environment()  # for the client's host name
    began = time.monotonic()
    client = Client()
    known = User.objects.order_by("pk").first() if options.filled else None
    person = known or fill(options.jobs, options.events, timezone.now())
    if options.hide:
        _hide(options.hide, person)
    client.force_login(person)
    settle()  # as the web servers do
    print(f"{machine_line()}; {connection.vendor}, filled in {time.monotonic() - began:.0f} s\n", flush=True)
    print("| page | queries | median ms | p95 ms | site CPU ms | MariaDB CPU ms |\n|---|--:|--:|--:|--:|--:|")
    for name, address in _asked():
        if options.hide and client.get(address).status_code == 404:
            continue  # it speaks of no cluster, and is for those who see all of them
        if (options.only == name or options.only in address) and (options.panels or not name.startswith("panel ")):
            _print(name, _take(client, address, options.repeat), options.explain)
    return 0


def _hide(cluster: str, person: User) -> None:
    """The person may still do everything, and does not see this cluster."""
    if not Cluster.objects.filter(name=cluster).update(seen_by=["a group without members"]):
        raise SystemExit(f"There is no cluster {cluster!r}; there are {', '.join(name for name, _ in CLUSTERS)}.")
    person.is_superuser = False
    person.save()
    person.user_permissions.set(Permission.objects.all())


def _asked() -> Iterator[tuple[str, str]]:
    yield from addresses()
    for query in FILTERS:
        yield f"jobs `{query}`", f"/jobs?{query}"


def _take(client: Client, address: str, repeat: int) -> Taken:
    taken = Taken()
    _ask(client, address)  # templates, permissions and content types are read once
    with CaptureQueriesContext(connection) as captured:
        _ask(client, address)
    taken.queries = len(captured)
    slowest = max(captured.captured_queries, key=lambda query: float(query["time"]), default=None)
    taken.longest = slowest["sql"] if slowest else ""
    theirs = _database_cpu()
    for _turn in range(repeat):
        began, own = time.perf_counter(), time.process_time()
        _ask(client, address)
        taken.seen.append(time.perf_counter() - began)
        taken.cpu.append(time.process_time() - own)
    taken.database = (_database_cpu() - theirs) / repeat
    return taken


def _database_cpu() -> float:
    """Seconds that MariaDB has taken, on this machine; 0 for SQLite, which is part of the site's process."""
    if connection.vendor != "mysql":
        return 0.0
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@pid_file")
        file = cursor.fetchone()[0]
    fields = Path(f"/proc/{Path(file).read_text().strip()}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _ask(client: Client, address: str) -> None:
    bodies.forget()
    answer = client.get(address, follow=True)
    if answer.status_code != 200:
        raise SystemExit(f"{address}: {answer.status_code}")


def _print(name: str, taken: Taken, explain: bool) -> None:
    p95 = sorted(taken.seen)[max(0, -(-len(taken.seen) * 95 // 100) - 1)]
    mark = " **over**" if p95 > 0.2 else ""
    print(
        f"| {name} | {taken.queries} | {median(taken.seen) * 1000:.0f} | {p95 * 1000:.0f}{mark} "
        f"| {median(taken.cpu) * 1000:.0f} | {taken.database * 1000:.0f} |",
        flush=True,
    )
    if explain and taken.longest.startswith("SELECT"):
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {taken.longest}".replace("%", "%%"))
            for row in cursor.fetchall():
                print("    ", *row, file=sys.stderr)
        print("    ", taken.longest[:600], file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())

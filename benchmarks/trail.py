"""How many events does the trail take, seal, verify and find again, and how quickly?

`python -m lab.stores python -m benchmarks.trail [--seconds N] [--events N] [--sealed N]` on MariaDB: events are
posted to `/v1/audit/events` in batches while another process seals as the worker does; then the table is filled to
a length and the common queries are asked. Give it an empty database.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

from benchmarks.fresh_site import prepare  # Django must be ready before anything that has models

# isort: split

from django.db import connection
from django.test import Client
from django.test.utils import setup_test_environment
from django.utils import timezone

from advisor_api.paging import beyond
from advisor_api.token_role import TokenRole
from advisor_api.tokens import issue
from advisor_api.trail_reading import PRODUCED, timeline_of
from advisor_api.trail_search import ORDER, Filters, search
from audit.actor_kind import ActorKind
from audit.models import AuditEvent, AuditUnsealed
from audit.sealing import seal_waiting
from audit.trail import Actor
from audit.verifying import verify
from benchmarks.machine import machine_line
from schedulers.states import JobState
from workloads.identity import heimdall_id
from workloads.models import Attempt, Cluster, Job

BATCH = 250
JOBS = 200
TICK = os.sysconf("SC_CLK_TCK")
PAGE = 100
REPEAT = 7
LINE = "NCCL WARN NET/IB : Got completion from peer with status=12 opcode=0 len=0 vendor err 129 (Recv)"


def main() -> int:
    """Every part in its order; Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="of ingest")
    parser.add_argument("--events", type=int, default=1_000_000, help="length of the table for the queries")
    parser.add_argument("--sealed", type=int, default=100_000, help="events that are sealed and verified")
    parser.add_argument("--seal", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.seal:
        return _seal_until_told()
    prepare()
    setup_test_environment()  # for the client's host name
    if connection.vendor != "mysql":
        print("Give it MariaDB: python -m lab.stores python -m benchmarks.trail", file=sys.stderr)
        return 2
    print(f"{machine_line()}\n")
    cluster = Cluster.objects.create(name="demo", environment="demo")
    _jobs(cluster)
    _ingest(cluster, options.seconds)
    _fill(options.sealed)
    _seal(options.sealed)
    _verify()
    _fill(options.events)
    _queries(cluster)
    return 0


def _jobs(cluster: Cluster) -> None:
    now = timezone.now()
    jobs = [
        Job(cluster=cluster, number=n, user=f"user{n % 20}", node_count=1, created_at=now, seen_at=now)
        for n in range(1, JOBS + 1)
    ]
    Job.objects.bulk_create(jobs)
    Attempt.objects.bulk_create(
        Attempt(
            job=job,
            index=0,
            heimdall_id=heimdall_id("demo", job.number, 0, 0),
            state=JobState.RUNNING.value,
            first_seen_at=now,
            changed_at=now,
        )
        for job in Job.objects.filter(cluster=cluster)
    )


def _ingest(cluster: Cluster, seconds: float) -> None:
    """Batches one after the other, for so long, beside the sealer."""
    secret = issue(
        "controller", TokenRole.CONTROLLER, [cluster], now=timezone.now(), actor=Actor(ActorKind.PERSON, "b")
    )
    sealer = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.trail", "--seal"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    client, ids = Client(headers={"Authorization": f"Bearer {secret}"}), _ids()
    began, own, base = time.monotonic(), time.process_time(), _database_cpu()
    number, waits = 0, []
    while time.monotonic() - began < seconds:
        sent = time.monotonic()
        answer = client.post("/v1/audit/events", {"items": list(_batch(number, ids))}, "application/json")
        if answer.json() != {"accepted": BATCH}:
            raise SystemExit(f"{answer.status_code}: {answer.content[:300]!r}")
        waits.append(time.monotonic() - sent)
        number += BATCH
    span, cpu, theirs = time.monotonic() - began, time.process_time() - own, _database_cpu() - base
    behind = AuditUnsealed.objects.count()
    sealed_cpu = sealer.communicate("\n", timeout=120)[0].strip()
    waits.sort()
    print(f"Ingest: {number} events in {span:.1f} s, {number / span:.0f}/s beside the sealer, batches of {BATCH}: ")
    print(f"median {median(waits) * 1000:.0f} ms, 95 % {waits[int(len(waits) * 0.95)] * 1000:.0f} ms.")
    print(f"CPU per event: site {cpu / number * 1e6:.0f} µs, database {theirs / number * 1e6:.0f} µs with sealing.")
    print(f"{behind} events waited for their seal at the end. Sealer: {sealed_cpu}\n")


def _batch(start: int, ids: list[str]) -> Iterator[dict[str, object]]:
    micros = int(time.time() * 1_000_000)
    for number in range(start, start + BATCH):
        yield {
            "heimdallJobId": ids[number % len(ids)],
            "eventProducer": "exporter",
            "eventType": f"kind{number % 7}",
            "eventProducedAt": str(micros + number),
            "idempotencyKey": str(uuid4()),
            "payload": {"action": f"act{number % 9}", "line": LINE, "step": number},
        }


def _seal_until_told() -> int:
    """What the worker does each second, until a line comes; the CPU it took."""
    os.set_blocking(sys.stdin.fileno(), False)
    sealed = 0
    while not sys.stdin.readline():
        while some := seal_waiting(timezone.now()):
            sealed += some
        time.sleep(1.0)
    while some := seal_waiting(timezone.now()):
        sealed += some
    print(f"{sealed} events, {time.process_time() / max(sealed, 1) * 1e6:.0f} µs of CPU each")
    return 0


def _fill(length: int) -> None:
    """Copies of what is there, each with jobs, nodes and times of its own, until the table is so long."""
    count, turn = AuditEvent.objects.count(), 0
    while count < length:
        turn += 1
        most = min(length - count, count, 50_000)
        with connection.cursor() as cursor:
            cursor.execute(_COPY, [turn, turn, turn, turn, turn, turn, most])
        count += most


_COPY = """
INSERT INTO audit_auditevent (uuid, at, scheduler_at, cluster, job_number, job_epoch, attempt_index,
  heimdall_job_id, node, actor_kind, actor, type, level, pattern, action, sentence, payload, payload_version,
  trace_id)
SELECT UUID(), at - INTERVAL %s * 10 MINUTE, scheduler_at, cluster, job_number + %s * 1000, job_epoch,
  attempt_index, CONCAT(LEFT(heimdall_job_id, 24), LPAD(HEX(%s), 12, '0')), CONCAT('n', id %% 1000),
  'rule', CONCAT('rule', id %% 40),
  ELT(1 + id %% 5, 'anomaly', 'verdict', 'advice', 'attempt_state', 'action'),
  IF(id %% 500 = 0, 'error', IF(id %% 20 = 0, 'warning', 'info')), CONCAT('pattern', (id + %s) %% 300),
  CONCAT('act', (id + %s) %% 60), sentence, payload, payload_version, CONCAT('t', %s)
FROM audit_auditevent ORDER BY id DESC LIMIT %s
"""


def _seal(most: int) -> None:
    began, own, base, sealed = time.monotonic(), time.process_time(), _database_cpu(), 0
    while sealed < most and (some := seal_waiting(timezone.now())):
        sealed += some
    span, cpu = time.monotonic() - began, time.process_time() - own
    theirs = _database_cpu() - base
    print(
        f"Sealing: {sealed} events in {span:.1f} s, {sealed / span:.0f}/s; "
        f"CPU per event {cpu / sealed * 1e6:.0f} µs, database {theirs / sealed * 1e6:.0f} µs.\n"
    )


def _verify() -> None:
    began, own = time.monotonic(), time.process_time()
    report = verify("demo", "")
    span, cpu = time.monotonic() - began, time.process_time() - own
    if report.problem:
        raise SystemExit(report.problem)
    each = 1_000_000 / report.seals
    print(
        f"Verifying: {report.seals} events in {span:.1f} s; per million {span * each:.0f} s, "
        f"of CPU {cpu * each:.0f} s.\n"
    )


def _queries(cluster: Cluster) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE TABLE audit_auditevent")
        cursor.fetchall()
        cursor.execute(
            "SELECT data_length / 1048576, index_length / 1048576 FROM information_schema.tables "
            "WHERE table_schema = DATABASE() AND table_name = 'audit_auditevent'"
        )
        rows, indexes = cursor.fetchone()
    print(f"{AuditEvent.objects.count()} events, {rows:.0f} MiB of rows, {indexes:.0f} MiB of indexes.\n")
    print(
        "| a page of 100 | index | rows looked at (estimate) | median ms | worst of 7 ms |\n|---|---|--:|--:|--:|"
    )
    for name, ask in _asked(cluster):
        _measure(name, ask)


def _asked(cluster: Cluster) -> Iterator[tuple[str, Callable[[], object]]]:
    deep = AuditEvent.objects.order_by("at", "pk")[AuditEvent.objects.count() // 2]
    middle = deep.at
    hour: dict[str, Any] = {"since": middle - timedelta(hours=1), "until": middle}
    attempt = Attempt.objects.select_related("job__cluster")[0]

    def page(after: AuditEvent | None = None, **filters: Any) -> Callable[[], object]:
        rows = search("demo", Filters(**filters))
        rows = rows if after is None else rows.filter(beyond(ORDER, (after.at, after.pk), "lt"))
        return lambda: rows.order_by(*(f"-{key}" for key in ORDER))[:PAGE]

    job = AuditEvent.objects.filter(job_number__gt=1000)[0]
    yield "newest", page()
    yield "deep in the past, by a cursor", page(deep)
    yield "an hour", page(**hour)
    named: dict[str, Any]
    for name, value in (("type", "verdict"), ("level", "error"), ("node", "n17"), ("actor", "rule7")):
        named = {name: value}
        yield name, page(**named)
        yield f"{name}, an hour", page(**named, **hour)
    yield "pattern", page(pattern="pattern9")
    yield "action", page(action="act9")
    yield "action that there is none of", page(action="nothing")
    yield "type and node", page(type="verdict", node="n17")
    yield "level and pattern", page(level="error", pattern="pattern20")
    yield "job", page(job_number=job.job_number)
    yield "attempt", page(heimdall_job_id=attempt.heimdall_id)
    yield "user", page(user="user3")
    yield "timeline of an attempt", lambda: timeline_of(attempt).order_by(PRODUCED, "pk")[:PAGE]


def _measure(name: str, ask: Callable[[], object]) -> None:
    rows = ask()
    plan = _plan(rows)
    times = []
    for _try in range(REPEAT):
        began = time.perf_counter()
        list(ask())  # type: ignore[call-overload]
        times.append((time.perf_counter() - began) * 1000)
    print(f"| {name} | {plan} | {median(times):.1f} | {max(times):.1f} |")


def _plan(rows: object) -> str:
    sql, values = rows.query.sql_with_params()  # type: ignore[attr-defined]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {sql}", values)
        names = [column[0] for column in cursor.description]
        steps = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return " + ".join(f"{step['key']}" for step in steps) + f" | {max(int(step['rows'] or 0) for step in steps)}"


def _ids() -> list[str]:
    return [str(one) for one in Attempt.objects.values_list("heimdall_id", flat=True)]


def _database_cpu() -> float:
    """Seconds of CPU that the server has taken, from its own process: on this machine alone."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@pid_file")
        file = cursor.fetchone()[0]
    fields = Path(f"/proc/{Path(file).read_text().strip()}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


if __name__ == "__main__":
    sys.exit(main())

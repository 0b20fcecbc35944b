"""How many events does the trail take, seal, verify and archive, and how quickly?

`python -m lab.stores python -m benchmarks.trail [--seconds N] [--sealed N]` on MariaDB: events are posted to
`/v1/audit/events` in batches while another process seals as the worker does. Processor time is of all parts: the
client that makes the batches, the site, the sealer and the database. Give it an empty database. How long a page
takes in a long trail: `benchmarks.trail_length`.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from uuid import uuid4

from benchmarks.fresh_site import prepare  # Django must be ready before anything that has models

# isort: split

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import connection
from django.test import Client
from django.test.utils import setup_test_environment
from django.utils import timezone

from advisor_api.token_role import TokenRole
from advisor_api.tokens import issue
from audit.actor_kind import ActorKind
from audit.archiving import Archive, alone, archive_next
from audit.checkpoints import sign_due
from audit.keyring import Keyring, of_publics
from audit.models import AuditEvent, AuditUnsealed
from audit.sealing import seal_waiting
from audit.signing import public_half
from audit.trail import Actor
from audit.verifying import verify
from benchmarks.machine import machine_line
from schedulers.states import JobState
from workloads.identity import heimdall_id
from workloads.models import Attempt, Cluster, Job

BATCH = 250
JOBS = 200
TICK = os.sysconf("SC_CLK_TCK")
LINE = "NCCL WARN NET/IB : Got completion from peer with status=12 opcode=0 len=0 vendor err 129 (Recv)"


def main() -> int:
    """Every part in its order; Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="of ingest")
    parser.add_argument("--sealed", type=int, default=100_000, help="events that are sealed and verified")
    parser.add_argument("--seal", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.seal:
        return _seal_until_told()
    folder = prepare()
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
    _archive(Path(folder))
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
    _post(client, ids, 0)  # the first request loads half of the site
    began, own, base = time.monotonic(), time.process_time(), _database_cpu()
    number, waits = 0, []
    while time.monotonic() - began < seconds:
        waits.append(_post(client, ids, BATCH + number))
        number += BATCH
    span, cpu = time.monotonic() - began, time.process_time() - own
    behind = AuditUnsealed.objects.count()
    sealed, its = map(float, sealer.communicate("\n", timeout=120)[0].split())
    theirs = _database_cpu() - base  # with what the sealer had still to do
    all_of_it = cpu + theirs + its
    waits.sort()
    print(f"Ingest: {number} events in {span:.1f} s, {number / span:.0f}/s beside the sealer, batches of {BATCH}: ")
    print(f"median {median(waits) * 1000:.0f} ms, 95 % {waits[int(len(waits) * 0.95)] * 1000:.0f} ms.")
    print(
        f"CPU per event: client and site {cpu / number * 1e6:.0f} µs, sealer {its / sealed * 1e6:.0f} µs, database "
        f"{theirs / number * 1e6:.0f} µs with sealing: together {number / all_of_it:.0f} events per core-second."
    )
    print(f"{behind} events waited for their seal at the end.\n")


def _post(client: Client, ids: list[str], number: int) -> float:
    sent = time.monotonic()
    answer = client.post("/v1/audit/events", {"items": list(_batch(number, ids))}, "application/json")
    if answer.json() != {"accepted": BATCH}:
        raise SystemExit(f"{answer.status_code}: {answer.content[:300]!r}")
    return time.monotonic() - sent


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
    """What the worker does each second, until a line comes; says how many, and the CPU it took in seconds."""
    os.set_blocking(sys.stdin.fileno(), False)
    sealed, begun = 0, time.process_time()  # without the start of the process
    while not sys.stdin.readline():
        while some := seal_waiting(timezone.now()):
            sealed += some
        time.sleep(1.0)
    while some := seal_waiting(timezone.now()):
        sealed += some
    print(f"{sealed} {time.process_time() - begun}")
    return 0


def _fill(length: int) -> None:
    """Copies of what is there, until the table is so long."""
    count = AuditEvent.objects.count()
    while count < length:
        most = min(length - count, count, 50_000)
        with connection.cursor() as cursor:
            cursor.execute(_COPY, [most])
        count += most


_COPY = """
INSERT INTO audit_auditevent (uuid, at, scheduler_at, cluster, job_number, job_epoch, attempt_index,
  heimdall_job_id, node, user, actor_kind, actor, type, level, pattern, action, sentence, payload, payload_version,
  trace_id)
SELECT UUID(), at, scheduler_at, cluster, job_number, job_epoch, attempt_index, heimdall_job_id, node, user,
  actor_kind, actor, type, level, pattern, action, sentence, payload, payload_version, trace_id
FROM audit_auditevent ORDER BY id DESC LIMIT %s
"""


def _seal(most: int) -> None:
    began, own, base, sealed = time.monotonic(), time.process_time(), _database_cpu(), 0
    while sealed < most and (some := seal_waiting(timezone.now())):
        sealed += some
    if not sealed:
        print("Sealing: nothing waited for its seal.\n")
        return
    span, cpu = time.monotonic() - began, time.process_time() - own
    theirs = _database_cpu() - base
    print(
        f"Sealing: {sealed} events in {span:.1f} s, {sealed / span:.0f}/s; "
        f"CPU per event {cpu / sealed * 1e6:.0f} µs, database {theirs / sealed * 1e6:.0f} µs.\n"
    )


def _verify() -> None:
    began, own = time.monotonic(), time.process_time()
    report = verify("demo", Keyring())
    span, cpu = time.monotonic() - began, time.process_time() - own
    if report.problem:
        raise SystemExit(report.problem)
    each = 1_000_000 / report.seals
    print(
        f"Verifying: {report.seals} events in {span:.1f} s; per million {span * each:.0f} s, "
        f"of CPU {cpu * each:.0f} s.\n"
    )


def _archive(folder: Path) -> None:
    """All that is sealed goes into files."""
    key = Ed25519PrivateKey.generate()
    sign_due(lambda: key, timezone.now())
    began, own, base = time.monotonic(), time.process_time(), _database_cpu()
    with alone(folder):
        archive = Archive(folder, key, Actor(ActorKind.PERSON, "b"), of_publics(public_half(key)))
        stone = archive_next("demo", archive, timezone.now(), timezone.now)
    if stone is None:
        raise SystemExit("nothing was archived")
    events = stone.last_seq
    span, cpu, theirs = time.monotonic() - began, time.process_time() - own, _database_cpu() - base
    print(
        f"Archiving: {events} events in {span:.1f} s, in one part; CPU per event {cpu / events * 1e6:.0f} µs, "
        f"database {theirs / events * 1e6:.0f} µs; {stone.size / events:.0f} bytes of file an event.\n"
    )


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

"""How does a trail of millions of events come into being within minutes?

The database makes the rows itself, without indexes and without telling the sealer, and then builds each index over
all of them at once. MariaDB alone: its engine SEQUENCE counts.
"""

import time

from django.db import connection
from django.utils import timezone

from workloads.models import Attempt, Cluster, Job

SPAN_DAYS = 365
AT_ONCE = 500_000
RUNNING, EACH = 2_000, 40  # attempts at a time, events of one: 40 * 2,000 events and then the next 2,000 attempts
NODES, USERS, PATTERNS, RULES = 1_000, 400, 300, 40
LONG_JOB = 777_777_777
"""A job of months: each thousandth event of a cluster is its own."""


def fill(cluster: Cluster, events: int) -> float:
    """Make the events and their attempts; how many seconds it took. Give it a cluster without any."""
    began = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute("SET GLOBAL innodb_log_file_size = 2147483648")  # fewer pauses to write back
        cursor.execute("DROP TRIGGER audit_auditevent_unsealed")
        drop, make = _indexes()
        cursor.execute(f"ALTER TABLE audit_auditevent {', '.join(drop)}")
        for start in range(0, events, AT_ONCE):
            last = min(events, start + AT_ONCE) - 1
            cursor.execute(_ROWS.format(start=start, last=last, events=events), [cluster.name])
        cursor.execute(f"ALTER TABLE audit_auditevent {', '.join(make)}")
        cursor.execute(
            "CREATE TRIGGER audit_auditevent_unsealed AFTER INSERT ON audit_auditevent FOR EACH ROW "
            "INSERT INTO audit_auditunsealed (event, cluster) VALUES (NEW.id, NEW.cluster)"
        )
        cursor.execute("ANALYZE TABLE audit_auditevent")
        cursor.fetchall()
    _attempts(cluster, events)
    return time.monotonic() - began


def _indexes() -> tuple[list[str], list[str]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT index_name, non_unique, GROUP_CONCAT(CONCAT('`', column_name, '`') ORDER BY seq_in_index) "
            "FROM information_schema.statistics WHERE table_schema = DATABASE() AND "
            "table_name = 'audit_auditevent' AND index_name <> 'PRIMARY' GROUP BY index_name, non_unique"
        )
        found = cursor.fetchall()
    drop = [f"DROP INDEX `{name}`" for name, _many, _columns in found]
    make = [f"ADD {'' if many else 'UNIQUE '}INDEX `{name}` ({columns})" for name, many, columns in found]
    return drop, make


def _attempts(cluster: Cluster, events: int) -> None:
    """The jobs of the newest attempts, so that a page of one can be asked for, and the long one."""
    newest = range(max(0, events // EACH - 1000), events // EACH)
    numbers = [LONG_JOB, *(1 + one for one in newest)]
    now = timezone.now()
    Job.objects.bulk_create(
        Job(cluster=cluster, number=n, user=f"user{n % USERS}", node_count=1, created_at=now, seen_at=now)
        for n in numbers
    )
    Attempt.objects.bulk_create(
        Attempt(
            job=job,
            index=0,
            heimdall_id=f"{'0' * 20}{job.number:012x}",
            state="running",
            first_seen_at=now,
            changed_at=now,
        )
        for job in Job.objects.filter(cluster=cluster)
    )


_ATTEMPT = f"((seq DIV {RUNNING * EACH}) * {RUNNING} + seq MOD {RUNNING})"  # the attempt that speaks
_STEP = f"((seq DIV {RUNNING}) MOD {EACH})"  # which of its events it is
_LONG = "(seq MOD 1000 = 999)"
_NUMBER = f"IF({_LONG}, {LONG_JOB}, 1 + {_ATTEMPT})"
_SPREAD = "CRC32(seq)"  # by chance, and the same ones each time
_ROWS = f"""
INSERT INTO audit_auditevent (uuid, at, scheduler_at, cluster, job_number, job_epoch, attempt_index,
  heimdall_job_id, node, user, actor_kind, actor, type, level, pattern, action, sentence, payload, payload_version,
  trace_id)
SELECT UUID(), UTC_TIMESTAMP(6) - INTERVAL {SPAN_DAYS} DAY + INTERVAL {SPAN_DAYS} * 86400 * seq / {{events}} SECOND,
  NULL, %s, {_NUMBER}, 0, 0,
  CONCAT(REPEAT('0', 20), LPAD(HEX({_NUMBER}), 12, '0')),
  IF({_SPREAD} MOD 10 < 3, CONCAT('n', {_SPREAD} DIV 16 MOD {NODES}), ''),
  CONCAT('user', {_NUMBER} MOD {USERS}),
  IF({_STEP} MOD 4 = 0, 'detector', 'rule'), CONCAT('rule', {_SPREAD} DIV 64 MOD {RULES}),
  CASE WHEN {_STEP} = 0 THEN 'attempt_seen' WHEN {_STEP} < 4 THEN 'attempt_state' WHEN {_STEP} < 30
    THEN 'checkpoint_saved' ELSE ELT(1 + {_STEP} MOD 5, 'anomaly', 'verdict', 'advice', 'intent', 'action') END,
  IF({_SPREAD} MOD 1000 < 2, 'error', IF({_SPREAD} MOD 1000 < 50, 'warning', 'info')),
  IF({_STEP} < 30, '', CONCAT('pattern', {_SPREAD} DIV 8 MOD {PATTERNS})),
  IF({_STEP} < 36, '', CONCAT('act', {_SPREAD} DIV 8 MOD 12)),
  CONCAT('A sentence of usual length about job ', {_NUMBER}, ', which says in words what happened at step ', seq),
  CONCAT('{{{{"step": ', seq, ', "path": "/scratch/run/checkpoints/step_', seq, '", "seconds": 12.5}}}}'), 1,
  CONCAT('t', {_ATTEMPT})
FROM seq_{{start}}_to_{{last}}
"""  # noqa: S608  # numbers of ours

"""How do 100,000 jobs and a trail of a million events come about in a minute? As copies of a few thousand rows."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import connection, models

from advisor_api.models import Advice, Sequence
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.models import AuditEvent, AuditUnsealed
from audit.trail import Actor, Entry, record
from detectors.models import Anomaly, Stay, Verdict
from workloads.models import Attempt, Job
from workloads.subjects import subject_of

APART = 1_000_000  # keys of one copy and of the next
STEP = 100_000  # events in one statement


DIALECT = {
    "uuid_mysql": "UUID()",
    "uuid_sqlite": "LOWER(HEX(RANDOMBLOB(16)))",
    "earlier_mysql": "{column} - INTERVAL {count} HOUR",
    "earlier_sqlite": "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', {column}, '-' || ({count}) || ' hours')",
}
"""How the databases say what they say differently."""


def copy_tile(copies: int) -> None:
    """So many copies of every job with its attempts, stays, verdicts and advice, a day earlier each."""
    if copies < 1:
        return
    moved = f"{{0}} + copy.n * {APART}"
    own = {"id": moved.format("id")}
    of_attempt = {"attempt_id": moved.format("attempt_id")}
    a_uuid = {"uuid": _say("uuid")}
    earlier = {name: _earlier(name, "copy.n * 24") for name in ("created_at", "happened_at", "judged_at")}
    _copy(Job, copies, own | {"number": moved.format("number"), "created_at": earlier["created_at"]})
    _copy(Attempt, copies, own | {"job_id": moved.format("job_id"), "heimdall_id": _say("uuid")})
    _copy(Stay, copies, of_attempt)
    times = {name: earlier[name] for name in ("happened_at", "judged_at")}
    _copy(Verdict, copies, own | of_attempt | a_uuid | times)
    _copy(Anomaly, copies, of_attempt | a_uuid | {"happened_at": earlier["happened_at"]})
    over = "state NOT IN ('pending', 'awaiting_approval')"
    verdict = {"verdict_id": moved.format("verdict_id"), "created_at": earlier["created_at"]}
    _copy(Advice, copies, own | of_attempt | verdict, over)
    _copy(Sequence, copies, a_uuid | {"advice_id": moved.format("advice_id")}, "closed_at IS NOT NULL")


def fill_trail(events: int, now: datetime) -> None:
    """A few thousand events by the product's own way, then copies of them, each with a job and time of its own."""
    some = Attempt.objects.select_related("job__cluster").order_by("pk")[:2000]
    kinds = [EventType.ANOMALY, EventType.VERDICT, EventType.ADVICE, EventType.ATTEMPT_STATE, EventType.ACTION]
    entries = [
        Entry(kinds[n % 5], subject_of(one), Actor(ActorKind.RULE, f"rule{n % 40}"), f"{one.label} was looked at")
        for n, one in enumerate(some)
    ]
    for start in range(0, len(entries), 500):
        record(entries[start : start + 500], now - timedelta(minutes=1))
    count, turn = AuditEvent.objects.count(), 0
    while count < events:
        turn += 1
        most = min(events - count, count, STEP)
        changed = {
            "uuid": _say("uuid"),
            "at": _earlier("at", str(turn)),
            "job_number": f"100000 + (job_number + {turn * 79}) %% 2500",
            "level": "CASE WHEN id %% 500 = 0 THEN 'error' WHEN id %% 20 = 0 THEN 'warning' ELSE 'info' END",
        }
        _insert(AuditEvent, changed, f"audit_auditevent ORDER BY id DESC LIMIT {most}")
        count += most
    AuditUnsealed.objects.all().delete()  # as a sealer that keeps up leaves it


_READ = "SELECT n FROM k"


def _copy(model: type[models.Model], copies: int, changed: Mapping[str, str], which: str = "1 = 1") -> None:
    counted = f"SELECT 1 UNION ALL SELECT n + 1 FROM k WHERE n < {copies:d}"  # noqa: S608  # a number
    numbers = f"WITH RECURSIVE k(n) AS ({counted}) {_READ}"
    _insert(model, changed, f"{model._meta.db_table} CROSS JOIN ({numbers}) AS copy WHERE {which}")


def _insert(model: type[models.Model], changed: Mapping[str, str], source: str) -> None:
    """Every column as it is but for those that are `changed`; a key that is not told is the database's."""
    columns = [str(one.column) for one in model._meta.concrete_fields]
    told = [name for name in columns if name != "id" or "id" in changed]
    quote = connection.ops.quote_name
    names = ", ".join(quote(name) for name in told)
    values = ", ".join(changed.get(name, quote(name)) for name in told)
    # Names of our own tables and columns, and numbers.
    sql = f"INSERT INTO {quote(model._meta.db_table)} ({names}) SELECT {values} FROM {source}"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(sql, [])


def _say(what: str) -> str:
    return DIALECT[f"{what}_{connection.vendor}"]


def _earlier(column: str, hours: str) -> str:
    return _say("earlier").format(column=column, count=hours)

"""What is not to be touched for a while, by whose word?"""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from advisor_api.ending import check_end
from advisor_api.models import Pause
from advisor_api.refusals import Bad, NotFound, Stale
from audit.event_type import EventType
from audit.level import Level
from audit.trail import Actor, Entry, Subject, record
from workloads.models import Cluster, Job

SCOPES = ("cluster", "partition", "user", "job")
VALUE_LIMIT = 128


def active_pauses(cluster: Cluster, now: datetime) -> QuerySet[Pause]:
    """Pauses that hold at `now`. Each begins when it is made, whatever the clock of whoever finds it."""
    return Pause.objects.filter(cluster=cluster, until__gt=now)


def covers(pause: Pause, job: Job) -> bool:
    """Whether a pause speaks of this job."""
    if pause.scope == "cluster":
        return True
    if pause.scope == "partition":
        return pause.value in job.partition.split(",")
    return pause.value == (job.user if pause.scope == "user" else str(job.number))


def pause(
    cluster: Cluster, scope: str, value: str, *, reason: str, until: datetime, actor: Actor, now: datetime
) -> Pause:
    """Nothing is done on what `scope` and `value` name until the end. Raises `Bad`."""
    check_scope(scope, value)
    check_end(until, now)
    with transaction.atomic():
        row = Pause.objects.create(
            cluster=cluster, scope=scope, value=value, reason=reason, owner=actor.name[:128], since=now, until=until
        )
        record([_entry(row, actor, "paused")], now)
    return row


def check_scope(scope: str, value: str) -> None:
    """`Bad` unless scope and value go together."""
    if scope not in SCOPES:
        raise Bad(f"A pause is of one of {', '.join(SCOPES)}.")
    if bool(value) is (scope == "cluster"):
        raise Bad("A pause of the cluster has no value; every other one needs it.")
    if scope == "job" and not (value.isascii() and value.isdigit() and len(value) <= 19):
        raise Bad("The value of a pause of a job is its number.")


def end_pause(row: Pause, actor: Actor, now: datetime) -> Pause:
    """Let it go on before the end of the pause. Raises `Stale` when it has ended already."""
    with transaction.atomic():
        if not Pause.objects.filter(pk=row.pk, until__gt=now).update(until=now):
            raise Stale("The pause has ended already.")
        record([_entry(row, actor, "no longer paused")], now)
    row.until = now
    return row


def find_pause(clusters: Sequence[Cluster], number: int) -> Pause:
    """The pause with this number on one of the clusters; `NotFound` otherwise."""
    row = Pause.objects.select_related("cluster").filter(cluster__in=clusters, pk=number).first()
    if row is None:
        raise NotFound(f"There is no pause {number}.")
    return row


def _entry(row: Pause, actor: Actor, what: str) -> Entry:
    of = f"{row.scope} {row.value}".strip()
    number = int(row.value) if row.scope == "job" and len(row.value) < 19 else None
    return Entry(
        type=EventType.PAUSE,
        subject=Subject(cluster=row.cluster.name, job_number=number),
        actor=actor,
        sentence=f"{of.capitalize()} is {what} (until {row.until:%Y-%m-%d %H:%M} UTC): {row.reason}",
        level=Level.WARNING,
        action="pause" if what == "paused" else "resume",
        payload={"scope": row.scope, "value": row.value, "until": row.until.isoformat()},
    )

"""What is not to be touched for a while, by whose word?"""

import re
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
from workloads.models import Cluster, Job, Node

SCOPES = ("cluster", "partition", "user", "job")
VALUE_LIMIT = 128
_JOB = re.compile(r"[0-9]{1,19}(_[0-9]{1,19})?")
_USER = re.compile(r"[^\s,]{1,64}")


def active_pauses(cluster: Cluster, now: datetime) -> QuerySet[Pause]:
    """Pauses that hold at `now`. Each begins when it is made, whatever the clock of whoever finds it."""
    return Pause.objects.filter(cluster=cluster, until__gt=now)


def covers(pause: Pause, job: Job) -> bool:
    """Whether a pause speaks of this job."""
    if pause.scope == "cluster":
        return True
    if pause.scope == "partition":
        return pause.value in job.partition.split(",")
    if pause.scope == "user":
        return pause.value == job.user
    return pause.value in _numbers(job)


def _numbers(job: Job) -> set[str]:
    """What a person may call a job: its number, and of a task its array's, or both as Slurm writes them."""
    of_array = {str(job.array_job), f"{job.array_job}_{job.array_task}"} if job.array_job is not None else set()
    return {str(job.number), *of_array}


def pause(
    cluster: Cluster,
    scope: str,
    value: str,
    *,
    reason: str,
    until: datetime,
    actor: Actor,
    now: datetime,
    seen: frozenset[int] | None = None,
) -> Pause:
    """Nothing is done on what `scope` and `value` name until the end; the same again gives the one that there is.

    `seen`: the keys of the cluster's pauses when the person looked; nothing is compared without it. Raises `Bad`,
    and `Stale` when other pauses hold since.
    """
    check_scope(cluster, scope, value)
    check_end(until, now)
    if scope == "job":
        value = "_".join(str(int(part)) for part in value.split("_"))
    with transaction.atomic():
        Cluster.objects.select_for_update().only("pk").get(pk=cluster.pk)  # two who send it at once
        if seen is not None and frozenset(active_pauses(cluster, now).values_list("pk", flat=True)) != seen:
            raise Stale(f"The pauses of {cluster.name} have changed since you looked. Nothing was changed by you.")
        there = active_pauses(cluster, now).select_related("cluster").filter(scope=scope, value=value, until=until)
        if (same := there.filter(reason=reason, owner=actor.name[:128]).first()) is not None:
            return same
        row = Pause.objects.create(
            cluster=cluster, scope=scope, value=value, reason=reason, owner=actor.name[:128], since=now, until=until
        )
        record([_entry(row, actor, "paused")], now)
    return row


def check_scope(cluster: Cluster, scope: str, value: str) -> None:
    """`Bad` unless scope and value go together: a pause of what cannot be would hold nothing back."""
    if scope not in SCOPES:
        raise Bad(f"A pause is of one of {', '.join(SCOPES)}.")
    if bool(value) is (scope == "cluster"):
        raise Bad("A pause of the cluster has no value; every other one needs it.")
    if scope == "job" and not _JOB.fullmatch(value):
        raise Bad("The value of a pause of a job is its number, of an array's task also ARRAY_TASK.")
    if scope == "user" and not _USER.fullmatch(value):
        raise Bad("The value of a pause of a user is the name of one user.")
    if scope == "partition" and value not in (known := partitions_of(cluster)):
        told = f"it has {', '.join(sorted(known)[:20])}" if known else "none is known yet"
        raise Bad(f"{cluster.name} has no partition {value[:64]!r}; {told}. One pause holds for one partition.")


def partitions_of(cluster: Cluster) -> set[str]:
    """Those of its nodes, and those it is told to watch."""
    of_nodes = Node.objects.filter(cluster=cluster).values_list("partitions", flat=True)
    return {str(name) for names in of_nodes for name in names} | set(cluster.partitions)


def end_pause(row: Pause, actor: Actor, now: datetime, reason: str = "") -> Pause:
    """Let it go on before the end of the pause. Raises `Stale` when it has ended already."""
    with transaction.atomic():
        # By the end that was seen: one that somebody has just moved to now lies in the future of a clock behind.
        if row.until <= now or not Pause.objects.filter(pk=row.pk, until=row.until).update(until=now):
            raise Stale("The pause has ended already.")
        record([_entry(row, actor, "no longer paused", reason)], now)
    row.until = now
    return row


def find_pause(clusters: Sequence[Cluster], number: int) -> Pause:
    """The pause with this number on one of the clusters; `NotFound` otherwise."""
    row = Pause.objects.select_related("cluster").filter(cluster__in=clusters, pk=number).first()
    if row is None:
        raise NotFound(f"There is no pause {number}.")
    return row


def _entry(row: Pause, actor: Actor, what: str, because: str = "") -> Entry:
    of = f"{row.scope} {row.value}".strip()
    number = int(row.value) if row.scope == "job" and row.value.isdigit() and len(row.value) < 19 else None
    return Entry(
        type=EventType.PAUSE,
        subject=Subject(cluster=row.cluster.name, job_number=number),
        actor=actor,
        sentence=f"{of.capitalize()} is {what} (until {row.until:%Y-%m-%d %H:%M} UTC): {because or row.reason}",
        level=Level.WARNING,
        action="pause" if what == "paused" else "resume",
        payload={"scope": row.scope, "value": row.value, "until": row.until.isoformat()},
    )

"""Can we see the scheduler? Unknown is not failed: no answer changes nothing but this.

`Cluster.seen_at` is the token of every observation: whoever finds it moved since he began was overtaken, and all
that he brings is dropped.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.trail import Actor, Entry, record
from schedulers.port import Limits, SchedulerError
from workloads.models import Cluster
from workloads.stored_text import storable
from workloads.subjects import subject_of_cluster

LIMITS_AGE = timedelta(hours=1)
RAW_LIMIT = 65536  # characters of the scheduler's answer kept for the operator
OBSERVER = Actor(ActorKind.DETECTOR, "observing")


def limits_are_due(cluster: Cluster, now: datetime) -> bool:
    """Whether the installation's version and limits are unknown or an hour old."""
    asked = cluster.limits_asked_at
    return not cluster.scheduler_version or asked is None or now - asked >= LIMITS_AGE


def cannot_see(before: Cluster, error: SchedulerError, now: datetime) -> None:
    """Store that the scheduler gave no usable answer, with one event for the whole time it lasts."""
    told = {"cannot_see_reason": storable(error.reason, 500), "raw_answer": storable(error.raw, RAW_LIMIT)}
    mine = Cluster.objects.filter(pk=before.pk, seen_at=before.seen_at)
    with transaction.atomic():
        began = mine.filter(cannot_see_since=None).update(cannot_see_since=now, changed_at=now, **told)
        if began:
            record([_blinded(before, told)], now)
        else:
            mine.exclude(cannot_see_reason=told["cannot_see_reason"]).update(changed_at=now)
            mine.filter(cannot_see_since__isnull=False).update(**told)


@dataclass(frozen=True)
class Push:
    """Which pushed observation it is: its sequence number, and the scheduler's own time in it."""

    sequence: int
    clock_at: datetime


def sees(before: Cluster, limits: Limits | None, now: datetime, push: Push | None = None) -> bool:
    """Move the token inside the caller's transaction; `False`: somebody was first, drop everything."""
    values: dict[str, Any] = {"seen_at": now}
    if push is not None:
        values |= {"pushed_sequence": push.sequence, "pushed_clock_at": push.clock_at}
    if before.cannot_see_since is not None:
        values |= {"cannot_see_since": None, "cannot_see_reason": "", "raw_answer": "", "changed_at": now}
    if limits is not None:
        values |= {"limits_asked_at": now} | _installation(before, limits, now)
    token = {
        "seen_at": before.seen_at,
        "cannot_see_since": before.cannot_see_since,
        "pushed_sequence": before.pushed_sequence,
    }
    return bool(Cluster.objects.filter(pk=before.pk, **token).update(**values))


def sees_again(before: Cluster, now: datetime) -> list[Entry]:
    """The event that ends a time of not seeing; none when there was none."""
    since = before.cannot_see_since
    if since is None:
        return []
    seconds = max(int((now - since).total_seconds()), 0)
    return [
        Entry(
            type=EventType.SEES_AGAIN,
            subject=subject_of_cluster(before),
            actor=OBSERVER,
            sentence=f"Sees the scheduler of {before.name} again after {seconds} s.",
            payload={"since": since.isoformat(), "seconds": seconds, "reason": before.cannot_see_reason},
        )
    ]


def _blinded(cluster: Cluster, told: dict[str, str]) -> Entry:
    return Entry(
        type=EventType.CANNOT_SEE,
        subject=subject_of_cluster(cluster),
        actor=OBSERVER,
        sentence=f"Cannot see the scheduler of {cluster.name}: {told['cannot_see_reason']}",
        level=Level.WARNING,
        payload={"reason": told["cannot_see_reason"], "raw": told["raw_answer"][:2000]},
    )


def _installation(before: Cluster, limits: Limits, now: datetime) -> dict[str, Any]:
    found = {
        "scheduler_version": storable(limits.version, 64),
        "scheduler_tested": limits.tested,
        "min_job_age_seconds": min(max(limits.min_job_age, 0), 2**31 - 1),
    }
    changed = any(getattr(before, name) != value for name, value in found.items())
    return found | ({"changed_at": now} if changed else {})

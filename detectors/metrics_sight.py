"""Can the metrics of a cluster be seen? No answer is unknown: it says nothing about any node or job.

One event when it begins and one when it ends. What does not answer is asked less and less often, with jitter.
"""

import random
from datetime import datetime, timedelta

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.trail import Actor, Entry, record
from workloads.models import Cluster
from workloads.stored_text import storable
from workloads.subjects import subject_of_cluster

READER = Actor(ActorKind.DETECTOR, "metrics")
SOONEST, LATEST = 1.0, 60.0  # seconds until the next question; the time without an answer so far, between these
REASON_LIMIT = 500


def wait_after(since: datetime | None, now: datetime) -> timedelta:
    """How long to wait before a server is asked again that has not answered since then."""
    passed = (now - since).total_seconds() if since else 0.0
    return timedelta(seconds=min(max(passed, SOONEST), LATEST) * random.uniform(0.5, 1.0))  # noqa: S311  # no secret


def metrics_unseen(cluster: Cluster, reason: str, now: datetime) -> None:
    """Store, inside the caller's transaction, that nothing came that can be trusted."""
    told, mine = storable(reason, REASON_LIMIT), Cluster.objects.filter(pk=cluster.pk)
    first = mine.filter(metrics_unseen_since=None)
    if first.update(metrics_unseen_since=now, metrics_unseen_reason=told, changed_at=now):
        record([_entry(cluster, EventType.BLIND, f"Cannot see the metrics of {cluster.name}: {told}")], now)
    else:
        mine.update(metrics_unseen_reason=told)


def metrics_seen(cluster: Cluster, now: datetime) -> None:
    """Store, inside the caller's transaction, that all queries were answered."""
    since, mine = cluster.metrics_unseen_since, Cluster.objects.filter(pk=cluster.pk)
    mine.update(metrics_read_at=now)
    if since is not None:
        mine.update(metrics_unseen_since=None, metrics_unseen_reason="", changed_at=now)
        seconds = max(int((now - since).total_seconds()), 0)
        sentence = f"Sees the metrics of {cluster.name} again after {seconds} s."
        record([_entry(cluster, EventType.SIGHT_REGAINED, sentence)], now)


def _entry(cluster: Cluster, kind: EventType, sentence: str) -> Entry:
    level = Level.WARNING if kind is EventType.BLIND else Level.INFO
    return Entry(type=kind, subject=subject_of_cluster(cluster), actor=READER, sentence=sentence, level=level)

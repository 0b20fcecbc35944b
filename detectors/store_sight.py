"""Can the log store of a cluster be seen? No answer is unknown: it says nothing about any job.

One event when it begins and one when it ends. What does not answer is asked less and less often, with jitter.
"""

import random
from datetime import datetime, timedelta

from django.db import transaction

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.trail import Actor, Entry, record
from workloads.models import Cluster
from workloads.stored_text import storable
from workloads.subjects import subject_of_cluster

READER = Actor(ActorKind.DETECTOR, "log store")
SOONEST, LATEST = 1.0, 60.0  # seconds until the next question; the time without an answer so far, between these
PATIENCE = timedelta(seconds=5)
"""A store that answers again within this time has blinded nobody; until then no silence counts."""
REASON_LIMIT = 500


def store_unseen(cluster: Cluster, reason: str, now: datetime) -> None:
    """Store that the log store gave nothing to be trusted, and when it is asked again; moves `cluster`, too."""
    since = cluster.log_store_unseen_since or now
    wait = min(max((now - since).total_seconds(), SOONEST), LATEST) * random.uniform(0.5, 1.0)  # noqa: S311  # no secret
    told = storable(reason, REASON_LIMIT)
    values = {"log_store_unseen_reason": told, "log_store_retry_at": now + timedelta(seconds=wait)}
    mine = Cluster.objects.filter(pk=cluster.pk)
    with transaction.atomic():
        if mine.filter(log_store_unseen_since=None).update(log_store_unseen_since=now, changed_at=now, **values):
            record([_entry(cluster, EventType.BLIND, f"Cannot see the log store of {cluster.name}: {told}")], now)
        else:
            mine.update(**values)
    cluster.log_store_unseen_since, cluster.log_store_unseen_reason = since, told
    cluster.log_store_retry_at = now + timedelta(seconds=wait)


def store_seen(cluster: Cluster, now: datetime) -> None:
    """Store that it was read to its end."""
    since, mine = cluster.log_store_unseen_since, Cluster.objects.filter(pk=cluster.pk)
    values = {"log_store_read_at": now, "log_store_unseen_since": None, "log_store_unseen_reason": ""}
    if since is None:
        mine.update(log_store_read_at=now)
    else:
        seconds = max(int((now - since).total_seconds()), 0)
        sentence = f"Sees the log store of {cluster.name} again after {seconds} s."
        with transaction.atomic():
            mine.update(log_store_retry_at=None, changed_at=now, **values)
            record([_entry(cluster, EventType.SIGHT_REGAINED, sentence)], now)
    cluster.log_store_read_at = now
    cluster.log_store_unseen_since, cluster.log_store_unseen_reason, cluster.log_store_retry_at = None, "", None


def trouble_of(cluster: Cluster, now: datetime) -> str:
    """Why no attempt of the cluster can be seen; empty while it can, or while that may pass at once."""
    since = cluster.log_store_unseen_since
    if since is None or now - since < PATIENCE:
        return ""
    return f"the log store cannot be seen since {since:%H:%M:%S} UTC: {cluster.log_store_unseen_reason}"


def _entry(cluster: Cluster, kind: EventType, sentence: str) -> Entry:
    level = Level.WARNING if kind is EventType.BLIND else Level.INFO
    return Entry(type=kind, subject=subject_of_cluster(cluster), actor=READER, sentence=sentence, level=level)

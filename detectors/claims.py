"""Whose logs are read next, and by whom? The due column, claimed by compare-and-swap."""

import secrets
from datetime import datetime, timedelta

from django.db.models import F

from workloads.models import Attempt

BATCH = 250  # attempts claimed together: how much work is lost when their worker dies
EARLY = 0.2
"""Of the pause between two reads: a sweep that comes a moment early must not leave everything to the next one."""
LEASE = timedelta(seconds=20)
"""How long a claim lasts: a worker that dies leaves its attempts due again after it."""


def claim_due(shard: int, shards: int, now: datetime) -> list[Attempt]:
    """Claim up to `BATCH` due attempts of one shard, the longest due first, with job and cluster.

    The mark of the claim is the new due time itself, made unique by its microseconds: only the rows that carry it
    are ours, whoever else claims at the same moment.
    """
    files = Attempt.objects.filter(job__cluster__log_store="")  # a store is read for its whole cluster
    due = files.annotate(shard=F("pk") % shards).filter(shard=shard, read_due_at__lte=now)
    keys = list(due.order_by("read_due_at").values_list("pk", flat=True)[:BATCH])
    if not keys:
        return []
    mark = now + LEASE + timedelta(microseconds=secrets.randbelow(1_000_000))
    Attempt.objects.filter(pk__in=keys, read_due_at__lte=now).update(read_due_at=mark)
    mine = Attempt.objects.filter(pk__in=keys, read_due_at=mark)
    return list(mine.select_related("job").prefetch_related("job__cluster"))  # one cluster object for all of them

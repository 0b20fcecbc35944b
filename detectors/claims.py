"""Whose logs are read next, and by whom? The due column, claimed by compare-and-swap."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F

from workloads.claim_marks import own_mark
from workloads.models import Attempt

BATCH = 250  # attempts claimed together: how much work is lost when their worker dies
MOST = 1000  # attempts claimed together when only some of them will be read
EARLY = 0.2
"""Of the pause between two reads: a sweep that comes a moment early must not leave everything to the next one."""
LEASE = timedelta(seconds=20)
"""How long a claim lasts: a worker that dies leaves its attempts due again after it."""


@dataclass(frozen=True)
class Claim:
    """Attempts claimed together: since when each was due, by key, and the mark that their due times hold now."""

    due: Mapping[int, datetime]
    mark: datetime

    def attempts(self, keys: Collection[int]) -> list[Attempt]:
        """Some of them, with job and cluster."""
        mine = Attempt.objects.filter(pk__in=list(keys), read_due_at=self.mark)
        return list(mine.select_related("job").prefetch_related("job__cluster"))  # one cluster object for all

    def release(self, keys: Collection[int], due_at: datetime) -> None:
        """Due again then; one that was made due meanwhile stays due."""
        Attempt.objects.filter(pk__in=list(keys), read_due_at=self.mark).update(read_due_at=due_at)


def claim(shard: int, shards: int, until: datetime, now: datetime, most: Callable[[datetime], int]) -> Claim | None:
    """Claim attempts of one shard that are due at `until`, the longest due first; `None` when there are none.

    `most`: how many, given since when the first one is due. The mark of the claim is the new due time itself, made
    unique by its microseconds: only the rows that carry it are ours, whoever else claims at the same moment.
    """
    files = Attempt.objects.filter(job__cluster__log_store="")  # a store is read for its whole cluster
    due = files.annotate(shard=F("pk") % shards).filter(shard=shard, read_due_at__lte=until)
    found = due.order_by("read_due_at").values_list("pk", "read_due_at")[:MOST]
    rows = [(key, at) for key, at in found if at is not None]
    if not rows:
        return None
    since = dict(rows[: most(rows[0][1])])
    mark = own_mark(now + LEASE)
    marked = Attempt.objects.filter(pk__in=list(since), read_due_at__lte=until).update(read_due_at=mark)
    if marked < len(since):
        mine = set(Attempt.objects.filter(pk__in=list(since), read_due_at=mark).values_list("pk", flat=True))
        since = {key: at for key, at in since.items() if key in mine}
    return Claim(since, mark)


def claim_due(shard: int, shards: int, now: datetime) -> list[Attempt]:
    """Claim up to `BATCH` due attempts of one shard, the longest due first, with job and cluster."""
    claimed = claim(shard, shards, now, now, lambda _since: BATCH)
    return claimed.attempts(claimed.due) if claimed is not None else []

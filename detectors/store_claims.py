"""Which cluster's log store is read next, and by whom? The due column, claimed by compare-and-swap.

Everything that is stored under a claim moves its mark first: a worker that was too slow finds it moved, and drops
all.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q

from detectors.storing import Overtaken
from workloads.claim_marks import own_mark
from workloads.models import Cluster

LEASE = timedelta(seconds=45)
"""How long a claim lasts without a sign of life: longer than one query and what is stored after it."""


@dataclass
class Claim:
    """A cluster whose store is read by us alone, as long as its due column holds `mark`."""

    cluster: Cluster
    mark: datetime

    def renew(self) -> None:
        """Move the mark, inside the caller's transaction. Raises `Overtaken`."""
        after = own_mark(self.mark + timedelta(microseconds=1), timedelta(milliseconds=1))
        self._move(after)
        self.mark = after

    def prolong(self, now: datetime) -> None:
        """Before another query: the lease begins anew. Raises `Overtaken`."""
        after = own_mark(now + LEASE)
        self._move(after)
        self.mark = after

    def release(self, due_at: datetime) -> None:
        """Somebody may take it from `due_at` on. Raises `Overtaken`."""
        self._move(due_at)

    def _move(self, after: datetime) -> None:
        mine = Cluster.objects.filter(pk=self.cluster.pk, log_store_due_at=self.mark)
        if not mine.update(log_store_due_at=after):
            raise Overtaken(f"somebody else reads the log store of {self.cluster.name}")


def due_clusters(now: datetime) -> list[int]:
    """Keys of the clusters whose store is due, the longest due first."""
    due = Cluster.objects.filter(Q(log_store_due_at=None) | Q(log_store_due_at__lte=now), enabled=True)
    return list(due.exclude(log_store="").order_by("log_store_due_at").values_list("pk", flat=True))


def claim_cluster(key: int, now: datetime) -> Claim | None:
    """Claim one cluster; `None` when it is not due any more."""
    cluster = Cluster.objects.filter(pk=key, enabled=True).exclude(log_store="").first()
    if cluster is None or (cluster.log_store_due_at is not None and cluster.log_store_due_at > now):
        return None
    mark = own_mark(now + LEASE)
    mine = Cluster.objects.filter(pk=key, log_store_due_at=cluster.log_store_due_at)
    return Claim(cluster, mark) if mine.update(log_store_due_at=mark) else None

"""How does a cluster stand: its gates, its lease, and what is seen of it?"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q

from advisor_api.models import ControllerLease, Pause
from schedulers.states import LIVE
from workloads.models import Attempt, Cluster


@dataclass(frozen=True)
class SeenSource:
    """How well a source of a cluster is seen: `since` is when it was not any more, with the reason."""

    source: str
    seen_at: datetime | None
    since: datetime | None
    reason: str


@dataclass(frozen=True)
class SeenCluster:
    """A cluster with its active pauses, the lease that holds, and its running attempts."""

    cluster: Cluster
    pauses: tuple[Pause, ...]
    lease: ControllerLease | None
    live_attempts: int
    blind_attempts: int

    @property
    def sources(self) -> tuple[SeenSource, ...]:
        """The scheduler, and the log store and the metrics where it has them. Files of logs are seen job by job."""
        one = self.cluster
        found = [SeenSource("scheduler", one.seen_at, one.cannot_see_since, one.cannot_see_reason)]
        if one.log_store:
            since, reason = one.log_store_unseen_since, one.log_store_unseen_reason
            found.append(SeenSource("log_store", one.log_store_read_at, since, reason))
        if one.metrics_address:
            since, reason = one.metrics_unseen_since, one.metrics_unseen_reason
            found.append(SeenSource("metrics", one.metrics_read_at, since, reason))
        return tuple(found)


def seen_clusters(clusters: Sequence[Cluster], now: datetime) -> list[SeenCluster]:
    """The clusters as they stand at `now`. Three queries, however many there are."""
    pauses = defaultdict(list)
    rows = Pause.objects.filter(cluster__in=clusters, until__gt=now)
    for pause in rows.select_related("cluster"):
        pauses[pause.cluster_id].append(pause)
    held = ControllerLease.objects.filter(cluster__in=clusters, until__gt=now)
    leases = {lease.cluster_id: lease for lease in held}
    live = [state.value for state in LIVE]
    running = Attempt.objects.filter(
        job__live=True, job__cluster__in=clusters, state__in=live
    )  # by the jobs' index
    counts: dict[int, dict[str, int]] = {
        row["job__cluster"]: {"live": row["live"], "blind": row["blind"]}
        for row in running.order_by()
        .values("job__cluster")
        .annotate(live=Count("pk"), blind=Count("pk", filter=Q(blind_since__isnull=False)))
    }
    return [
        SeenCluster(
            each,
            tuple(pauses[each.pk]),
            leases.get(each.pk),
            counts.get(each.pk, {}).get("live", 0),
            counts.get(each.pk, {}).get("blind", 0),
        )
        for each in clusters
    ]

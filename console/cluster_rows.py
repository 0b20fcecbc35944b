"""How do the clusters stand? A fixed number of queries, however many clusters and jobs there are."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, Max
from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy

from advisor_api.models import ControllerLease, Pause
from console.recovery import open_recoveries
from console.sight import Sight, sight_of
from detectors.catalogue.metric_signals import SOURCE as METRICS
from detectors.models import Feed
from schedulers.states import LIVE, WAITING
from workloads.mode import Mode
from workloads.models import Attempt, Cluster, Job

_LIVE = [state.value for state in LIVE]
_WAITING = [state.value for state in WAITING]
LEAST_JOB_AGE_SECONDS = 120  # decisions 13; the controller says the same in its log

_LEFT_OUT = {
    "nobody": ngettext_lazy(
        "%(count)s line belongs to no watched attempt.",
        "%(count)s lines belong to no watched attempt.",
        "count",
    ),
    "several": ngettext_lazy(
        "%(count)s line fits several attempts and was given to none: map the label restart.",
        "%(count)s lines fit several attempts and were given to none: map the label restart.",
        "count",
    ),
    "uncertain": ngettext_lazy(
        "Once, more lines came in one instant than the store gives at once.",
        "%(count)s times more lines came in one instant than the store gives at once.",
        "count",
    ),
}


@dataclass(frozen=True)
class ClusterRow:
    """One cluster with what is counted on it."""

    cluster: Cluster
    mode: Mode
    sight: Sight
    running: int = 0
    waiting: int = 0
    blind: int = 0
    in_recovery: int = 0
    pauses: tuple[Pause, ...] = field(default_factory=tuple)

    @property
    def forgets_too_early(self) -> str:
        """What an operator should know of a site that forgets finished jobs too soon; "" when it does not."""
        age = self.cluster.min_job_age_seconds
        if age is None or age >= LEAST_JOB_AGE_SECONDS:
            return ""
        return _(
            "The scheduler forgets a finished job after %(age)s s (MinJobAge). Below %(least)s s a decision or an "
            "approval may come too late to restart a job that failed."
        ) % {"age": age, "least": LEAST_JOB_AGE_SECONDS}


@dataclass(frozen=True)
class SourceRow:
    """One kind of log source of a cluster: its streams, and when one of them last gave something."""

    source: str
    streams: int
    moved_at: datetime | None


def cluster_rows(now: datetime, only: Cluster | None = None) -> list[ClusterRow]:
    """All clusters by name, or one of them."""
    clusters = [only] if only else list(Cluster.objects.all())
    counts = _attempt_counts(clusters)
    recoveries = _recovery_counts(clusters)
    pauses = pauses_of(clusters, now)
    return [
        ClusterRow(
            cluster,
            Mode(cluster.mode),
            sight_of(cluster, now),
            **counts.get(cluster.pk, {}),
            in_recovery=recoveries.get(cluster.pk, 0),
            pauses=tuple(pauses.get(cluster.pk, ())),
        )
        for cluster in clusters
    ]


def pauses_of(clusters: list[Cluster], now: datetime) -> dict[int, list[Pause]]:
    """The pauses that hold at `now`, by cluster."""
    found: dict[int, list[Pause]] = {}
    for pause in Pause.objects.filter(cluster__in=clusters, until__gt=now).order_by("until"):
        found.setdefault(pause.cluster_id, []).append(pause)
    return found


def lease_of(cluster: Cluster) -> ControllerLease | None:
    """Which controller acts on the cluster, if one ever did."""
    return ControllerLease.objects.filter(cluster=cluster).first()


def sources_of(cluster: Cluster) -> list[SourceRow]:
    """The log sources that were read on a cluster."""
    rows = (
        Feed.objects.filter(cluster=cluster)
        .exclude(source=METRICS)
        .order_by("source")
        .values("source")
        .annotate(streams=Count("pk"), moved_at=Max("moved_at"))
    )
    return [SourceRow(**row) for row in rows]


def left_out_of(cluster: Cluster) -> list[str]:
    """Lines of the cluster's log store that reached no attempt, as sentences; none when there are none."""
    if not cluster.log_store:
        return []
    counts: Counter[str] = Counter()
    of_stores = Feed.objects.filter(cluster=cluster, attempt=None).exclude(source=METRICS)
    for position in of_stores.values_list("position", flat=True):
        counts.update({name: int(position.get(name, 0)) for name in _LEFT_OUT})
    return [sentence % {"count": counts[name]} for name, sentence in _LEFT_OUT.items() if counts[name]]


def blind_attempts(cluster: Cluster, limit: int = 50) -> list[Attempt]:
    """Running attempts whose log cannot be read, the longest first."""
    rows = Attempt.objects.filter(job__cluster=cluster, job__live=True, state__in=_LIVE, blind_since__isnull=False)
    return list(rows.select_related("job").order_by("blind_since")[:limit])


def _attempt_counts(clusters: list[Cluster]) -> dict[int, dict[str, int]]:
    """By cluster: running, waiting and blind jobs. Two by the index of jobs, the last by that of attempts."""
    standing = Job.objects.filter(live=True, cluster__in=clusters, newest_state__in=_LIVE + _WAITING).order_by()
    counts: dict[int, Counter[str]] = {}
    for cluster, state, number in standing.values_list("cluster", "newest_state").annotate(number=Count("pk")):
        counts.setdefault(cluster, Counter())["running" if state in _LIVE else "waiting"] += number
    blind = Attempt.objects.filter(
        blind_since__isnull=False, state__in=_LIVE, job__live=True, job__cluster__in=clusters
    )
    for cluster, number in (
        blind.order_by().values_list("job__cluster").annotate(number=Count("job", distinct=True))
    ):
        counts.setdefault(cluster, Counter())["blind"] += number
    return {cluster: dict(found) for cluster, found in counts.items()}


def _recovery_counts(clusters: list[Cluster]) -> dict[int, int]:
    rows = (
        open_recoveries()
        .filter(advice__attempt__job__cluster__in=clusters)
        .order_by()
        .values("advice__attempt__job__cluster")
        .annotate(number=Count("advice__attempt__job", distinct=True))
    )
    return {row["advice__attempt__job__cluster"]: row["number"] for row in rows}

"""What does Prometheus see?

Everything is counted from the stored rows at the moment of the scrape, so that the numbers are the same
whichever process answers, and survive every restart.
"""

import hmac
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.db.models import Count, DurationField, Expression, ExpressionWrapper, F, Q, QuerySet, Sum
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.http.request import split_domain_port
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from advisor_api.models import Advice, Sequence
from detectors.models import Anomaly
from recovery_site.exposure import is_own
from schedulers.states import LIVE
from workloads.models import Attempt, Cluster

BUCKETS = (0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 900, 3600)
"""Upper bounds in seconds; they hold the 69 s and 94 s that another fleet reports apart from ours."""

LOOPBACK = ("127.0.0.1", "::1")
FORWARDED = ("Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP")
"""Headers that a proxy adds: behind one on the same machine every stranger comes from the loopback address."""


@require_GET
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """The exposition text; 403 without the token, or from another machine where no token is set."""
    if not _may_read(request):
        return HttpResponseForbidden("Send the token of REKINDLE_METRICS_TOKEN, or ask from the machine itself.\n")
    registry = CollectorRegistry()
    registry.register(StoredRows())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def _may_read(request: HttpRequest) -> bool:
    token = settings.REKINDLE["REKINDLE_METRICS_TOKEN"]
    if token:
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        return hmac.compare_digest(given.encode(), token.encode())
    if request.META.get("REMOTE_ADDR") not in LOOPBACK or any(name in request.headers for name in FORWARDED):
        return False
    return _is_meant(request)


def _is_meant(request: HttpRequest) -> bool:
    """Whether the host that is asked for is the site or the machine: else a name of somebody else's leads here, and
    a page in a browser on this machine would read the answer under it."""
    try:
        request.get_host()
    except DisallowedHost:
        return is_own(split_domain_port(request.headers.get("Host", ""))[0])
    return True


class StoredRows:
    """Collector over the database. The number of queries does not depend on the number of jobs."""

    def describe(self) -> Iterable[Metric]:
        """Nothing to announce: the registry need not collect at registration."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """All families of decisions 28 and 32."""
        yield detection_latency()
        yield from recovery_latencies()
        yield outcomes()
        yield from cluster_gauges()
        yield advice_states()


def detection_latency() -> HistogramMetricFamily:
    """Seconds from the symptom to the stored anomaly, per kind and basis of the clock's start."""
    family = HistogramMetricFamily(
        "rekindle_detection_latency_seconds",
        "From the symptom (basis: line, file, state, step or event) to the stored anomaly",
        labels=("cluster", "kind", "basis"),
    )
    rows = Anomaly.objects.exclude(kind="blind").order_by()
    _histogram(family, rows, "detected_at", "happened_at", ("attempt__job__cluster__name", "kind", "basis"))
    return family


def recovery_latencies() -> Iterator[HistogramMetricFamily]:
    """Seconds between the stations of a recovery."""
    for name, end, start, text in (
        ("rekindle_advice_latency_seconds", "advised_at", "detected_at", "From the stored anomaly to the advice"),
        ("rekindle_action_latency_seconds", "commanded_at", "advised_at", "From the advice to the last command"),
        ("rekindle_restart_latency_seconds", "restarted_at", "commanded_at", "From the last command to running"),
        ("rekindle_time_to_progress_seconds", "resumed_at", "happened_at", "From the failure to new progress"),
    ):
        family = HistogramMetricFamily(name, text, labels=("cluster",))
        rows = Sequence.objects.filter(**{f"{end}__isnull": False, f"{start}__isnull": False}).order_by()
        _histogram(family, rows, end, start, ("advice__attempt__job__cluster__name",))
        yield family


def outcomes() -> CounterMetricFamily:
    """How recoveries ended."""
    family = CounterMetricFamily("rekindle_recoveries", "Recoveries by outcome", labels=("cluster", "outcome"))
    # A stop, and advice that nobody acted on, are no failed recoveries.
    ended_without_progress = Q(
        closed_at__isnull=False, resumed_at__isnull=True, commanded_at__isnull=False, advice__operation="restart"
    )
    rows = Sequence.objects.order_by().values(cluster=F("advice__attempt__job__cluster__name"))
    for row in rows.annotate(
        restarted=Count("pk", filter=Q(restarted_at__isnull=False)),
        resumed=Count("pk", filter=Q(resumed_at__isnull=False)),
        completed=Count("pk", filter=Q(completed_at__isnull=False)),
        failed=Count("pk", filter=ended_without_progress),
    ):
        for outcome in ("restarted", "resumed", "completed", "failed"):
            family.add_metric((row["cluster"], outcome), row[outcome])
    return family


def cluster_gauges() -> Iterator[Metric]:
    """Per cluster: what it watches, where it is blind, how late it looks."""
    now = timezone.now()
    live = GaugeMetricFamily("rekindle_live_attempts", "Attempts that run", labels=("cluster",))
    blind = GaugeMetricFamily(
        "rekindle_blind_attempts", "Running attempts without a readable log", labels=("cluster",)
    )
    unseen = GaugeMetricFamily(
        "rekindle_cannot_see_seconds", "How long the scheduler is unseen", labels=("cluster",)
    )
    unheard = GaugeMetricFamily(
        "rekindle_log_store_unseen_seconds", "How long the log store is unseen", labels=("cluster",)
    )
    unmeasured = GaugeMetricFamily(
        "rekindle_metrics_unseen_seconds", "How long the metrics are unseen", labels=("cluster",)
    )
    lag = GaugeMetricFamily("rekindle_observe_lag_seconds", "How much a poll is overdue", labels=("cluster",))
    names = [state.value for state in LIVE]
    counts = {
        row["job__cluster__name"]: row
        for row in Attempt.objects.filter(state__in=names)
        .order_by()
        .values("job__cluster__name")
        .annotate(live=Count("pk"), blind=Count("pk", filter=Q(blind_since__isnull=False)))
    }
    for cluster in Cluster.objects.filter(enabled=True):
        row = counts.get(cluster.name, {"live": 0, "blind": 0})
        live.add_metric((cluster.name,), row["live"])
        blind.add_metric((cluster.name,), row["blind"])
        unseen.add_metric((cluster.name,), _age(cluster.cannot_see_since, now))
        unheard.add_metric(
            (cluster.name,), _age(cluster.log_store_unseen_since if cluster.log_store else None, now)
        )
        unmeasured.add_metric(
            (cluster.name,), _age(cluster.metrics_unseen_since if cluster.metrics_address else None, now)
        )
        lag.add_metric((cluster.name,), _age(cluster.observe_due_at, now))
    yield from (live, blind, unseen, unheard, unmeasured, lag)


def advice_states() -> GaugeMetricFamily:
    """Advice by operation and state."""
    family = GaugeMetricFamily(
        "rekindle_advice", "Advice by operation and state", labels=("cluster", "operation", "state")
    )
    rows = Advice.objects.order_by().values("attempt__job__cluster__name", "operation", "state")
    for row in rows.annotate(number=Count("pk")):
        family.add_metric((row["attempt__job__cluster__name"], row["operation"], row["state"]), row["number"])
    return family


def _age(moment: Any, now: Any) -> float:
    return max(0.0, (now - moment).total_seconds()) if moment else 0.0


def _histogram(
    family: HistogramMetricFamily, rows: QuerySet[Any], end: str, start: str, labels: tuple[str, ...]
) -> None:
    """Fill a family by one grouped query: one row per label set, one column per bucket."""
    wait: Expression = ExpressionWrapper(F(end) - F(start), output_field=DurationField())
    counts = {f"le_{i}": Count("pk", filter=Q(wait__lte=timedelta(seconds=b))) for i, b in enumerate(BUCKETS)}
    for row in rows.annotate(wait=wait).values(*labels).annotate(number=Count("pk"), total=Sum("wait"), **counts):
        key = tuple(row[label] for label in labels)
        buckets = [(str(float(b)), row[f"le_{i}"]) for i, b in enumerate(BUCKETS)]
        family.add_metric(
            key, [*buckets, ("+Inf", row["number"])], sum_value=max(0.0, row["total"].total_seconds())
        )

"""What is new about the metrics of a cluster? A fixed number of queries a turn for all its nodes and jobs.

They are asked outside any transaction. One short transaction then moves the due time and the memory by
compare-and-swap, together with what the turn tells; zero rows moved, and all of it is dropped (decisions 1).

What is told of a node is a health event: it warns live attempts, is a witness of a failure about when it happened,
is over when its opposite is told, and stands on the page of its node.
"""

import hashlib
import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q

from detectors.catalogue.health import proof_of
from detectors.catalogue.metric_signals import SIGNALS, SOURCE
from detectors.gathering import stream_key
from detectors.gpu_uses import store_uses
from detectors.health_events import Told, take_in
from detectors.metrics.jobs import Run
from detectors.metrics.judging import Signal
from detectors.metrics.turning import Turned, turn
from detectors.metrics_asking import Ask, asking, seen_on
from detectors.metrics_sight import READER, metrics_seen, metrics_unseen, wait_after
from detectors.models import Feed
from detectors.stores.store import StoreTrouble
from detectors.storing import Overtaken
from schedulers.states import JobState
from workloads.claim_marks import own_mark
from workloads.models import Attempt, Cluster, Node

log = logging.getLogger(__name__)
LEASE = timedelta(seconds=60)
"""How long a claim lasts: longer than all queries of a turn and what is stored after them."""
AGENT = "metrics"


@dataclass(frozen=True)
class Claim:
    """A cluster whose metrics are read by us alone, as long as its due column holds `mark`."""

    cluster: Cluster
    mark: datetime


def due_metrics(now: datetime) -> list[int]:
    """Keys of the clusters whose metrics are due, the longest due first."""
    due = Cluster.objects.filter(Q(metrics_due_at=None) | Q(metrics_due_at__lte=now), enabled=True)
    return list(due.exclude(metrics_address="").order_by("metrics_due_at").values_list("pk", flat=True))


def claim_metrics(key: int, now: datetime) -> Claim | None:
    """Claim one cluster; `None` when it is not due any more."""
    cluster = Cluster.objects.filter(pk=key, enabled=True).exclude(metrics_address="").first()
    if cluster is None or (cluster.metrics_due_at is not None and cluster.metrics_due_at > now):
        return None
    mark = own_mark(now + LEASE)
    mine = Cluster.objects.filter(pk=key, metrics_due_at=cluster.metrics_due_at)
    return Claim(cluster, mark) if mine.update(metrics_due_at=mark) else None


def read_metrics(claim: Claim, now: datetime, ask: Ask | None = None) -> bool:
    """One turn over the metrics of a claimed cluster; `False` when somebody else took the claim meanwhile."""
    cluster = claim.cluster
    nodes = frozenset(Node.objects.filter(cluster=cluster).values_list("name", flat=True))
    feed = Feed.objects.filter(cluster=cluster, attempt=None, source=SOURCE, stream_key=_key(cluster)).first()
    try:
        seen = seen_on(cluster, nodes, ask or asking(cluster))
        turned = turn(feed.position if feed else {}, seen, _runs(cluster), nodes, now.timestamp())
    except StoreTrouble as trouble:
        return _unseen(claim, str(trouble), now)
    except Exception as error:  # whoever cannot understand a value sees nothing, and says so
        log.exception("the metrics of %s cannot be judged", cluster.name)
        return _unseen(claim, f"they cannot be judged ({type(error).__name__}); the site's log tells where", now)
    try:
        with transaction.atomic():
            _release(claim, now + _pause())
            _remember(cluster, feed, turned, now)
            metrics_seen(cluster, now)
            if turned.signals:
                take_in(cluster, _told(turned.signals), READER, now)
            store_uses(turned.uses)
    except Overtaken as error:
        log.info("dropped a turn over the metrics of %s: %s", cluster.name, error)
        return False
    return True


def _runs(cluster: Cluster) -> list[Run]:
    running = Attempt.objects.filter(job__cluster=cluster, state=JobState.RUNNING.value, started_at__isnull=False)
    return [Run(pk, tuple(on), step) for pk, on, step in running.values_list("pk", "nodes", "last_step")]


def _unseen(claim: Claim, reason: str, now: datetime) -> bool:
    try:
        with transaction.atomic():
            _release(claim, now + wait_after(claim.cluster.metrics_unseen_since, now))
            metrics_unseen(claim.cluster, reason, now)
    except Overtaken:
        return False
    return True


def _release(claim: Claim, due_at: datetime) -> None:
    mine = Cluster.objects.filter(pk=claim.cluster.pk, metrics_due_at=claim.mark)
    if not mine.update(metrics_due_at=due_at):
        raise Overtaken(f"somebody else reads the metrics of {claim.cluster.name}")


def _pause() -> timedelta:
    """Between two turns; with jitter, so that clusters do not ask one server in step."""
    return timedelta(seconds=settings.REKINDLE["REKINDLE_METRICS_SECONDS"] * random.uniform(0.9, 1.0))  # noqa: S311  # no secret


def _stream(cluster: Cluster) -> str:
    """Names what is read: another address or selector is another memory."""
    return f"{cluster.metrics_address} {{{cluster.metrics_selector}}}"


def _key(cluster: Cluster) -> str:
    return stream_key(_stream(cluster))


def _remember(cluster: Cluster, feed: Feed | None, turned: Turned, now: datetime) -> None:
    values = {"position": turned.state, "moved_at": now}
    if feed is None:
        stream = _stream(cluster)
        Feed.objects.create(
            cluster=cluster, source=SOURCE, stream=stream, stream_key=_key(cluster), revision=1, **values
        )
    elif not Feed.objects.filter(pk=feed.pk, revision=feed.revision).update(revision=F("revision") + 1, **values):
        raise Overtaken(f"the memory of {cluster.name}'s metrics moved")


def _told(signals: Sequence[Signal]) -> list[Told]:
    return [_event(signal) for signal in signals]


def _event(signal: Signal) -> Told:
    """As a health event. Fatal is what proves broken hardware: an XID of a program does not."""
    proof = proof_of(check=signal.id, component="gpu", fatal=signal.fatal, codes=signal.codes, source=SOURCE)
    words = (signal.id, signal.host, signal.part, f"{signal.since:.3f}", str(signal.healthy))
    return Told(
        node=signal.host,
        check=signal.id,
        happened_at=datetime.fromtimestamp(signal.since, UTC),
        key=hashlib.sha256("|".join((SOURCE, *words)).encode()).hexdigest(),
        source=SOURCE,
        component=SIGNALS[signal.id].layer.label,
        entity=signal.part,
        fatal=signal.fatal and proof.of_hardware,
        healthy=signal.healthy,
        codes=signal.codes,
        message=signal.sentence,
        agent=AGENT,
    )

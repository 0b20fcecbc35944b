"""Which tasks does the beat start here? Doors: they read the clock and call one thing."""

import logging
import time
from datetime import timedelta
from operator import itemgetter

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from detectors.dump_files import Spending
from detectors.incidents import end_quiet
from detectors.judging import judge
from detectors.metrics_reading import claim_metrics, due_metrics, read_metrics
from detectors.provider_tasks import start_due
from detectors.store_claims import claim_cluster, due_clusters
from detectors.store_reading import read_cluster
from detectors.sweeping import sweep
from workloads.models import Attempt
from workloads.taking_turns import LOOKED_AT, in_turns

log = logging.getLogger(__name__)
LONGEST = 1.0
"""Pauses that one task reads: the next takes what is left, and other tasks get their turn between."""
STALE = 2.0
"""Pauses after which a task that no worker took is dropped: what it would read, a younger one reads."""
JUDGED_AT_ONCE = 200
AGAIN = timedelta(seconds=5)
"""After which an attempt that could not be judged is due again: many of them would be the first in every sweep."""


@shared_task(name="detectors.tasks.read_due", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def read_due() -> None:
    """Read the logs of every attempt that is due: one task for each shard, none for an attempt.

    The shard that this task reads itself changes: where tasks have to wait, none is always the one that waits.
    """
    shards, pause = settings.REKINDLE["REKINDLE_SHARDS"], settings.REKINDLE["REKINDLE_READ_SECONDS"]
    own = int(timezone.now().timestamp() / pause) % shards
    for shard in range(shards):
        if shard != own:
            read_shard.apply_async((shard,), expires=pause * STALE)
    read_shard(own)


@shared_task(name="detectors.tasks.read_shard", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def read_shard(shard: int) -> None:
    """Read the due attempts of one shard, batch after batch, for `LONGEST` at most; judge what can be judged now.

    Left to the next sweep, a verdict would come up to a second later.
    """
    now = timezone.now()
    until = now + LONGEST * timedelta(seconds=settings.REKINDLE["REKINDLE_READ_SECONDS"])
    while now < until and sweep(shard, now, timezone.now):
        now = timezone.now()
    judge_due()


@shared_task(name="detectors.tasks.read_stores", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def read_stores() -> None:
    """Read every log store that is due: one task for each cluster, so that one that hangs holds up no other."""
    for key in due_clusters(timezone.now()):
        read_store.apply_async((key,), expires=settings.REKINDLE["REKINDLE_READ_SECONDS"] * 5)


@shared_task(name="detectors.tasks.read_store", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def read_store(key: int) -> None:
    """Read the log store of one cluster; judge what can be judged now."""
    now = timezone.now()
    claim = claim_cluster(key, now)
    if claim is not None:
        read_cluster(claim, now, clock=timezone.now)
        judge_due()


@shared_task(name="detectors.tasks.read_due_metrics", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def read_due_metrics() -> None:
    """Read the metrics of every cluster that is due, each in a task of its own."""
    for key in due_metrics(timezone.now()):
        read_cluster_metrics.apply_async((key,), expires=settings.REKINDLE["REKINDLE_METRICS_SECONDS"] * 5)


@shared_task(name="detectors.tasks.read_cluster_metrics", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def read_cluster_metrics(key: int) -> None:
    """Read the metrics of one cluster; judge what can be judged with them now."""
    now = timezone.now()
    claim = claim_metrics(key, now)
    if claim is not None:
        read_metrics(claim, now)
        judge_due()


@shared_task(name="detectors.tasks.judge_due", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def judge_due() -> None:
    """Judge what is due, each user's oldest first; one that cannot be judged does not stop the others."""
    now = timezone.now()
    due = Attempt.objects.filter(judge_due_at__lte=now).order_by("judge_due_at", "pk")
    waiting = due.values_list("pk", "job__cluster_id", "job__user")[:LOOKED_AT]
    chosen = [row[0] for row in in_turns(waiting, itemgetter(1, 2), JUDGED_AT_ONCE)]
    attempts = Attempt.objects.select_related("job__cluster").in_bulk(chosen)
    spending = Spending(time.monotonic)
    for attempt in (attempts[key] for key in chosen if key in attempts):
        try:
            judge(attempt, now, spending)
        except Exception:
            log.exception("could not judge attempt %s", attempt.label)
            mine = Attempt.objects.filter(pk=attempt.pk, judge_due_at=attempt.judge_due_at)
            mine.update(judge_due_at=now + AGAIN)


@shared_task(name="detectors.tasks.ask_providers", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def ask_providers() -> None:
    """Start the questions to providers that are due; nobody waits for their answers."""
    start_due(timezone.now())


@shared_task(name="detectors.tasks.end_incidents", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def end_incidents() -> None:
    """End the incidents to which nothing is added any more."""
    end_quiet(timezone.now())

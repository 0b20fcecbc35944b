"""Which tasks does the beat start here? Doors: they read the clock and call one thing."""

import random
from datetime import datetime, timedelta

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from workloads.models import Cluster
from workloads.observing import observe
from workloads.pushes import PUSH, miss
from workloads.scheduler_ways import scheduler_of
from workloads.sweeping import thin_due
from workloads.turns import Turn, claim_due, end_turn


@shared_task(name="workloads.tasks.observe_due", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def observe_due() -> None:
    """Start one task for each cluster that is due: a slow one does not hold up the others."""
    least = timedelta(seconds=settings.REKINDLE["REKINDLE_COMMAND_SECONDS"] + 5)
    for turn in claim_due(timezone.now(), least):
        # A task that waited longer than its claim is dropped: the cluster is due again by then.
        observe_cluster.apply_async((turn.cluster_id, turn.until.isoformat()), expires=turn.until)


@shared_task(name="workloads.tasks.observe_cluster", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def observe_cluster(cluster_id: int, until: str) -> None:
    """Observe one claimed cluster, and say when it is due again."""
    began_at = timezone.now()
    cluster = Cluster.objects.get(pk=cluster_id)
    try:
        seconds = settings.REKINDLE["REKINDLE_COMMAND_SECONDS"]
        if cluster.scheduler_transport == PUSH:
            miss(cluster, seconds, began_at)
        else:
            observe(cluster, scheduler_of(cluster, seconds), began_at)
    finally:
        turn = Turn(cluster_id, datetime.fromisoformat(until))
        end_turn(turn, began_at, timezone.now(), random.SystemRandom().random)


@shared_task(name="workloads.tasks.thin_series", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def thin_series() -> None:
    """Thin the progress series that are due, a bounded part of them."""
    thin_due(timezone.now())

"""What of the detectors' stores is old enough to go? A bounded part a tick; the audit trail is never touched.

Verdicts and anomalies stay: a verdict holds its own inputs, so it can be computed again without what goes here.
What the rooms above still need is theirs to say (`Spared`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from detectors.models import Excerpt, HealthEvent, Observation, Watch
from detectors.told_models import ToldLine
from workloads.models import Attempt, Cluster

ATTEMPTS = 50  # in one tick: each has 2 MiB of log text at most
EVENTS = 1_000  # in one tick, of one cluster
DETAILS = (Excerpt, Observation, ToldLine, Watch)


@dataclass(frozen=True)
class Spared:
    """What stays however old it is: jobs and attempts by their keys, nodes by their names."""

    jobs: Sequence[int] = ()
    attempts: Sequence[int] = ()
    nodes: Sequence[str] = ()


def forget_details(age: timedelta, spared: Spared, now: datetime) -> int:
    """Delete log text, messages, observations and memories of attempts settled `age` ago; of how many attempts.

    Of jobs that the scheduler still lists, and of attempts that are to be read or judged again, nothing goes.
    """
    old = Attempt.objects.filter(
        settled_at__lt=now - age, read_due_at=None, judge_due_at=None, job__live=False
    ).exclude(pk__in=spared.attempts)
    keys = list(old.exclude(job__in=spared.jobs).order_by("settled_at").values_list("pk", flat=True)[:ATTEMPTS])
    if not keys:
        return 0
    with transaction.atomic():
        mine = Attempt.objects.filter(pk__in=keys, read_due_at=None, judge_due_at=None)
        still = list(mine.select_for_update().values_list("pk", flat=True))  # none that was made due meanwhile
        for model in DETAILS:
            model._default_manager.filter(attempt__in=still).delete()
        Attempt.objects.filter(pk__in=still).update(settled_at=None)
    return len(still)


def forget_health(age: timedelta, spared: Spared, now: datetime) -> int:
    """Delete health events that happened, came and were over `age` ago; how many.

    One that is fatal and still open stays: its node is broken until somebody says that it is not.
    """
    border = now - age
    over = Q(healthy=True) | Q(cleared_at__lt=border) | Q(fatal=False, cleared_at=None)
    deleted = 0
    for cluster in Cluster.objects.order_by("pk").values_list("pk", flat=True):
        old = HealthEvent.objects.filter(over, cluster=cluster, happened_at__lt=border, received_at__lt=border)
        rows = old.exclude(node__in=spared.nodes).order_by("happened_at")
        keys = list(rows.values_list("pk", flat=True)[:EVENTS])
        if keys:
            deleted += HealthEvent.objects.filter(over, pk__in=keys).delete()[0]
    return deleted

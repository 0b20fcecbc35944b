"""What must stay although it is old, because a recovery or an exclusion still rests on it?"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from advisor_api.models import Advice, Exclusion, LeftAlone, Sequence
from advisor_api.notifying.deliveries import forget_old as forget_deliveries
from detectors.models import Verdict
from detectors.retention import Spared, forget_details, forget_health

DECISIONS = 1_000  # in one tick


@dataclass(frozen=True)
class Ages:
    """How long is kept: details after an attempt was settled, health events after they were over."""

    details: timedelta
    health: timedelta


def forget(ages: Ages, now: datetime) -> int:
    """Delete what is old and that nothing rests on, a bounded part of it; how many attempts, events, decisions."""
    spared = spared_at(now)
    forgotten = forget_details(ages.details, spared, now) + forget_health(ages.health, spared, now)
    return forgotten + forget_left_alone(ages.details, now) + forget_deliveries(ages.details, now)


def forget_left_alone(age: timedelta, now: datetime) -> int:
    """Delete decisions that led to no advice and are older than `age`; how many. Those with advice stay."""
    old = LeftAlone.objects.filter(decided_at__lt=now - age).order_by("decided_at")
    keys = list(old.values_list("pk", flat=True)[:DECISIONS])
    return LeftAlone.objects.filter(pk__in=keys).delete()[0] if keys else 0


def spared_at(now: datetime) -> Spared:
    """Jobs with an open recovery, verdicts behind exclusions that hold, and the nodes that these leave out."""
    holding = list(Exclusion.objects.filter(until__gt=now, lifted_at=None).values_list("verdict_id", "node"))
    verdicts = Verdict.objects.filter(uuid__in=[uuid for uuid, _node in holding if uuid is not None])
    open_ones = Sequence.objects.filter(closed_at=None).values_list("advice__attempt", "advice__attempt__job")
    jobs = {job for _attempt, job in open_ones}
    nodes = {node for _uuid, node in holding}
    if jobs:
        advice = Advice.objects.filter(attempt__job__in=jobs).values_list("excluded_nodes", flat=True)
        nodes |= {node for some in advice for node in some}
    return Spared(
        jobs=sorted(jobs),
        attempts=sorted(verdicts.values_list("attempt_id", flat=True)),
        nodes=sorted(nodes),
    )

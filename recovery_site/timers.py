"""Which timers stand further ahead than they can? Then the site's clock was set back, and they are due now.

A due column holds a moment of the site's own clock. When that clock is set back by hours, everything that was to be
done in a second is to be done in hours, and the site stands still. So each timer is listed here with the longest
pause that its room ever gives it: one that is further ahead was written by a clock that showed a later time.
Claims are due columns, too: whoever holds one that is made due finds it moved, and drops what he did.
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Max, Model

from advisor_api import deciding, outgoing
from advisor_api.leasing import LEASE_SECONDS
from advisor_api.models import ControllerLease
from advisor_api.policy.rules import RULES
from audit import checkpoints
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.models import AuditChain
from audit.trail import Actor, Entry, record
from detectors import claims, metrics_reading, provider_asking, store_claims, store_sight, turned
from detectors.models import Verdict
from detectors.provider_models import ProviderQuestion
from workloads import thinning
from workloads.models import Attempt, Cluster
from workloads.subjects import subject_of_cluster

log = logging.getLogger(__name__)
SITE = Actor(ActorKind.RULE, "clock")
SLACK = timedelta(minutes=1)
"""By so much the clocks of the site's own machines may differ: none of them takes another one's timer for wrong."""
ASKED = timedelta(minutes=10)  # longer than anybody outside is ever waited for, and than any limit of a verdict


@dataclass(frozen=True)
class Timer:
    """A due column, how far ahead of the clock it is written at most, and how far ahead it is left when it is set
    right."""

    model: type[Model]
    column: str
    longest: timedelta
    left: timedelta = timedelta(0)


def timers() -> tuple[Timer, ...]:
    """Every timer of the site. One query: how often the slowest cluster is looked at."""
    own = settings.REKINDLE
    read = timedelta(seconds=own["REKINDLE_READ_SECONDS"])
    metrics = timedelta(seconds=own["REKINDLE_METRICS_SECONDS"])
    poll = Cluster.objects.aggregate(slowest=Max("poll_seconds"))["slowest"] or 0.0
    again = max(deciding.RETRY_SECONDS, *(rule.again_seconds or 0 for rule in RULES))
    unanswered = timedelta(seconds=store_sight.LATEST)
    lease = timedelta(seconds=LEASE_SECONDS)
    sent = max(outgoing.BACK_OFF) + outgoing.LEASE + ASKED
    thinned = max(age + timedelta(seconds=spacing) for age, spacing in thinning.SPACING)
    return (
        Timer(Cluster, "observe_due_at", timedelta(seconds=2 * max(poll, own["REKINDLE_COMMAND_SECONDS"] + 5))),
        Timer(Cluster, "log_store_due_at", store_claims.LEASE + read),
        Timer(Cluster, "log_store_retry_at", unanswered),
        Timer(Cluster, "metrics_due_at", metrics_reading.LEASE + metrics + unanswered),
        Timer(Attempt, "read_due_at", turned.READ_ON + turned.BLIND_FACTOR * read + claims.LEASE),
        Timer(Attempt, "judge_due_at", ASKED),
        Timer(Attempt, "thin_due_at", max(thinning.FULL, thinned)),
        Timer(ProviderQuestion, "due_at", provider_asking.LEASE + ASKED),
        *(Timer(kind, "due_at", sent) for kind in outgoing.Outgoing.__subclasses__()),
        Timer(Verdict, "decide_due_at", timedelta(seconds=again)),
        Timer(ControllerLease, "until", lease, lease),  # whoever has it may act for as long, by his own clock
        Timer(AuditChain, "checkpoint_at", checkpoints.EVERY),
    )


def set_right(now: datetime) -> int:
    """Make due what stands further ahead than it can; how many timers that were. Says so once for each cluster."""
    moved = 0
    for timer in timers():
        ahead = {f"{timer.column}__gt": now + timer.longest + SLACK}
        if timer.column == "observe_due_at":  # every cluster has it, and only our own clock writes it
            moved += sum(_tell(row, timer.longest, now) for row in Cluster.objects.filter(enabled=True, **ahead))
        else:
            moved += timer.model._default_manager.filter(**ahead).update(**{timer.column: now + timer.left})
    return moved


def _tell(cluster: Cluster, longest: timedelta, now: datetime) -> bool:
    """Compare-and-swap with the event: of two at once one says it."""
    before = cluster.observe_due_at
    if before is None:
        return False
    back = before - now
    sentence = (
        f"The site's clock was set back by about {max(back - longest, SLACK) // timedelta(minutes=1)} to"
        f" {back // timedelta(minutes=1)} min: what was to be done on {cluster.name} later by it is done now."
    )
    with transaction.atomic():
        mine = Cluster.objects.filter(pk=cluster.pk, observe_due_at=before)
        if not mine.update(observe_due_at=now, changed_at=now):
            return False
        record([Entry(EventType.BLIND, subject_of_cluster(cluster), SITE, sentence, Level.WARNING)], now)
    log.warning("%s", sentence)
    return True

"""Which events of a cluster's trail are asked for, by whatever they say?

Newest or oldest first by our time, then by number: an order in which each filter alone, with a span of time, is one
range of an index, however long the trail is.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Max, QuerySet
from django.db.models.functions import Coalesce

from advisor_api.trail_reading import PRODUCED
from audit.models import AuditArchive, AuditEvent

ORDER = ("at", "pk")


@dataclass(frozen=True)
class Filters:
    """What the events must say; what is empty says nothing. `since` and `until` are our time, `until` exclusive.

    `user`: events of this user's jobs and their attempts.
    """

    job_number: int | None = None
    attempt_index: int | None = None
    heimdall_job_id: UUID | None = None
    node: str = ""
    user: str = ""
    pattern: str = ""
    action: str = ""
    actor: str = ""
    actor_kind: str = ""
    type: str = ""
    level: str = ""
    trace_id: str = ""
    since: datetime | None = None
    until: datetime | None = None


EXACT = (
    "job_number",
    "attempt_index",
    "heimdall_job_id",
    "node",
    "user",
    "pattern",
    "action",
    "actor",
    "actor_kind",
    "type",
    "level",
    "trace_id",
)


def order_of(filters: Filters) -> tuple[str, ...]:
    """The keys of a page: time and number; of one job or attempt the number alone.

    Their indexes hold the number and not our time, and the two differ by the seconds of a slow transaction at most.
    """
    return ("pk",) if filters.job_number is not None or filters.heimdall_job_id is not None else ORDER


def archived_before(cluster: str) -> datetime | None:
    """Our time of the last event that has left the table for the archive: a search finds none up to there."""
    found: datetime | None = AuditArchive.objects.filter(cluster=cluster).aggregate(last=Max("last_at"))["last"]
    return found


def search(cluster: str, filters: Filters) -> QuerySet[AuditEvent]:
    """The events of one cluster (`""`: the site itself) that fit, unordered; each carries `produced_at`."""
    exact = {name: value for name in EXACT if (value := getattr(filters, name)) not in {None, ""}}
    rows = AuditEvent.objects.filter(cluster=cluster, **exact).annotate(
        **{PRODUCED: Coalesce("scheduler_at", "at")}
    )
    if filters.since is not None:
        rows = rows.filter(at__gte=filters.since)
    if filters.until is not None:
        rows = rows.filter(at__lt=filters.until)
    return rows

"""How well was each source of a cluster seen within the last hour, and how far behind is it now?

When it was out of sight is read off the trail: one event when that began, one when it was over.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Max, Min
from django.utils.translation import gettext_lazy as _

from advisor_api.cluster_view import SeenCluster, SeenSource
from audit.event_type import EventType
from audit.models import AuditEvent
from schedulers.states import LIVE
from workloads.models import Attempt, Cluster

HOUR = timedelta(hours=1)
EVENTS_AT_MOST = 2000
LABELS = {"scheduler": _("Scheduler"), "log_store": _("Log store"), "metrics": _("Metrics")}
BEGINS = frozenset({EventType.CANNOT_SEE.value, EventType.BLIND.value})
_ENDS = frozenset({EventType.SEES_AGAIN.value, EventType.SIGHT_REGAINED.value})
_OF_ACTOR = {"log store": "log_store", "metrics": "metrics"}  # stays English: stored
_LIVE = [state.value for state in LIVE]


@dataclass(frozen=True)
class Outage:
    """A stretch of the last hour, as shares of it (0 to 100), for a bar."""

    start: float
    width: float


@dataclass(frozen=True)
class SourceLine:
    """One source: seen last when, unseen now since when and why, and its outages of the last hour."""

    label: str
    seen: SeenSource
    outages: Sequence[Outage]
    unseen: timedelta

    @property
    def percent(self) -> float:
        """The share of the hour in which it was seen."""
        return 100.0 - sum(one.width for one in self.outages)


@dataclass(frozen=True)
class FilesLine:
    """Logs that are read from files: running attempts, those that are blind, and the look that is longest ago."""

    attempts: int
    blind: int
    oldest_look_at: datetime | None
    newest_look_at: datetime | None


def source_lines(cluster: Cluster, now: datetime) -> list[SourceLine]:
    """The sources that are seen for the cluster as a whole. One query."""
    events = AuditEvent.objects.filter(
        cluster=cluster.name, type__in=[*BEGINS, *_ENDS], job_number=None, at__gt=now - HOUR, at__lte=now
    )
    told: dict[str, list[tuple[datetime, bool]]] = {}
    for at, kind, actor in events.order_by("at", "pk").values_list("at", "type", "actor")[:EVENTS_AT_MOST]:
        told.setdefault(_OF_ACTOR.get(actor, "scheduler"), []).append((at, kind in BEGINS))
    lines = []
    for seen in SeenCluster(cluster, (), None, 0, 0).sources:
        spans = unseen_spans(told.get(seen.source, []), seen.since, now)
        outages = [Outage(100 * (begin - now + HOUR) / HOUR, 100 * (end - begin) / HOUR) for begin, end in spans]
        unseen = sum((end - begin for begin, end in spans), timedelta())
        lines.append(SourceLine(str(LABELS.get(seen.source, seen.source)), seen, outages, unseen))
    return lines


def unseen_spans(
    told: Sequence[tuple[datetime, bool]], since: datetime | None, now: datetime
) -> list[tuple[datetime, datetime]]:
    """When it was out of sight within the hour before `now`. `told`: moments at which that began, or was over.

    `since`: it is out of sight now, since then. Pure.
    """
    begin = now - HOUR
    spans: list[tuple[datetime, datetime]] = []
    open_at = begin if told and not told[0][1] else None
    for at, begins in told:
        if begins:
            open_at = open_at or at
        elif open_at is not None:
            spans.append((open_at, at))
            open_at = None
    if since is not None:
        spans.append((max(min(since, open_at or since), begin), now))
    return [(start, end) for start, end in spans if end > start]


def files_line(cluster: Cluster) -> FilesLine | None:
    """How the logs of running attempts are read from files; nothing where a log store is read. Two queries."""
    if cluster.log_store:
        return None
    running = Attempt.objects.filter(job__cluster=cluster, job__live=True, state__in=_LIVE)
    looks = running.aggregate(oldest=Min("looked_at"), newest=Max("looked_at"))
    blind = running.filter(blind_since__isnull=False).count()
    return FilesLine(running.count(), blind, looks["oldest"], looks["newest"])

"""Which are the newest events, so that one job's many anomalies do not push all others out of sight?"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from audit.event_type import EventType
from audit.models import AuditEvent
from audit.trail import newest_id
from console.spans import duration
from console.topics import QUIET

LOOKED_THROUGH = 20_000  # newest events, most of which may be progress lines
READ = 500
SHOWN = 25
MANY = 3  # anomalies of one job that become one line
WITHIN = timedelta(minutes=10)  # of the newest of them


@dataclass(frozen=True)
class NewestLine:
    """One event, or the newest of `count` anomalies of one job; `all_of_them` is where each stands."""

    event: AuditEvent
    count: int = 1
    told: str = ""
    all_of_them: str = ""


def newest_lines() -> list[NewestLine]:
    """The newest first, without progress lines. Two queries."""
    rows = AuditEvent.objects.filter(pk__gt=newest_id() - LOOKED_THROUGH).exclude(type__in=QUIET)
    read = list(rows.order_by("-id").defer("payload")[:READ])
    return folded(sorted(read, key=lambda event: (event.at, event.pk), reverse=True))[:SHOWN]


def folded(events: Iterable[AuditEvent]) -> list[NewestLine]:
    """Events in their order; anomalies of one job within `WITHIN` are one line where they are `MANY`."""
    groups: list[list[AuditEvent]] = []
    open_groups: dict[tuple[str, int | None, int | None], list[AuditEvent]] = {}
    for event in events:
        job = (event.cluster, event.job_number, event.job_epoch)
        group = open_groups.get(job) if event.type == EventType.ANOMALY and event.job_number is not None else None
        if group is not None and group[0].at - event.at <= WITHIN:
            group.append(event)
            continue
        groups.append([event])
        if event.type == EventType.ANOMALY:
            open_groups[job] = groups[-1]
    lines = [line for group in groups for line in _lines(group)]
    return sorted(lines, key=lambda line: (line.event.at, line.event.pk), reverse=True)


def _lines(group: list[AuditEvent]) -> list[NewestLine]:
    if len(group) < MANY:
        return [NewestLine(event) for event in group]
    newest, number = group[0], group[0].job_number
    span = duration(_whole_seconds(newest.at - group[-1].at))
    told = _("%(count)s anomalies of job %(job)s within %(span)s") % {
        "count": len(group),
        "job": number,
        "span": span,
    }
    of = {"cluster": newest.cluster, "job": number, "type": EventType.ANOMALY.value}
    return [NewestLine(newest, len(group), told, f"{reverse('audit')}?{urlencode(of)}")]


def _whole_seconds(span: timedelta) -> timedelta:
    return timedelta(seconds=max(1, round(span.total_seconds())))

"""How does a long part of the trail leave the site? As lines, a page at a time, however many there are."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from django.db.models import Q, QuerySet

from advisor_api.csv_lines import csv_line
from advisor_api.pseudonyms import Pseudonyms
from advisor_api.trail_reading import PRODUCED
from advisor_api.trail_search import ORDER
from audit.models import AuditEvent

PAGE = 1000  # events in memory at once
COLUMNS = (
    "eventId",
    "receivedAt",
    "producedAt",
    "cluster",
    "jobId",
    "jobEpoch",
    "attemptIndex",
    "heimdallJobId",
    "node",
    "user",
    "actorKind",
    "actor",
    "type",
    "level",
    "pattern",
    "action",
    "verdictId",
    "generation",
    "traceId",
    "sentence",
    "payload",
)

Words = dict[str, Any]


def csv_lines(rows: QuerySet[AuditEvent], names: Pseudonyms | None = None) -> Iterator[str]:
    """A head and a line for each event, oldest first. Cells that a spreadsheet would run begin with `'`."""
    yield csv_line(COLUMNS)
    for words in _words(rows, names):
        payload = json.dumps(words["payload"], ensure_ascii=False)
        yield csv_line(payload if name == "payload" else words[name] for name in COLUMNS)


def json_lines(rows: QuerySet[AuditEvent], names: Pseudonyms | None = None) -> Iterator[str]:
    """A JSON object on a line for each event, oldest first."""
    for words in _words(rows, names):
        yield json.dumps(words, ensure_ascii=False) + "\n"


FORMATS: dict[str, tuple[str, Callable[[QuerySet[AuditEvent], Pseudonyms | None], Iterator[str]]]] = {
    "csv": ("text/csv; charset=utf-8", csv_lines),
    "jsonl": ("application/x-ndjson", json_lines),
}
"""By name: the content type, and what writes it."""


def _words(rows: QuerySet[AuditEvent], names: Pseudonyms | None) -> Iterator[Words]:
    for event in _events(rows):
        words = _said(event)
        yield words if names is None else names.instead_of(words)


def _events(rows: QuerySet[AuditEvent]) -> Iterator[AuditEvent]:
    """Page by page from the last one on: the client of MariaDB would keep all rows of one query in memory.

    The numbers first, as in `page_of`: else each page would walk over all before it.
    """
    ordered, place = rows.order_by(*ORDER), Q()
    while numbers := list(ordered.filter(place).values_list("pk", flat=True)[:PAGE]):
        page = list(ordered.filter(pk__in=numbers))
        yield from page
        last = page[-1]
        place = Q(at__gte=last.at) & (Q(at__gt=last.at) | Q(pk__gt=last.pk))


def _said(event: AuditEvent) -> Words:
    return {
        "eventId": str(event.uuid),
        "receivedAt": _moment(event.at),
        "producedAt": _moment(getattr(event, PRODUCED)),
        "cluster": event.cluster,
        "jobId": event.job_number,
        "jobEpoch": event.job_epoch,
        "attemptIndex": event.attempt_index,
        "heimdallJobId": str(event.heimdall_job_id) if event.heimdall_job_id else None,
        "node": event.node,
        "user": event.user,
        "actorKind": event.actor_kind,
        "actor": event.actor,
        "type": event.type,
        "level": event.level,
        "pattern": event.pattern,
        "action": event.action,
        "verdictId": str(event.verdict_id) if event.verdict_id else None,
        "generation": event.advice_generation,
        "traceId": event.trace_id,
        "sentence": event.sentence,
        "payload": event.payload,
    }


def _moment(value: datetime) -> str:
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")

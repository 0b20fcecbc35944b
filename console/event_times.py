"""When did that happen of which an event tells, where it is not when the event was noted?

An event stands in the trail with the time at which Rekindle noted it. A log line that was read late, or what a
scheduler or a controller told late, happened before; a clock that goes wrong may put it after.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from audit.event_type import EventType
from audit.models import AuditEvent

APART = timedelta(seconds=2)  # a log and a scheduler are looked at about once a second: nearer is the same moment


def happened_at(events: Iterable[AuditEvent]) -> dict[int, datetime]:
    """By key of the event: when it happened, only where that is not when it was noted. One query for all."""
    shown = list(events)
    told = {event.pk: event.scheduler_at for event in shown}
    found = [event.pk for event in shown if event.type == EventType.ANOMALY]
    for key, payload in AuditEvent.objects.filter(pk__in=found).values_list("pk", "payload") if found else ():
        told[key] = _moment(payload.get("happened_at") if isinstance(payload, dict) else None) or told[key]
    noted = {event.pk: event.at for event in shown}
    return {key: at for key, at in told.items() if at is not None and abs(noted[key] - at) >= APART}


def _moment(stored: object) -> datetime | None:
    """What a payload says; none where it says nothing, or nothing that is a moment."""
    try:
        at = datetime.fromisoformat(stored) if isinstance(stored, str) else None
    except ValueError:
        return None
    return at if at is not None and at.tzinfo is not None else None

"""What may a person do about an incident? Say that somebody is at it, and add a remark.

Each is refused when somebody did something else to the incident since the person looked (`version`); a remark never
is, for it changes nothing that stands.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import OperationalError, transaction

from advisor_api.refusals import Bad, Stale
from audit.event_type import EventType
from audit.level import Level
from audit.masking import masked
from audit.trail import Actor, Entry, Subject, record
from detectors.choice_models import NOTE_LIMIT, REASON_LIMIT, IncidentNote
from detectors.models import Incident
from workloads.stored_text import storable


def acknowledge(incident: Incident, version: int, reason: str, actor: Actor, now: datetime) -> Incident:
    """Somebody is at it. Raises `Bad`, and `Stale` when it was changed, acknowledged or ended since `version`."""
    why = checked(reason)
    _swap(
        incident,
        version,
        {"acknowledged_at": None},
        acknowledged_at=now,
        acknowledged_by=actor.name[:150],
        now=now,
        entry=entry_on(incident, actor, "acknowledged", f"acknowledges: {incident.sentence} ({why})", reason=why),
    )
    return incident


def unacknowledge(incident: Incident, version: int, reason: str, actor: Actor, now: datetime) -> Incident:
    """Nobody is at it any more. Raises as `acknowledge` does."""
    why = checked(reason)
    _swap(
        incident,
        version,
        {"acknowledged_at__isnull": False},
        acknowledged_at=None,
        acknowledged_by="",
        now=now,
        entry=entry_on(
            incident,
            actor,
            "not acknowledged",
            f"takes back that somebody is at it: {incident.sentence} ({why})",
            reason=why,
        ),
    )
    return incident


def add_note(incident: Incident, text: str, actor: Actor, now: datetime) -> IncidentNote:
    """A remark under its author's name. Sent twice in a row it stands once. Raises `Bad`."""
    said = checked(text, NOTE_LIMIT, "Write something: an empty remark tells nobody anything.")
    with writing(), transaction.atomic():
        Incident.objects.select_for_update().only("pk").get(pk=incident.pk)  # the same sent twice at once
        last = IncidentNote.objects.filter(incident=incident).order_by("-pk").first()
        if last is not None and (last.author, last.text) == (actor.name[:150], masked(said)[:NOTE_LIMIT]):
            return last
        note = IncidentNote.objects.create(incident=incident, text=said, author=actor.name[:150], at=now)
        record([entry_on(incident, actor, "noted", f"remarks: {' '.join(said.split())}", note=note.pk)], now)
    return note


@contextmanager
def writing() -> Iterator[None]:
    """A deadlock or a busy database is somebody who was first: `Stale`."""
    try:
        yield
    except OperationalError:
        raise Stale("Others were writing to it at this moment. Nothing was changed; try again.") from None


def checked(
    text: str, limit: int = REASON_LIMIT, empty: str = "Say why: the reason goes into the audit trail."
) -> str:
    """What a person typed, without white space around it. Raises `Bad`."""
    said = text.replace("\r\n", "\n").strip()
    if not said:
        raise Bad(empty)
    if len(said) > limit or storable(said, limit) != said:
        raise Bad(f"It must be plain text of at most {limit} characters.")
    return said


def entry_on(incident: Incident, actor: Actor, action: str, does: str, **payload: Any) -> Entry:
    """An event on a whole incident. Reads `incident.cluster`."""
    return Entry(
        type=EventType.INCIDENT,
        subject=Subject(cluster=incident.cluster.name),
        actor=actor,
        sentence=f"{actor.name} {does}",
        level=Level.INFO,
        pattern=incident.fingerprint[:16],
        action=action,
        payload={"incident": str(incident.uuid), **payload},
    )


def _swap(
    incident: Incident, version: int, before: dict[str, Any], *, now: datetime, entry: Entry, **columns: Any
) -> None:
    with writing(), transaction.atomic():
        seen = Incident.objects.filter(pk=incident.pk, version=version, ended_at=None, **before)
        if not seen.update(version=version + 1, **columns):
            raise Stale(_moved_on(incident, acknowledging=before == {"acknowledged_at": None}))
        record([entry], now)
    incident.refresh_from_db()


def _moved_on(incident: Incident, *, acknowledging: bool) -> str:
    """What happened to an incident since somebody looked, in a sentence."""
    found = Incident.objects.get(pk=incident.pk)
    if found.ended_at is not None:
        return "The incident is over. Nothing was changed by you."
    if found.acknowledged_at is not None and acknowledging:
        return f"{found.acknowledged_by} has acknowledged it meanwhile. Nothing was changed by you."
    return "Somebody changed the incident after you opened the page. Nothing was changed by you; look again."

"""What do the keys themselves say when one follows another, and who signed it?"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from audit.event_type import EventType
from audit.keyring import read_moment
from audit.models import AuditEvent
from audit.signing import BadKey, signed_by

ACTION = "audit_key"
FIELDS = ("old", "new", "leaked_at", "at", "signed_by_old", "signed_by_new")


@dataclass(frozen=True)
class KeyChange:
    """`new` signs and `old` no longer; `leaked_at`: since then somebody else may have had `old`. Public halves."""

    old: str
    new: str
    leaked_at: datetime | None
    at: datetime

    @property
    def words(self) -> dict[str, str]:
        """As it stands in the trail."""
        leaked_at = self.leaked_at.astimezone(UTC).isoformat() if self.leaked_at else ""
        return {"old": self.old, "new": self.new, "leaked_at": leaked_at, "at": self.at.astimezone(UTC).isoformat()}

    @property
    def text(self) -> bytes:
        """What is signed: every field."""
        return json.dumps(["rekindle-audit-key-1", *self.words.values()]).encode()


@dataclass(frozen=True)
class Told:
    """An event of the trail that speaks of a change. `change`: `None` where it is not to be understood."""

    event: int
    change: KeyChange | None = None
    by_old: bool = False
    by_new: bool = False


def told_changes() -> Iterator[Told]:
    """The changes that the table tells of, the oldest first. Whoever has the database may have written them."""
    events = AuditEvent.objects.filter(cluster="", type=EventType.CONFIGURATION.value, action=ACTION).order_by("pk")
    for event in events.iterator():
        yield _told(event.pk, event.payload)


def _told(event: int, payload: Any) -> Told:
    if not isinstance(payload, Mapping):
        return Told(event)
    said = {name: str(payload.get(name, "")) for name in FIELDS}
    try:
        leaked_at = read_moment(said["leaked_at"]) if said["leaked_at"] else None
        change = KeyChange(said["old"], said["new"], leaked_at, read_moment(said["at"]))
        by_old = signed_by(change.old, change, said["signed_by_old"])
        by_new = signed_by(change.new, change, said["signed_by_new"])
    except BadKey:
        return Told(event)
    return Told(event, change, by_old, by_new)

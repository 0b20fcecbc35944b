"""What does one event of the trail say, and what did it change? Before and after, value by value."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from advisor_api.models import PolicyVersion
from audit.event_type import EventType
from audit.models import AuditCheckpoint, AuditEvent, AuditSeal
from console.plain_words import with_unit
from workloads.models import Job

TEXT_LIMIT = 20_000  # characters of a payload that a page shows
VALUE_LIMIT = 500


@dataclass(frozen=True)
class Changed:
    """One value that an event changed. `None`: it was not said. `in_words`: both with their unit, if any."""

    name: str
    before: str | None
    after: str | None
    in_words: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class SealedBy:
    """The event's place in its chain, and the first signed checkpoint that covers it."""

    seal: AuditSeal
    checkpoint: AuditCheckpoint | None


@dataclass(frozen=True)
class EventPage:
    """One event with what it changed. `job`: whether its job is still stored."""

    event: AuditEvent
    changes: Sequence[Changed]
    payload: str
    cut: bool
    sealed: SealedBy | None
    job: bool


def event_page(uuid: UUID) -> EventPage | None:
    """Everything about one event; `None` when there is none."""
    event = AuditEvent.objects.filter(uuid=uuid).first()
    if event is None:
        return None
    text = json.dumps(event.payload, indent=2, ensure_ascii=False, sort_keys=True)
    job = (
        event.job_number is not None
        and event.job_epoch is not None
        and Job.objects.filter(cluster__name=event.cluster, number=event.job_number, epoch=event.job_epoch).exists()
    )
    return EventPage(event, changes_of(event), text[:TEXT_LIMIT], len(text) > TEXT_LIMIT, _sealed(event), job)


def changes_of(event: AuditEvent) -> tuple[Changed, ...]:
    """What the event changed, as its payload says: a mode, a policy, a configuration, a state."""
    said = event.payload if isinstance(event.payload, dict) else {}
    if event.action == "policy" and event.type == EventType.CONFIGURATION:
        return _compared(_values_of(said.get("before")), _mapping(said.get("values")))
    if isinstance(said.get("before"), Mapping) or isinstance(said.get("after"), Mapping):
        return _compared(_mapping(said.get("before")), _mapping(said.get("after")))
    if "from" in said and "to" in said:
        name = "mode" if event.type == EventType.MODE_CHANGED else "state"
        return _compared({name: said["from"]}, {name: said["to"]})
    return ()


def _values_of(version: Any) -> Mapping[str, Any]:
    """What the policy that held before says; nothing when there was none, or it is not stored any more."""
    found = PolicyVersion.objects.filter(pk=version).first() if isinstance(version, int) else None
    return _mapping(found.values) if found else {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _compared(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Changed, ...]:
    names = dict.fromkeys([*before, *after])
    return tuple(
        Changed(str(name), _text(before, name), _text(after, name), (_words(before, name), _words(after, name)))
        for name in names
        if before.get(name) != after.get(name) or (name in before) is not (name in after)
    )


def _text(values: Mapping[str, Any], name: str) -> str | None:
    if name not in values:
        return None
    value = values[name]
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))[:VALUE_LIMIT]


def _words(values: Mapping[str, Any], name: str) -> str:
    """The value with its unit; empty where it says no more than the value."""
    value = values.get(name)
    words = "" if isinstance(value, bool | str) or value is None else with_unit(value, str(name))
    return "" if words == str(value) else words[:VALUE_LIMIT]


def _sealed(event: AuditEvent) -> SealedBy | None:
    seal = AuditSeal.objects.filter(event=event.pk).first()
    if seal is None:
        return None
    after = AuditCheckpoint.objects.filter(cluster=seal.cluster, seq__gte=seal.seq).order_by("seq")
    return SealedBy(seal, after.first())

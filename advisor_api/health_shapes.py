"""What does a pushed health event say? Two shapes are read: NVSentinel's health event and an Alertmanager webhook.

Fields are those of the senders; unknown ones are passed over. Whoever sends is not trusted: every text is bounded,
and what cannot be read is refused with its place, and with it the whole request.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from advisor_api.refusals import Bad
from audit.masking import masked
from detectors.health_events import Told

MOST_EVENTS = 500  # in one request
AHEAD = timedelta(hours=1)  # clocks of nodes are wrong, but not by more
NODE, CHECK, COMPONENT, ENTITY, CODE, MESSAGE, ADVISED, AGENT = 255, 128, 64, 255, 64, 1000, 32, 128
CODES, PARTS = 16, 8  # codes and impacted parts of one event that are kept
ADVICE = {
    0: "NONE",
    2: "COMPONENT_RESET",
    5: "CONTACT_SUPPORT",
    6: "RUN_FIELDDIAG",
    15: "RESTART_VM",
    24: "RESTART_BM",
    25: "REPLACE_VM",
    26: "RUN_DCGMEUD",
    39: "RESTART_APP",
    99: "UNKNOWN",
}
"""NVSentinel's numbers for what it recommends; by name in JSON, by number where enums are written as numbers."""
NODE_LABELS = ("node", "nodename", "Hostname", "hostname", "kubernetes_node", "instance")
CODE_LABELS = ("xid", "error_code", "errorCode", "code")
PART_LABELS = ("gpu", "device", "pci_bus_id", "port")
COMPONENT_LABELS = ("component", "componentClass", "component_class")
FATAL = frozenset({"critical", "fatal", "emergency"})
_PORT = re.compile(r":\d{1,5}\Z")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\Z")


@dataclass(frozen=True)
class Pushed:
    """The events of one request, and how many of them speak of no node and are passed over."""

    events: tuple[Told, ...]
    passed_over: int = 0


def read_pushed(body: Any, now: datetime) -> Pushed:
    """The events of a body of either shape; `Bad` with the place for the first one that cannot be read."""
    if not isinstance(body, dict):
        raise Bad("The body must be a JSON object.")
    if "alerts" in body:
        rows = _list(body, "alerts", "")
        told = [_of_webhook(_object(row, f"alerts.{at}"), f"alerts.{at}", now) for at, row in enumerate(rows)]
        events = tuple(event for event in told if event is not None)
        return Pushed(events, len(told) - len(events))
    if "events" in body:
        rows = _list(body, "events", "")
        return Pushed(
            tuple(_sentinel(_object(row, f"events.{at}"), f"events.{at}", now) for at, row in enumerate(rows))
        )
    if "nodeName" in body or "checkName" in body:
        return Pushed((_sentinel(body, "", now),))
    raise Bad(
        "Send one health event (nodeName, checkName, …), several in events, or an Alertmanager webhook (alerts)."
    )


def _sentinel(row: Mapping[str, Any], place: str, now: datetime) -> Told:
    """NVSentinel's health event."""
    node = _node(_text(row, "nodeName", place, NODE, needed=True), place, "nodeName")
    check = _text(row, "checkName", place, CHECK, needed=True)
    happened_at = _moment(row.get("generatedTimestamp"), _at(place, "generatedTimestamp"), now)
    fatal, healthy = _flag(row, "isFatal", place), _flag(row, "isHealthy", place)
    codes = _codes(row, "errorCode", place)
    entity = _entity(row, place)
    return Told(
        node=node,
        check=check,
        happened_at=happened_at,
        key=_key("nvsentinel", node, check, entity, happened_at.isoformat(), fatal, healthy, codes),
        source="nvsentinel",
        component=_text(row, "componentClass", place, COMPONENT),
        entity=entity,
        fatal=fatal and not healthy,
        healthy=healthy,
        codes=codes,
        message=_text(row, "message", place, MESSAGE),
        advised=_advised(row.get("recommendedAction"), _at(place, "recommendedAction")),
        agent=_text(row, "agent", place, AGENT),
    )


def _of_webhook(row: Mapping[str, Any], place: str, now: datetime) -> Told | None:
    """One entry of Alertmanager's webhook; `None` when it speaks of no node."""
    status = _text(row, "status", place, 16, needed=True)
    if status not in ("firing", "resolved"):
        raise Bad(f"{_at(place, 'status')}: must be firing or resolved.")
    labels = _texts(row, "labels", place)
    notes = _texts(row, "annotations", place)
    check = labels.get("alertname", "")[:CHECK]
    if not check:
        raise Bad(f"{_at(place, 'labels.alertname')}: is needed.")
    label = next((name for name in NODE_LABELS if labels.get(name)), "")
    if not label:
        return None
    started_at = _moment(row.get("startsAt"), _at(place, "startsAt"), now)
    ended_at = _moment(row.get("endsAt"), _at(place, "endsAt"), now) if status == "resolved" else None
    if ended_at is not None and ended_at < started_at:
        raise Bad(f"{_at(place, 'endsAt')}: lies before startsAt.")
    name = _PORT.sub("", labels[label]) if label == "instance" else labels[label]
    if label == "instance" and not _NAME.match(name[:NODE]):
        return None  # an address, or something else that was scraped
    node = _node(name[:NODE], place, f"labels.{label}")
    same = row.get("fingerprint") if isinstance(row.get("fingerprint"), str) else json.dumps(labels, sort_keys=True)
    return Told(
        node=node,
        check=check,
        happened_at=started_at,
        key=_key("alertmanager", node, check, same, started_at.isoformat()),
        source="alertmanager",
        component=_first(labels, COMPONENT_LABELS)[:COMPONENT],
        entity=" ".join(f"{part} {labels[part]}" for part in PART_LABELS if labels.get(part))[:ENTITY],
        fatal=labels.get("severity", "").lower() in FATAL,
        codes=tuple(labels[code][:CODE] for code in CODE_LABELS if labels.get(code)),
        message=_first(notes, ("summary", "description", "message"))[:MESSAGE],
        agent=_first(labels, ("job",))[:AGENT],
        cleared_at=ended_at,
    )


def _key(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _at(place: str, name: str) -> str:
    return f"{place}.{name}".lstrip(".")


def _list(body: Mapping[str, Any], name: str, place: str) -> Sequence[Any]:
    rows = body[name]
    if not isinstance(rows, list):
        raise Bad(f"{_at(place, name)}: must be a list.")
    if not 1 <= len(rows) <= MOST_EVENTS:
        raise Bad(f"{_at(place, name)}: must hold 1 to {MOST_EVENTS} entries, and holds {len(rows)}.")
    return rows


def _object(row: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(row, dict):
        raise Bad(f"{place}: must be an object.")
    return row


def _text(row: Mapping[str, Any], name: str, place: str, limit: int, *, needed: bool = False) -> str:
    """A text cut to `limit`; absent and null are empty."""
    value = row.get(name)
    if value is None:
        value = ""
    if not isinstance(value, str):
        raise Bad(f"{_at(place, name)}: must be a text.")
    if needed and not value.strip():
        raise Bad(f"{_at(place, name)}: is needed.")
    return masked(value.strip()[: 2 * limit])[:limit]


def _texts(row: Mapping[str, Any], name: str, place: str) -> dict[str, str]:
    """Labels or annotations: an object of texts."""
    value = row.get(name)
    if value is None:
        return {}
    found = _object(value, _at(place, name))
    for key, text in found.items():
        if not isinstance(text, str):
            raise Bad(f"{_at(place, name)}.{str(key)[:64]}: must be a text.")
    return {str(key): masked(str(text)) for key, text in found.items()}


def _flag(row: Mapping[str, Any], name: str, place: str) -> bool:
    value = row.get(name)
    if value is not None and not isinstance(value, bool):
        raise Bad(f"{_at(place, name)}: must be true or false.")
    return bool(value)


def _codes(row: Mapping[str, Any], name: str, place: str) -> tuple[str, ...]:
    value = row.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(
        isinstance(code, str | int) and not isinstance(code, bool) for code in value
    ):
        raise Bad(f"{_at(place, name)}: must be a list of codes.")
    return tuple(masked(str(code))[:CODE] for code in value[:CODES])


def _entity(row: Mapping[str, Any], place: str) -> str:
    """`GPU 3, PCI 0000:1b:00`: what is impacted; the same however it is ordered."""
    value = row.get("entitiesImpacted")
    if value is None:
        return ""
    if not isinstance(value, list):
        raise Bad(f"{_at(place, 'entitiesImpacted')}: must be a list.")
    parts = set()
    for at, one in enumerate(value[:PARTS]):
        where = f"{_at(place, 'entitiesImpacted')}.{at}"
        part = _object(one, where)
        parts.add(f"{_text(part, 'entityType', where, 64)} {_text(part, 'entityValue', where, 128)}".strip())
    return ", ".join(sorted(parts))[:ENTITY]


def _advised(value: Any, place: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return ADVICE.get(value, "UNKNOWN")
    if value is not None and not isinstance(value, str):
        raise Bad(f"{place}: must be a name or a number.")
    return masked(value or "")[:ADVISED]


def _node(name: str, place: str, field: str) -> str:
    """Node names are names: they stand in sentences and beside commands."""
    if not _NAME.match(name):
        raise Bad(f"{_at(place, field)}: {name[:64]!r} is no name of a node.")
    return name


def _moment(value: Any, place: str, now: datetime) -> datetime:
    """RFC 3339, or `{"seconds": …}` as some write it. `Bad` without a zone, before 2000 or in the future."""
    try:
        if isinstance(value, dict):
            value = datetime.fromtimestamp(int(value.get("seconds", 0)), UTC).isoformat()
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None:
            raise Bad(f"{place}: has no zone; write it as 2026-11-29T12:00:00Z.")
        moment = moment.astimezone(UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        raise Bad(f"{place}: must be a time such as 2026-11-29T12:00:00Z.") from None
    if moment.year < 2000:
        raise Bad(f"{place}: {moment.isoformat()} lies too far back.")
    if moment > now + AHEAD:
        raise Bad(f"{place}: lies in the future.")
    return moment


def _first(texts: Mapping[str, str], names: Sequence[str]) -> str:
    return next((texts[name] for name in names if texts.get(name)), "")

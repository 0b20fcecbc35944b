"""How does a whole listing travel from the machine that took it to one that must not ask the scheduler itself?

As one JSON object of what the port answers: rows of jobs and nodes, limits, the scheduler's own time, a sequence
number that only ever rises. Names are lowerCamelCase; what has its default is left out, unknown names are passed
over. Another `version` is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from datetime import UTC, datetime
from typing import Any, TypeVar, get_type_hints

from schedulers.port import AccountedAttempt, JobRow, Limits, NodeRow
from schedulers.states import JobState

VERSION = 1
LARGEST_NUMBER = 2**63 - 1
LONGEST_RAW = 65536  # characters of an answer that could not be read
MOST_ASKED = 25  # jobs that the accounting is asked about for one observation
YEARS = range(1970, 2200)  # what every database keeps
LATEST = datetime(YEARS.stop - 1, 12, 31, 23, 59, 59, tzinfo=UTC)
"""As what a later time is kept: whoever submits a job may say that it begins in 9999."""

Row = TypeVar("Row")


class BadObservation(ValueError):
    """It cannot be read; the sentence says where."""


@dataclass(frozen=True)
class Asked:
    """What the accounting said of one job number; nothing: it knows none."""

    number: int
    attempts: tuple[AccountedAttempt, ...]


@dataclass(frozen=True)
class Observation:
    """Everything a scheduler listed at one moment. `now` is the scheduler's own time, just before the listing."""

    sequence: int
    now: datetime
    jobs: tuple[JobRow, ...]
    nodes: tuple[NodeRow, ...]
    limits: Limits
    answers: bool  # whether it also answered a ping: only then an empty listing is one
    accounting: bool = True  # `False`: the installation keeps none
    ended: tuple[Asked, ...] = ()


@dataclass(frozen=True)
class Unseen:
    """The scheduler was asked and gave no usable answer."""

    sequence: int
    reason: str
    raw: str = ""


def written(told: Observation | Unseen) -> dict[str, Any]:
    """The object that travels."""
    head = {"version": VERSION, "sequence": str(told.sequence)}
    if isinstance(told, Unseen):
        return {**head, "complete": False, "reason": told.reason, "raw": told.raw[:LONGEST_RAW]}
    asked = [
        {"number": one.number, "attempts": [_object(attempt) for attempt in one.attempts]} for one in told.ended
    ]
    return {
        **head,
        "complete": True,
        "now": _moment(told.now),
        "jobs": [_object(row) for row in told.jobs],
        "nodes": [_object(row) for row in told.nodes],
        "limits": _object(told.limits),
        "answers": told.answers,
        "accounting": told.accounting,
        "ended": asked,
    }


def read(content: Mapping[str, Any]) -> Observation | Unseen:
    """What `content` tells. Raises `BadObservation` with the place of the first mistake."""
    if content.get("version") != VERSION:
        raise BadObservation(f"version: only {VERSION} is understood")
    sequence = _sequence(content.get("sequence"))
    if not _at(content, "complete", _flag):
        reason, raw = _at(content, "reason", _text), _at({"raw": "", **content}, "raw", _text)
        return Unseen(sequence, reason, raw[:LONGEST_RAW])
    return Observation(
        sequence=sequence,
        now=_at(content, "now", _time),
        jobs=_rows(JobRow, content, "jobs"),
        nodes=_rows(NodeRow, content, "nodes"),
        limits=_row(Limits, _at(content, "limits", _mapping), "limits"),
        answers=_at(content, "answers", _flag),
        accounting=_at({"accounting": True, **content}, "accounting", _flag),
        ended=_ended(content),
    )


def schema_of(kind: type) -> dict[str, Any]:
    """The JSON schema of one row, for the API's document."""
    known = _COLUMNS[kind]
    return {
        "type": "object",
        "required": [wire for wire, _, _, needed in known if needed],
        "properties": {wire: _SCHEMAS[hint] for wire, _, hint, _ in known},
    }


def _ended(content: Mapping[str, Any]) -> tuple[Asked, ...]:
    found = []
    for place, one in enumerate(_list(content.get("ended", []), "ended")):
        where = f"ended.{place}"
        if not isinstance(one, Mapping):
            raise BadObservation(f"{where}: must be an object")
        number = _at(one, "number", _whole, where)
        found.append(Asked(number, _rows(AccountedAttempt, one, "attempts", where)))
    if len(found) > MOST_ASKED:
        raise BadObservation(f"ended: at most {MOST_ASKED} jobs at once")
    return tuple(found)


def _rows(kind: type[Row], content: Mapping[str, Any], name: str, inside: str = "") -> tuple[Row, ...]:
    where = f"{inside}.{name}" if inside else name
    rows = _list(content.get(name), where)
    return tuple(_row(kind, row, f"{where}.{place}") for place, row in enumerate(rows))


def _row(kind: type[Row], content: Any, where: str) -> Row:
    if not isinstance(content, Mapping):
        raise BadObservation(f"{where}: must be an object")
    values: dict[str, Any] = {}
    for wire, name, hint, needed in _COLUMNS[kind]:
        if wire in content:
            values[name] = _at(content, wire, _READERS[hint], where)
        elif needed:
            raise BadObservation(f"{where}.{wire}: is missing")
    return kind(**values)


def _object(row: Any) -> dict[str, Any]:
    told = {}
    for wire, name, _, needed in _COLUMNS[type(row)]:
        value = getattr(row, name)
        if needed or value != _DEFAULTS[type(row)][name]:
            told[wire] = _plain(value)
    return told


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return _moment(value)
    if isinstance(value, JobState):
        return value.value
    return list(value) if isinstance(value, tuple) else value


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _at(content: Mapping[str, Any], name: str, reader: Callable[[Any], Row], inside: str = "") -> Row:
    where = f"{inside}.{name}" if inside else name
    if name not in content:
        raise BadObservation(f"{where}: is missing")
    try:
        return reader(content[name])
    except ValueError as error:
        raise BadObservation(f"{where}: {error}") from None


def _list(value: Any, where: str) -> Sequence[Any]:
    if not isinstance(value, list):
        raise BadObservation(f"{where}: must be a list")
    return value


def _sequence(value: Any) -> int:
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not text.isascii() or not text.isdigit() or len(text) > 19:
        raise BadObservation("sequence: must be a whole number, written as a string")
    if not 0 < int(text) <= LARGEST_NUMBER:
        raise BadObservation(f"sequence: must be between 1 and {LARGEST_NUMBER}")
    return int(text)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a text")
    return value


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("must be an object")
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST_NUMBER:
        raise ValueError("must be a whole number of 64 bits")
    return value


def _time(value: Any) -> datetime:
    try:
        at = datetime.fromisoformat(_text(value)[:40])
        # Near the ends of the calendar a time zone leads out of it.
        inside = at.tzinfo is not None and at.year in YEARS and (at := at.astimezone(UTC)).year in YEARS
    except (ValueError, OverflowError):
        inside = False
    if not inside:
        raise ValueError("must be a time with its offset, as in RFC 3339")
    return at


def _state(value: Any) -> JobState:
    try:
        return JobState(value)
    except ValueError:
        raise ValueError("is no state of a job") from None


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("must be a list of texts")
    return tuple(value)


def _or_none(reader: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else reader(value)


_READERS: dict[Any, Callable[[Any], Any]] = {
    str: _text,
    int: _whole,
    bool: _flag,
    JobState: _state,
    int | None: _or_none(_whole),
    datetime: _time,
    datetime | None: _or_none(_time),
    tuple[str, ...]: _texts,
}
_SCHEMAS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    JobState: {"type": "string", "enum": [state.value for state in JobState]},
    int | None: {"type": ["integer", "null"]},
    datetime: {"type": "string", "format": "date-time"},
    datetime | None: {"type": ["string", "null"], "format": "date-time"},
    tuple[str, ...]: {"type": "array", "items": {"type": "string"}},
}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _columns(kind: type) -> tuple[tuple[str, str, Any, bool], ...]:
    """By column: its name on the wire and ours, its type, and whether it must be there."""
    hints = get_type_hints(kind)
    return tuple((_camel(each.name), each.name, hints[each.name], each.default is MISSING) for each in fields(kind))


_KINDS: tuple[type, ...] = (JobRow, NodeRow, Limits, AccountedAttempt)
_COLUMNS = {kind: _columns(kind) for kind in _KINDS}
_DEFAULTS = {kind: {each.name: each.default for each in fields(kind)} for kind in _KINDS}

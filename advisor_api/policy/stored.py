"""How do stored facts and a stored policy become what the rules read again?

The shapes are read off the dataclasses, so a new fact needs no line here: it has its default in decisions that are
older than it. What is stored and not known any more is left out.
"""

import enum
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from advisor_api.policy.facts import Facts
from advisor_api.policy.values import Policy


class Unreadable(ValueError):
    """Stored facts that this program cannot read; the sentence names the fact."""


def read_facts(stored: Mapping[str, Any]) -> Facts:
    """The facts that `as_json` stored. Raises `Unreadable`."""
    found: Facts = _dataclass(Facts, stored)
    return found


def read_resolved(stored: Mapping[str, Any]) -> Policy:
    """The policy that held, from its stored values; one that is younger than the decision has its default."""
    known = {field.name for field in fields(Policy)}
    return Policy(**{name: value for name, value in stored.items() if name in known})


def _dataclass(kind: type, stored: Any) -> Any:
    if not isinstance(stored, Mapping):
        raise Unreadable(f"{kind.__name__} is no mapping.")
    found = {}
    for name, hint in _hints(kind).items():
        if name in stored:
            try:
                found[name] = _value(hint, stored[name])
            except (TypeError, ValueError) as error:
                raise Unreadable(f"The fact {name} cannot be read: {error}") from error
    try:
        return kind(**found)
    except TypeError as error:
        raise Unreadable(f"A fact is missing: {error}") from error


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _value(hint: Any, stored: Any) -> Any:
    origin = get_origin(hint)
    if origin in {Union, UnionType}:
        if stored is None:
            return None
        hint = next(one for one in get_args(hint) if one is not NoneType)
        origin = get_origin(hint)
    if origin in {tuple, frozenset}:
        return origin(_value(get_args(hint)[0], item) for item in stored)
    if is_dataclass(hint) and isinstance(hint, type):
        return _dataclass(hint, stored)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint(stored)
    return datetime.fromisoformat(stored) if hint is datetime else stored

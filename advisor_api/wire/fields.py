"""How are single values written on the wire? 64-bit integers as text, enums by their full names."""

import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.operation import Operation
from advisor_api.policy.reconciliation_reason import ReconciliationReason
from advisor_api.policy.scheduler_action import SchedulerAction

LARGEST = 2**63 - 1


class Form(serializers.Serializer[Any]):
    """The form of a request or of an answer."""


class Text(serializers.CharField):
    """Text, and no number that would become one. Blanks alone are refused unless `allow_blank`."""

    def to_internal_value(self, data: Any) -> str:
        """The text without the blanks around it."""
        if not isinstance(data, str):
            raise serializers.ValidationError("must be a text")
        return super().to_internal_value(data)


class Id(serializers.UUIDField):
    """A UUID, written as text."""

    def to_internal_value(self, data: Any) -> UUID:
        """The UUID; a number is none, though one could be made of it."""
        if not isinstance(data, str):
            raise serializers.ValidationError("must be a UUID")
        found: UUID = super().to_internal_value(data)
        return found


_WHOLE = re.compile(r"[0-9]{1,19}\Z")


@extend_schema_field({"type": "string", "format": "int64", "pattern": "^[0-8]?[0-9]{1,18}$"})
class Int64(serializers.Field[int, str | int, str, Any]):
    """A whole number from 0 to 2^63 - 1, written as text; read as text or number."""

    def to_representation(self, value: int) -> str:
        """`"5"`."""
        return str(value)

    def to_internal_value(self, data: str | int) -> int:
        """5, from `"5"` or 5."""
        text = str(data) if isinstance(data, str | int) and not isinstance(data, bool) else ""
        if not _WHOLE.match(text) or int(text) > LARGEST:
            raise serializers.ValidationError("must be a whole number from 0 to 2^63 - 1")
        return int(text)


class WireChoice(serializers.ChoiceField):
    """A member of an enum, written by its name on the wire. `called`: the enum's name in the API document."""

    def __init__(self, called: str, names: Mapping[Any, str], **options: Any) -> None:
        self.called = called
        self.names = dict(names)
        self.members = {name: member for member, name in names.items()}
        super().__init__(choices=list(dict.fromkeys(names.values())), **options)

    def to_representation(self, value: Any) -> str:
        """The name of a member, or of its stored value."""
        return next((name for member, name in self.names.items() if member == value), "")

    def to_internal_value(self, data: Any) -> Any:
        """The member with this name."""
        if not isinstance(data, str) or data not in self.members:
            raise serializers.ValidationError(f"must be one of {', '.join(self.members)}")
        return self.members[data]


PREFIX = "ADVICE_RECONCILIATION_DISPOSITION_"
DISPOSITIONS: dict[Any, str] = {
    AdviceState.PENDING: f"{PREFIX}PENDING",
    AdviceState.CONVERGED: f"{PREFIX}CONVERGED",
    AdviceState.ABANDONED: f"{PREFIX}ABANDONED",
}
SHOWN_DISPOSITIONS = {**DISPOSITIONS, AdviceState.AWAITING_APPROVAL: f"{PREFIX}PENDING"}
REASONS: dict[Any, str] = {
    reason: f"ADVICE_RECONCILIATION_REASON_{reason.value}" for reason in ReconciliationReason
}
OPERATIONS: dict[Any, str] = {each: each.on_the_wire for each in Operation if each is not Operation.WAIT}
SHOWN_OPERATIONS: dict[Any, str] = {each: each.on_the_wire for each in Operation}
ACTIONS: dict[Any, str] = {action: f"RECOVERY_SCHEDULER_ACTION_{action.value}" for action in SchedulerAction}


def moment(**options: Any) -> serializers.DateTimeField:
    """A time, RFC 3339 in UTC; `null` where there is none yet."""
    return serializers.DateTimeField(allow_null=True, **options)


def names(**options: Any) -> "serializers.ListField":
    """A list of plain texts such as node names."""
    return serializers.ListField(child=serializers.CharField(), **options)


@extend_schema_field(OpenApiTypes.OBJECT)
class AnyJson(serializers.JSONField):
    """An object that is handed through as it is stored."""

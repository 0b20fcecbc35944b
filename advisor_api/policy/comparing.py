"""In which values do two policies differ, and what do these mean?"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from advisor_api.policy.values import MEANINGS, Policy


@dataclass(frozen=True)
class Difference:
    """One value that differs. `None`: it is not said there, so the level below holds."""

    name: str
    before: Any
    after: Any
    default: Any

    @property
    def meaning(self) -> str:
        """What the value limits."""
        return meaning_of(self.name)

    @property
    def sentence(self) -> str:
        """`max_requeues: 10 → 5`."""
        return f"{self.name}: {_shown(self.before)} → {_shown(self.after)}"


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Difference, ...]:
    """What differs, in the order of the policy's page. 1 and 1.0 are the same."""
    return tuple(
        Difference(field.name, before.get(field.name), after.get(field.name), field.default)
        for field in fields(Policy)
        if before.get(field.name) != after.get(field.name)
    )


def meaning_of(name: str) -> str:
    """What a value limits, as plain text."""
    return MEANINGS.get(name, "").replace("`", "")


def _shown(value: Any) -> str:
    return "not said" if value is None else str(value)

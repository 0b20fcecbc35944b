"""Which values hold for a job when several policies speak of it, and which of them said so?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from advisor_api.policy.level import ORDER, PolicyLevel
from advisor_api.policy.values import Policy


@dataclass(frozen=True)
class Layer:
    """What one level says: only the values that differ from the levels below. `version`: its number, if stored."""

    level: PolicyLevel
    values: Mapping[str, Any]
    version: int | None = None


PROGRAM = Layer(PolicyLevel.PROGRAM, {})


@dataclass(frozen=True)
class Resolved:
    """The policy that holds, and for each of its values the layer it comes from (`PROGRAM`: its default)."""

    policy: Policy
    origins: Mapping[str, Layer]
    layers: tuple[Layer, ...]


def merge(layers: Iterable[Layer]) -> Resolved:
    """The value of the most specific layer that has it, else the program's default; the order given is no matter.

    The values must have passed `read_policy`. Raises `ValueError` for two layers of one level.
    """
    ordered = tuple(sorted(layers, key=lambda layer: ORDER.index(layer.level)))
    if len({layer.level for layer in ordered}) < len(ordered):
        raise ValueError("two policies of one level cannot hold for one job")
    origins = {field.name: PROGRAM for field in fields(Policy)}
    values: dict[str, Any] = {}
    for layer in ordered:
        for name, value in layer.values.items():
            values[name], origins[name] = value, layer
    return Resolved(Policy(**values), origins, ordered)

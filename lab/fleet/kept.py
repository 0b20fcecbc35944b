"""What does the process that watched a fleet leave for the one that asked for it?"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from lab.fleet.ledger import Ledger
from lab.fleet.options import Options
from lab.score.said import Said

KEPT = "kept.pickle"


@dataclass(frozen=True, slots=True)
class Kept:
    """`seconds` and `peak_bytes` are those of the process that watched; `log` is that of the controller."""

    ledger: Ledger
    said: Said
    log: tuple[str, ...]
    seconds: float
    peak_bytes: int


def options_of(told: Mapping[str, Any]) -> Options:
    """Options from the JSON values of `told_of`."""
    known = {field.name for field in fields(Options)}
    return Options(**{name: value for name, value in told.items() if name in known})


def told_of(options: Options) -> dict[str, Any]:
    """Options as JSON values."""
    return asdict(options)

"""Which limits and choices does a policy have, and what are their defaults?"""

from dataclasses import asdict, dataclass, fields
from typing import Any

MOST = 31_536_000  # a year in seconds: nothing that is counted or waited for goes beyond


@dataclass(frozen=True)
class Policy:
    """Values of one policy version. Durations in seconds, shares between 0 and 1.

    Defaults and their sources: reference `defaults.md` and `attribution.md` section 7.2.
    """

    max_restarts_per_cause: int = 3
    confirmation_restarts: int = 1
    max_attempts_without_checkpoint: int = 3
    max_requeues: int = 10
    exclude_confidence: float = 0.80
    stop_confidence: float = 0.85
    max_excluded_share: float = 0.05
    min_exclusions: int = 1
    max_nodes_per_incident: int = 2
    exclusion_seconds: int = 86400
    storm_restarts: int = 3
    storm_window_seconds: int = 600
    unknown_backoff_seconds: int = 60
    hold_seconds: int = 300
    advice_seconds: int = 900


class BadPolicy(ValueError):
    """A policy value is unknown, of the wrong kind or out of range."""


def read_policy(values: dict[str, Any]) -> Policy:
    """The policy that the stored values describe; `BadPolicy` names the value that is wrong."""
    known = {field.name: field for field in fields(Policy)}
    for name, value in values.items():
        if name not in known:
            raise BadPolicy(f"{name!r} is no policy value; known are {', '.join(sorted(known))}.")
        whole = isinstance(known[name].default, int)
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            raise BadPolicy(f"{name} must be a {'whole number' if whole else 'number'}.")
        if not 0 <= value <= (MOST if whole else 1):
            raise BadPolicy(f"{name} must be {f'from 0 to {MOST}' if whole else 'between 0 and 1'}.")
    return Policy(**values)


def defaults() -> dict[str, Any]:
    """Every value with its default."""
    return asdict(Policy())

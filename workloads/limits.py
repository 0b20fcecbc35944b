"""How long may a job be silent before somebody looks? Limits of the detectors, per cluster."""

from collections.abc import Mapping

DEFAULT_LIMITS = {
    "hang_floor_seconds": 60.0,
    "hang_factor": 3.0,
    "hang_cold_seconds": 600.0,
    "startup_seconds": 1800.0,
    "phase_floor_seconds": 1200.0,
    "idle_seconds": 1800.0,
    "blind_seconds": 60.0,
    "settle_seconds": 5.0,
    "cascade_seconds": 60.0,
    "straggler_factor": 1.15,
    "straggler_seconds": 600.0,
    "checkpoint_factor": 3.0,
}
"""Limits and defaults (reference: defaults, attribution section 9), in seconds except the factors."""


def effective_limits(own: Mapping[str, float]) -> dict[str, float]:
    """The defaults with a cluster's own limits laid over them."""
    return {name: float(own.get(name, default)) for name, default in DEFAULT_LIMITS.items()}

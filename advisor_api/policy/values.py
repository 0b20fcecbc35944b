"""Which limits and choices does a policy have, and what are their defaults?"""

from collections.abc import Mapping
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
    max_excluded_user_share: float = 0.5
    max_nodes_per_incident: int = 2
    exclusion_seconds: int = 86400
    exclusion_half_life_seconds: int = 43200
    storm_restarts: int = 3
    storm_window_seconds: int = 600
    storm_share: float = 0.01
    max_user_restarts: int = 6
    max_attempts_in_window: int = 5
    attempts_window_seconds: int = 1800
    max_outer_retries: int = 2
    in_job_recovery_seconds: int = 1200
    evidence_seconds: int = 3600
    array_random_share: float = 0.01
    unknown_backoff_seconds: int = 60
    hold_seconds: int = 300
    advice_seconds: int = 900
    act_on_hardware: int = 1
    act_on_network: int = 1
    act_on_system: int = 1
    act_on_storage: int = 1
    act_on_scheduler: int = 1
    act_on_framework: int = 1
    act_on_application: int = 1
    act_on_data: int = 1
    act_on_unknown: int = 1

    def acts_on(self, failure_class: str) -> bool:
        """Whether advice on failures of this class (`Layer.domain`) may be carried out, or is only given."""
        return bool(getattr(self, f"act_on_{failure_class}", self.act_on_unknown))


SWITCH = "act_on_"
"""Begins the name of each value that is 1 or 0."""


MEANINGS = {
    "max_restarts_per_cause": "restarts for one root cause without a new checkpoint in between",
    "confirmation_restarts": "restarts to confirm an error of the program, its memory or its data, or a loss that "
    "is no number",
    "max_attempts_without_checkpoint": "attempts in a row without a new checkpoint, then the job is stopped; up to "
    "two that each blame a new host do not count",
    "max_requeues": "requeues of a job in total; its own `max_requeue_times` only lowers this",
    "exclude_confidence": "how sure a node must be named to be left out",
    "stop_confidence": "how sure a cause must be to stop a job at its first proof",
    "max_excluded_share": "largest share of a partition that may be excluded",
    "min_exclusions": "nodes that may be excluded however small the partition is",
    "max_excluded_user_share": "largest share of what may be excluded that one user's jobs may fill by the word of "
    "their own logs alone, without a witness from outside of them (rounded up, one node at least)",
    "max_nodes_per_incident": "nodes left out for one failure; when more are named, none is",
    "exclusion_seconds": "life of an exclusion",
    "exclusion_half_life_seconds": "after which an exclusion by a verdict weighs half as much: the lightest "
    "gives way where a job would be left too few nodes; 0: it weighs the same until its end",
    "storm_restarts": "restarts in a partition within the window (begun or handed out now), then a person is asked",
    "storm_window_seconds": "the window of the line above",
    "storm_share": "in large partitions the line above is this share of their nodes",
    "max_user_restarts": "restarts of all jobs of one user within the same window, then a person is asked",
    "max_attempts_in_window": "attempts of one job within the window below, then a person is asked",
    "attempts_window_seconds": "the window of the line above",
    "max_outer_retries": "jobs of one name, user and folder, each submitted right after the one before failed; "
    "with so many before it a job is not restarted without asking",
    "in_job_recovery_seconds": "how long a job that repairs itself is left to that: twice the 600 s of launchers",
    "evidence_seconds": "how old a verdict may be to be acted on without asking",
    "array_random_share": "share of the tasks of a job array that may fail by chance; from 0.2 on no array "
    "is said to fail as a whole",
    "unknown_backoff_seconds": "pause before a restart whose cause is not sure: 1, 5, 15 times this, ±20 %, at "
    "most 30 min; for a known cause 0, 1, 5 times",
    "hold_seconds": "how long after its release time a held job is let go by the watchdog",
    "advice_seconds": "life of an advice, and of the question for an approval",
    **{
        f"act_on_{name}": f"1: advice on failures of the class {name} may be carried out where all gates are open; "
        "0: it is only given. Read again at each hand-out"
        for name in (
            "hardware",
            "network",
            "system",
            "storage",
            "scheduler",
            "framework",
            "application",
            "data",
            "unknown",
        )
    },
}


FOR_ALL = frozenset(
    {
        "exclude_confidence",
        "max_excluded_share",
        "min_exclusions",
        "max_excluded_user_share",
        "max_nodes_per_incident",
        "exclusion_seconds",
        "exclusion_half_life_seconds",
        "storm_restarts",
        "storm_window_seconds",
        "storm_share",
    }
)
"""What one user's policy cannot say: it takes nodes from everybody, or counts the jobs of all."""


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
        if name.startswith(SWITCH) and value not in {0, 1}:
            raise BadPolicy(f"{name} must be 1 (advice may be carried out) or 0 (it is only given).")
        if not 0 <= value <= (MOST if whole else 1):
            raise BadPolicy(f"{name} must be {f'from 0 to {MOST}' if whole else 'between 0 and 1'}.")
    return Policy(**values)


def for_a_user(values: Mapping[str, Any]) -> None:
    """`BadPolicy` when values that touch everybody's nodes would be said for one user."""
    if wrong := sorted(FOR_ALL.intersection(values)):
        raise BadPolicy(
            f"{', '.join(wrong)} cannot be said for one user: the nodes and restarts of all are touched by it. "
            "Say it for the partition or the cluster."
        )


def defaults() -> dict[str, Any]:
    """Every value with its default."""
    return asdict(Policy())

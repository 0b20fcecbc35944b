"""How does a test write facts down in few words?"""

from datetime import UTC, datetime, timedelta
from typing import Any

from detectors.attribution.facts import AttemptFacts, EarlierAttempt, Facts, NodeFacts, Quote, Symptom, Versions
from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role
from schedulers.states import JobState

START = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
END = START + timedelta(minutes=30)
NOW = END + timedelta(seconds=6)
FOUR = ("n01", "n02", "n03", "n04")


def at(seconds: float) -> datetime:
    """Seconds before the end of the attempt."""
    return END - timedelta(seconds=seconds)


def attempt(**changes: Any) -> AttemptFacts:
    """A failed attempt on four nodes that came to step 120."""
    values: dict[str, Any] = {
        "cluster": "demo",
        "job_number": 1042,
        "job_epoch": 0,
        "index": 0,
        "user": "trainer",
        "partition": "main",
        "state": JobState.FAILED,
        "scheduler_word": "FAILED",
        "reason": "NonZeroExitCode",
        "nodes": FOUR,
        "exit_code": 1,
        "exit_signal": 0,
        "started_at": START,
        "ended_at": END,
        "phase": "training",
        "first_step": 1,
        "last_step": 120,
        "last_step_at": at(12),
        "last_checkpoint_step": 120,
    }
    return AttemptFacts(**{**values, **changes})


def never_stepped(**changes: Any) -> AttemptFacts:
    """An attempt that failed before its first step."""
    nothing: dict[str, Any] = dict.fromkeys(("first_step", "last_step", "last_step_at", "last_checkpoint_step"))
    return attempt(**{**nothing, **changes})


def quote(line: str = "a line", host: str | None = None, rank: int | None = None, offset: int = 0) -> Quote:
    """A line of the job's one log."""
    return Quote("/logs/1042.out", offset, line, host=host, rank=rank)


def symptom(signature: str, layer: Layer, role: Role = Role.ROOT, before_end: float = 8, **changes: Any) -> Symptom:
    """One symptom, so many seconds before the end."""
    values: dict[str, Any] = {
        "key": signature,
        "kind": AnomalyKind.CRASH,
        "signature": signature,
        "layer": layer,
        "role": role,
        "sentence": signature.replace(".", " "),
        "happened_at": at(before_end),
        "confidence": 0.9,
        "action": catalogue().signature(signature).action if catalogue().knows(signature) else "",
    }
    return Symptom(**{**values, **changes})


def ecc(*hosts: str, **changes: Any) -> Symptom:
    """An uncorrectable ECC error."""
    values = {"nodes": hosts, "sentence": "Uncorrectable ECC error", "confidence": 0.97}
    return symptom("cuda.ecc", Layer.HARDWARE_GPU, **{**values, **changes})


def aborts(count: int = 63, before_end: float = 5, **changes: Any) -> Symptom:
    """The cascade that every dead rank leaves behind."""
    values = {"count": count, "nodes": FOUR, "before_end": before_end}
    return symptom("pg.taking_down", Layer.FRAMEWORK, Role.SECONDARY, **{**values, **changes})


def facts(*symptoms: Symptom, **changes: Any) -> Facts:
    """Facts about a failed attempt with these symptoms."""
    values: dict[str, Any] = {
        "attempt": attempt(),
        "versions": Versions("1", "test"),
        "symptoms": symptoms,
        "nodes": tuple(NodeFacts(name, ("idle",)) for name in FOUR),
    }
    return Facts(**{**values, **changes})


def earlier(index: int = 0, **changes: Any) -> EarlierAttempt:
    """A failed attempt before this one."""
    return EarlierAttempt(**{"index": index, "state": JobState.FAILED, **changes})

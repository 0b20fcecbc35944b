"""What did the product say and do about the jobs of one case? Plain facts, read from its own rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from lab.cases.case import Case, Did
from lab.truth import Injected


@dataclass(frozen=True, slots=True)
class Symptom:
    """One stored anomaly. Times are aware UTC; `refuted_at`: when later lines showed that it moved again."""

    job: int
    attempt: int
    kind: str
    signature: str
    layer: str
    role: str
    basis: str
    happened_at: datetime
    detected_at: datetime
    nodes: tuple[str, ...] = ()
    refuted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """One stored verdict. `hosts` are those implicated as culprit or suspect, the surest first."""

    job: int
    attempt: int
    kind: str
    layer: str
    signature: str
    confidence: float
    action: str
    hosts: tuple[str, ...]
    excludable: tuple[str, ...]
    judged_at: datetime
    body_hash: str  # of the verdict without its random names: two runs that saw the same have the same
    status: str = ""  # of the evidence
    rule: str = ""  # that named the cause


@dataclass(frozen=True, slots=True)
class Advised:
    """One stored advice."""

    job: int
    attempt: int
    did: Did
    nodes: tuple[str, ...]
    rule: str
    advised_at: datetime
    acknowledged_at: datetime | None = None  # of the last command of its recovery
    resumed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """Everything about the jobs of one case, each list by time. `commands`: those that change something."""

    symptoms: tuple[Symptom, ...] = ()
    verdicts: tuple[Judged, ...] = ()
    advice: tuple[Advised, ...] = ()
    commands: tuple[str, ...] = ()
    states: Mapping[int, str] = field(default_factory=dict)  # job number → state of its last attempt


@dataclass(frozen=True, slots=True)
class Result:
    """One case after it was put on.

    `healthy_seconds` is the time that jobs of the case ran without anything being wrong with them (for a trap all
    of it). `broken` is a sentence when the lab itself failed; such a result is counted as neither found nor missed.
    """

    case: Case
    injected: tuple[Injected, ...]
    said: Said
    healthy_seconds: float
    broken: str = ""

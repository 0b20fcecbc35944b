"""What comes out of the search for a cause?"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from detectors.attribution.action import VerdictAction
from detectors.attribution.evidence_status import EvidenceStatus
from detectors.attribution.surroundings import Neighbour
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer


@dataclass(frozen=True)
class Implicated:
    """A host in the story. `role`: culprit, suspect or victim; `evidence` names quotes of the verdict (`e1`)."""

    host: str
    role: str
    confidence: float
    rank: int | None = None
    excludable: bool = False
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class RuleOutcome:
    """What one row of a table said. `because` is a sentence an operator can read."""

    id: str
    fired: bool
    because: str


@dataclass(frozen=True)
class Shared:
    """What is shared. `rule` and `because` as in the row; `by`: the other failures that belong to it."""

    rule: str
    because: str
    by: tuple[Neighbour, ...] = ()


@dataclass(frozen=True)
class Judgement:
    """A verdict before it is stored. `body` is the whole of it (schema 1.0) as JSON values.

    `headline`: the cause without hosts. `died_on`: nodes on which it died without a word, as far as it is not known
    that they had no part in it. `blamed`: hosts that our own evidence proves broken, whatever others answered.
    """

    kind: AnomalyKind
    layer: Layer
    signature: str
    sentence: str
    fingerprint: str
    evidence_status: EvidenceStatus
    confidence: float
    action: VerdictAction
    implicated: tuple[Implicated, ...]
    rules: tuple[RuleOutcome, ...]
    happened_at: datetime
    input_hash: str
    body: dict[str, Any]
    headline: str = ""
    died_on: tuple[str, ...] = ()
    blamed: tuple[str, ...] = ()
    shared: Shared | None = None

"""What is a provider asked about a verdict, and what may it answer?

Pure: questions are written and answers are read here and beside; only `detectors.providers.posting` speaks to a
network. What is sent is bounded and masked by whoever makes an `Asked`; what comes back is bounded here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from detectors.attribution.answers import Answer


class NoAnswer(Exception):
    """What came is no answer that can be used. The message says what came."""


class NothingYet(NoAnswer):
    """Nothing came, for a reason that may pass: it is asked again."""


@dataclass(frozen=True)
class Evidence:
    """A line that proves something, masked. `file`: its name without the folder."""

    source: str
    file: str
    line: str
    at: str | None = None
    host: str | None = None
    rank: int | None = None
    signature: str = ""


@dataclass(frozen=True)
class Suspected:
    """A host that our own evidence implicates."""

    host: str
    role: str
    rank: int | None = None
    confidence: float = 0.0


@dataclass(frozen=True)
class Cause:
    """A cause that we hold for possible, with its odds; the first one is the verdict's."""

    layer: str
    signature: str
    odds: float


@dataclass(frozen=True)
class Asked:
    """All that is ever sent about a verdict. `fingerprint` stays here: it says what the answer is about."""

    workload_id: str
    verdict_id: str
    fingerprint: str
    cluster: str
    job: str
    attempt: int
    phase: str
    kind: str
    signal: str
    sentence: str
    state: str
    exit_code: int | None
    exit_signal: int | None
    happened_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    nodes: tuple[str, ...]
    suspects: tuple[Suspected, ...]
    causes: tuple[Cause, ...]
    evidence: tuple[Evidence, ...]
    confidence: float
    seconds: float


class Provider(Protocol):
    """One form of asking. Both directions are pure; `read` raises `NoAnswer`."""

    name: str
    title: str

    def path(self) -> str:
        """What is added to the address."""

    def write(self, asked: Asked) -> dict[str, Any]:
        """The question, as JSON values."""

    def read(self, told: Mapping[str, Any], asked: Asked, provider: str) -> Answer:
        """The answer of the provider of that name; raises `NoAnswer`."""


def moment(at: datetime | None) -> str | None:
    """A time as it is sent: ISO 8601 with offset."""
    return at.isoformat() if at else None

"""What may the search for a cause look at? Frozen facts, and their hash.

Every fact is stored (anomalies, observations, attempts, nodes), so a verdict can be computed again. Facts come
in any order; `Facts.in_order` puts them into the one order in which they are judged and hashed.
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from detectors.attribution.answers import Answer, answers_in_order
from detectors.attribution.surroundings import Surroundings
from detectors.attribution.witnesses import Witnesses
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role
from schedulers.states import FINAL, JobState

QUOTE_LIMIT = 500  # characters of a line that a verdict quotes


@dataclass(frozen=True)
class Quote:
    """A line that proves something: where it stands and, cut to `QUOTE_LIMIT`, what it says."""

    stream: str
    offset: int
    line: str
    at: datetime | None = None
    host: str | None = None
    rank: int | None = None


@dataclass(frozen=True)
class Symptom:
    """One anomaly of the attempt, as stored.

    `action` is what the catalogue suggests for its signature. `refuted`: later lines showed that the attempt moved
    again.
    """

    key: str
    kind: AnomalyKind
    signature: str
    layer: Layer
    role: Role
    sentence: str
    happened_at: datetime
    action: str = ""
    basis: str = "line"  # line, file, state, step or event: what `happened_at` was read from
    fingerprint: str = ""
    step: int | None = None
    nodes: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    evidence: tuple[Quote, ...] = ()
    confidence: float = 0.0
    count: int = 1
    refuted: bool = False


@dataclass(frozen=True)
class AttemptFacts:
    """The attempt and how it ended. `user_id` and names are for the record only; nothing is decided by them."""

    cluster: str
    job_number: int
    job_epoch: int
    index: int
    user: str
    partition: str
    state: JobState
    scheduler_word: str
    reason: str
    nodes: tuple[str, ...]
    exit_code: int | None
    exit_signal: int | None
    started_at: datetime | None
    ended_at: datetime | None
    phase: str = "starting"
    first_step: int | None = None
    last_step: int | None = None
    last_step_at: datetime | None = None
    last_checkpoint_step: int | None = None
    loaded_checkpoint_step: int | None = None
    blind_reason: str = ""
    read_to_end: bool | None = None  # every log of it, when it had ended; `None`: nobody has noted it
    command_at: datetime | None = None  # when our first command on it was announced, while it ran

    @property
    def ended(self) -> bool:
        """Whether the scheduler calls it over."""
        return self.state in FINAL

    @property
    def stepped(self) -> bool:
        """Whether it is known to have come past its first step."""
        return self.last_step is not None


@dataclass(frozen=True)
class NodeFacts:
    """One node of the attempt as the scheduler describes it now; `states` in lower case.

    `reason_by`: who took it out of use, a person or the scheduler's own account.
    """

    name: str
    states: tuple[str, ...]
    reason: str = ""
    reason_at: datetime | None = None
    reason_by: str = ""
    booted_at: datetime | None = None

    @property
    def down(self) -> bool:
        """Whether it is lost now. Drained is not down: it may still run the job (trap 12)."""
        return bool(_LOST & set(self.states))


_LOST = frozenset({"down", "not_responding", "fail", "failing", "error"})


@dataclass(frozen=True)
class EarlierAttempt:
    """What became of an earlier attempt of the same job; cause fields are those of its newest verdict."""

    index: int
    state: JobState
    last_step: int | None = None
    last_checkpoint_step: int | None = None
    ended_at: datetime | None = None
    signature: str = ""
    fingerprint: str = ""
    layer: Layer = Layer.UNKNOWN
    step: int | None = None
    culprits: tuple[str, ...] = ()
    entity: str = ""
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Versions:
    """Of the search (`engine`) and of the catalogue that found the symptoms."""

    engine: str
    catalogue: str


@dataclass(frozen=True)
class Facts:
    """Everything a verdict is computed from. `ranks`: pairs of global rank and host.

    `health`: what others told about the attempt's nodes, as symptoms; they count beside its own when it failed.
    `around`: what else happened in the cluster. `answers`: what providers said about an earlier verdict on it.
    """

    attempt: AttemptFacts
    versions: Versions
    symptoms: tuple[Symptom, ...] = ()
    ranks: tuple[tuple[int, str], ...] = ()
    nodes: tuple[NodeFacts, ...] = ()
    earlier: tuple[EarlierAttempt, ...] = field(default_factory=tuple)
    witnesses: Witnesses = field(default_factory=Witnesses)
    health: tuple[Symptom, ...] = ()
    around: Surroundings = field(default_factory=Surroundings)
    answers: tuple[Answer, ...] = ()

    def in_order(self) -> "Facts":
        """The same facts in the one order that counts: equal sets of facts become equal."""
        return dataclasses.replace(
            self,
            symptoms=_symptoms_in_order(self.symptoms),
            ranks=tuple(sorted(set(self.ranks))),
            nodes=tuple(sorted(self.nodes, key=lambda node: node.name)),
            earlier=tuple(sorted(self.earlier, key=lambda attempt: attempt.index)),
            witnesses=self.witnesses.in_order(),
            health=_symptoms_in_order(self.health),
            around=self.around.in_order(),
            answers=answers_in_order(self.answers),
        )

    def canonical(self) -> dict[str, Any]:
        """As JSON values, in order; times in ISO 8601 with offset. What the first shape had not: if it is there."""
        made: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self.in_order()), default=_plain))
        if not made["answers"]:
            del made["answers"]
        if made["attempt"]["command_at"] is None:
            del made["attempt"]["command_at"]
        if not made["witnesses"]["unread_dumps"]:
            del made["witnesses"]["unread_dumps"]
        return made

    def input_hash(self) -> str:
        """SHA-256 over the canonical JSON: 64 hexadecimal digits."""
        text = json.dumps(self.canonical(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def _symptoms_in_order(symptoms: Iterable[Symptom]) -> tuple[Symptom, ...]:
    each = (
        dataclasses.replace(
            symptom,
            nodes=tuple(sorted(set(symptom.nodes))),
            ranks=tuple(sorted(set(symptom.ranks))),
            evidence=tuple(sorted(symptom.evidence, key=_quote_order)),
        )
        for symptom in symptoms
    )
    return tuple(sorted(each, key=lambda symptom: (symptom.happened_at, symptom.key)))


def _quote_order(quote: Quote) -> tuple[str, int, str, str, int]:
    return quote.stream, quote.offset, quote.line, quote.host or "", -1 if quote.rank is None else quote.rank


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} cannot be a fact")

"""What shape has a detector, and what may one know of the others?

A detector is a fold over readings. It gets its own state, the readings of this turn, what the detectors before
it in `DETECTORS` made known, the context and the time; it gives its new state and what it found.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from detectors.catalogue.masking import masked_in_place
from detectors.catalogue.readings import Reading
from detectors.catalogue.records import Checkpoint, Context, Evidence, Finding, Progress, ProgressPoint

QUOTE_LIMIT = 500  # characters of a line that is kept as evidence; excerpts keep the whole text
LOOKED_AT = 4096  # characters of a line in which secrets are looked for before it is cut


@dataclass(frozen=True)
class Rhythm:
    """How an attempt moves. Seconds throughout; `None` means not known yet.

    `gap`: median time between two lines that report a step; `spread` its median absolute deviation; `longest` the
    longest of the last ones. `lines`: how many such lines rose. `quiet_at`: the last read that showed a movement, a
    change of phase or, before the first step, any line. `worst`: longest time spent in a phase so far. `burst`: the
    longest time whose steps lately came all at once, because something on the way holds lines back. `done_at`: the
    read of the line that said that training is done, while no step came since.
    """

    gap: float | None = None
    spread: float | None = None
    longest: float | None = None
    lines: int = 0
    step: int | None = None
    step_at: datetime | None = None
    total: int | None = None
    quiet_at: datetime | None = None
    line_at: datetime | None = None
    phase: str = "starting"
    worst: Mapping[str, float] = field(default_factory=dict)
    last: Evidence | None = None
    burst: float = 0.0
    done_at: datetime | None = None


@dataclass(frozen=True)
class Known:
    """What the detectors of this turn have found so far.

    `at`: step and phase at each reading, in the order of the readings. `losses`: per reading `True` when it reports
    a loss that is not a number, `False` when the loss is one, `None` when it reports none. `rates`: per reading the
    work a second that it reports (tokens or TFLOP), `None` when it reports none. `witnesses`: by topic, what the
    ranks tell about each other; empty when this turn told nothing new.
    """

    progress: Progress = field(default_factory=Progress)
    rhythm: Rhythm = field(default_factory=Rhythm)
    at: tuple[tuple[int | None, str], ...] = ()
    losses: tuple[bool | None, ...] = ()
    rates: tuple[float | None, ...] = ()
    points: tuple[ProgressPoint, ...] = ()
    saved: tuple[int, ...] = ()
    loaded: tuple[int, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
    line_at: datetime | None = None  # newest read of this turn, whatever its line says
    witnesses: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """What one detector gave in one turn. `ended`: keys of findings that later lines refuted."""

    state: Mapping[str, Any]
    known: Known
    findings: tuple[Finding, ...] = ()
    ended: tuple[str, ...] = ()


State = Mapping[str, Any]
Fold = Callable[[State, Sequence[Reading], Known, Context, datetime], Step]


@dataclass(frozen=True)
class Detector:
    """One line of `DETECTORS`. `name` is the key of its state, at most 32 characters."""

    name: str
    question: str
    fold: Fold


def quote(reading: Reading) -> Evidence:
    """The reading's line as evidence: as it was read, but for secrets, and cut to `QUOTE_LIMIT`."""
    record = reading.record
    return Evidence(
        record.stream,
        record.offset,
        masked_in_place(record.line[:LOOKED_AT])[:QUOTE_LIMIT],
        reading.at,
        reading.speaker.host,
        reading.speaker.rank,
    )


def stored_quote(evidence: Evidence) -> list[Any]:
    """Evidence as JSON."""
    at = evidence.at.isoformat() if evidence.at is not None else None
    return [evidence.stream, evidence.offset, evidence.line, at, evidence.host, evidence.rank]


def quote_from(row: Sequence[Any]) -> Evidence:
    """Evidence from its JSON."""
    return Evidence(row[0], row[1], row[2], moment(row[3]), row[4], row[5])


def moment(text: str | None) -> datetime | None:
    """A stored time."""
    return datetime.fromisoformat(text) if text else None


def stored(at: datetime | None) -> str | None:
    """A time as JSON."""
    return at.isoformat() if at is not None else None

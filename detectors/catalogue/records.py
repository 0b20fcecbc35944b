"""What goes into a detector, and what comes out?

A detector is a fold: what it knew, the records since and the time go in; what it knows and what it found
come out. It does no I/O, reads no clock, and its state is JSON.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from detectors.catalogue.catalogue import Catalogue, catalogue
from detectors.catalogue.gpu_use import GpuUse
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role
from schedulers.states import JobState

LINE_LIMIT = 16384  # bytes kept of one line (attribution section 3)


class Record(NamedTuple):
    """One line of a source as it was read. A named tuple, as all that is made for each line: it costs a third.

    `offset` is the byte offset of its first byte, `line` the decoded text without its newline, cut to
    `LINE_LIMIT`. `read_at` is the file time of the read that first showed it. `host` and `rank` are what the
    stream itself tells (a file per node or per task), `None` when it tells nothing. `of_node`: the node wrote it,
    not the job, so it is no sign of life.
    """

    stream: str
    offset: int
    line: str
    read_at: datetime
    host: str | None = None
    rank: int | None = None
    of_node: bool = False


@dataclass(frozen=True)
class Evidence:
    """A line that proves something, and where it stands."""

    stream: str
    offset: int
    line: str
    at: datetime | None = None  # the line's own stamp
    host: str | None = None
    rank: int | None = None


@dataclass(frozen=True)
class Finding:
    """One symptom found. `key` is the same when it is found again: once per attempt and key is stored.

    `happened_at` was read from `basis`: `line` (its own stamp), `file` (time of the read that showed it),
    `state` (a change of state), `step` (the last step before a silence). `fingerprint` says "the same again".
    """

    key: str
    kind: AnomalyKind
    sentence: str
    happened_at: datetime
    basis: str
    signature: str = ""
    layer: Layer = Layer.UNKNOWN
    role: Role = Role.ROOT
    fingerprint: str = ""
    step: int | None = None
    nodes: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    confidence: float = 0.0
    count: int = 1
    last_step: int | None = None  # where the attempt was at the newest line of it; not stored


@dataclass(frozen=True)
class ProgressPoint:
    """A step that a line reported. `seconds` is the step time when the line or the interval tells it.

    `tokens` and `tflop`: work a second, as the line counts it. `nan`: the loss is not a number.
    """

    at: datetime
    step: int
    seconds: float | None = None
    loss: float | None = None
    tokens: float | None = None
    tflop: float | None = None
    nan: bool = False


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint of which a line says that it is complete (`deed` saved), or that it was loaded.

    `place` is what the line, or the one that began it, calls it; hostile text, empty when no line tells it.
    """

    at: datetime
    step: int
    deed: str
    place: str = ""


@dataclass(frozen=True)
class Progress:
    """How far an attempt is. `None` means not known yet."""

    first_step: int | None = None
    last_step: int | None = None
    last_step_at: datetime | None = None
    last_checkpoint_step: int | None = None
    loaded_checkpoint_step: int | None = None
    baseline_step_seconds: float | None = None
    phase: str = "starting"


@dataclass(frozen=True)
class Context:
    """What a detector may know of an attempt beside its lines. `limits`: `workloads.limits`, all present.

    `known`: the catalogue of its cluster, the shipped one where the site has added nothing. `use`: what the metrics
    of its GPUs tell; `None` when nobody knows.
    """

    state: JobState
    nodes: tuple[str, ...]
    started_at: datetime | None
    ended_at: datetime | None
    exit_code: int | None
    exit_signal: int | None
    reason: str
    limits: Mapping[str, float]
    blind: bool = False  # no lines can be read: silence proves nothing
    last_read_at: datetime | None = None  # newest moment up to which every stream was read
    known: Catalogue = field(default_factory=catalogue, repr=False)
    use: GpuUse | None = None
    command_at: datetime | None = None  # when our first command on it was announced, while it ran
    looked_at: datetime | None = None  # the look before this one, `now` for the first; `None`: looked at all along
    missed_seconds: float = 0.0  # before this turn in which nobody looked: nobody knows how long they were
    listed_at: datetime | None = None  # the scheduler's newest word on its job; `None`: no scheduler is asked
    unseen: bool = False  # the scheduler does not answer now: what runs may have ended


@dataclass(frozen=True)
class Outcome:
    """What one turn over an attempt gave: memories to store, findings, progress, points and map facts."""

    states: Mapping[str, Mapping[str, Any]]
    findings: tuple[Finding, ...] = ()
    progress: Progress = field(default_factory=Progress)
    points: tuple[ProgressPoint, ...] = ()
    rank_hosts: Mapping[int, str] = field(default_factory=dict)
    checkpoints_saved: tuple[int, ...] = ()
    checkpoints_loaded: tuple[int, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
    ended: tuple[str, ...] = ()  # keys of findings that later lines refuted: the attempt moved again
    witnesses: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)  # `catalogue.witnesses`


class Turn(Protocol):
    """The shape of `detectors.catalogue.turning.turn`: all detectors over the new records of one attempt."""

    def __call__(
        self,
        states: Mapping[str, Mapping[str, Any]],
        records: Sequence[Record],
        context: Context,
        now: datetime,
    ) -> Outcome:
        """Fold `records` (in reading order, possibly none) into `states`."""

"""How far did an attempt come? Stored by the detectors inside their own transaction."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.trail import Actor, Entry, record
from schedulers.states import FINAL
from workloads.changes import BATCH
from workloads.many_rows import change_each
from workloads.models import Attempt
from workloads.phase import Phase
from workloads.progress_models import Checkpoint, ProgressPoint
from workloads.stored_text import storable
from workloads.subjects import subject_of
from workloads.thinning import FULL

NEAR = 60  # seconds: logs of one turn that lag by different times are asked for apart
STEP_LIMIT = 2**63 - 1  # the column's
EVENTS_PER_TURN = 20  # a log may claim a checkpoint on every line
CHECKPOINTS_KEPT = 500  # of one attempt, the newest: at one in ten minutes those of three days
PLACE_LIMIT = 512  # characters; the column's width
PROGRESS = Actor(ActorKind.DETECTOR, "progress")
FIELDS = (
    "first_step",
    "last_step",
    "last_step_at",
    "last_checkpoint_step",
    "loaded_checkpoint_step",
    "baseline_step_seconds",
)


@dataclass(frozen=True)
class ProgressSample:
    """A step that a line reported; `seconds` is the step time where it is known. `nan`: the loss is no number.

    `tokens` and `tflop`: work a second, as the line counts it.
    """

    at: datetime
    step: int
    seconds: float | None = None
    loss: float | None = None
    tokens: float | None = None
    tflop: float | None = None
    nan: bool = False


@dataclass(frozen=True)
class CheckpointSample:
    """A checkpoint that a line calls complete (`deed` saved) or loaded; `place` is hostile text."""

    at: datetime
    step: int
    deed: str
    place: str = ""


@dataclass(frozen=True)
class ProgressUpdate:
    """How far an attempt is; `None` leaves what is stored. The last two are what this turn saw, by step."""

    first_step: int | None = None
    last_step: int | None = None
    last_step_at: datetime | None = None
    last_checkpoint_step: int | None = None
    loaded_checkpoint_step: int | None = None
    baseline_step_seconds: float | None = None
    phase: str = Phase.STARTING.value
    checkpoints: tuple[CheckpointSample, ...] = ()
    checkpoints_saved: tuple[int, ...] = ()
    checkpoints_loaded: tuple[int, ...] = ()


@dataclass(frozen=True)
class Moved:
    """What one turn tells of one attempt; `points` in the order of their lines."""

    attempt: Attempt
    update: ProgressUpdate
    points: Sequence[ProgressSample] = ()


def store_progress(
    attempt: Attempt, update: ProgressUpdate, points: Sequence[ProgressSample], now: datetime
) -> None:
    """`store_all_progress` of one attempt, which carries the new values afterwards."""
    store_all_progress([Moved(attempt, update, points)], now)
    for name, value in _values(attempt, update).items():
        setattr(attempt, name, value)


def store_all_progress(moves: Sequence[Moved], now: datetime) -> None:
    """Store progress, points and checkpoint events of some attempts inside the caller's transaction.

    Nothing is written when nothing is new. At most one point a second is kept, the first of each second with the
    values that others of its step and second add; numbers that no column takes are left out. Only checkpoints are
    stored attempt by attempt. `attempt.job.cluster` is read; of the attempts, phase and time of change are set.
    """
    kept = _one_a_second(moves)
    with_points = {row.attempt_id for row in kept}
    changes: dict[int, dict[str, Any]] = {}
    for moved in moves:
        attempt, values = moved.attempt, _values(moved.attempt, moved.update)
        if attempt.pk in with_points and attempt.thin_due_at is None:
            values["thin_due_at"] = now + FULL
        if values or attempt.pk in with_points:
            changes[attempt.pk] = {**values, "changed_at": now}
            attempt.changed_at = now
        if moved.update.checkpoints:
            _keep_checkpoints(attempt, moved.update.checkpoints)
    if kept:
        ProgressPoint.objects.bulk_create(kept, BATCH)
    change_each(Attempt, changes)
    _store_phases(moves, now)
    if entries := [entry for moved in moves for entry in _entries(moved)]:
        record(entries, now)


def _entries(moved: Moved) -> list[Entry]:
    attempt, update = moved.attempt, moved.update
    return [
        *_checkpoints(attempt, EventType.CHECKPOINT_SAVED, "saved", update.checkpoints_saved),
        *_checkpoints(attempt, EventType.CHECKPOINT_LOADED, "loaded", update.checkpoints_loaded),
    ]


def _values(attempt: Attempt, update: ProgressUpdate) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in FIELDS:
        value = getattr(update, name)
        if value is None or value == getattr(attempt, name) or not _fits(value):
            continue
        found[name] = value
    return found


def _fits(value: int | float | datetime) -> bool:
    if isinstance(value, datetime):
        return True
    return math.isfinite(value) and abs(value) <= STEP_LIMIT


def _store_phases(moves: Sequence[Moved], now: datetime) -> None:
    """An attempt that ended meanwhile stays ended: the caller's copy of it may be older than its end."""
    entered: dict[str, list[Attempt]] = defaultdict(list)
    for moved in moves:
        phase = moved.update.phase
        if phase != moved.attempt.phase and phase in set(Phase):
            entered[phase].append(moved.attempt)
    for phase, attempts in entered.items():
        unfinished = Attempt.objects.filter(pk__in=[one.pk for one in attempts]).exclude(state__in=FINAL)
        if unfinished.update(phase=phase, changed_at=now) == len(attempts):
            for one in attempts:
                one.phase, one.changed_at = phase, now


def _one_a_second(moves: Sequence[Moved]) -> list[ProgressPoint]:
    """The points to be stored: none in a second of which one is stored already."""
    usable = {
        moved.attempt.pk: (moved.attempt, points)
        for moved in moves
        if (points := [point for point in moved.points if abs(point.step) <= STEP_LIMIT])
    }
    taken = _taken({key: points for key, (_attempt, points) in usable.items()})
    kept: dict[tuple[int, datetime], ProgressPoint] = {}
    for key, (attempt, points) in usable.items():
        for point in points:
            second = key, point.at.replace(microsecond=0)
            if second in taken:
                continue
            if second not in kept:
                kept[second] = ProgressPoint(attempt=attempt, at=point.at, step=point.step)
            if kept[second].step == point.step:
                _complete(kept[second], point)
    return list(kept.values())


def _taken(points: Mapping[int, Sequence[ProgressSample]]) -> set[tuple[int, datetime]]:
    """Attempt and second of what is stored. Those whose points lie in the same minutes are asked for together."""
    near: dict[tuple[int, int], list[int]] = defaultdict(list)
    for key, some in points.items():
        stamps = [point.at.timestamp() for point in some]
        near[int(min(stamps) // NEAR), int(max(stamps) // NEAR)].append(key)
    taken: set[tuple[int, datetime]] = set()
    for keys in near.values():
        moments = [point.at.replace(microsecond=0) for key in keys for point in points[key]]
        stored = ProgressPoint.objects.filter(
            attempt__in=keys, at__gte=min(moments), at__lt=max(moments) + timedelta(seconds=1)
        )
        rows = stored.order_by().values_list("attempt_id", "at")
        taken |= {(key, at.replace(microsecond=0)) for key, at in rows}
    return taken


def _complete(row: ProgressPoint, point: ProgressSample) -> None:
    """Values of a step may stand on several lines: each is taken from the first that tells it."""
    told = {
        "step_seconds": _finite(point.seconds),
        "loss": _finite(point.loss),
        "tokens_per_second": _finite(point.tokens),
        "tflop_per_second": _finite(point.tflop),
    }
    for name, value in told.items():
        if getattr(row, name) is None:
            setattr(row, name, value)
    row.not_a_number = row.not_a_number or point.nan


def _keep_checkpoints(attempt: Attempt, told: Sequence[CheckpointSample]) -> None:
    """Each once, though every rank may say it; the newest `CHECKPOINTS_KEPT` of an attempt stay."""
    different = {(one.deed, one.step): one for one in told if 0 <= one.step <= STEP_LIMIT}
    newest = Checkpoint.objects.filter(attempt=attempt).order_by("-pk").values_list("deed", "step").first()
    rows = [
        Checkpoint(attempt=attempt, at=one.at, step=one.step, deed=one.deed, place=storable(one.place, PLACE_LIMIT))
        for key, one in list(different.items())[-EVENTS_PER_TURN:]
        if key != newest
    ]
    Checkpoint.objects.bulk_create(rows, BATCH)
    oldest = Checkpoint.objects.filter(attempt=attempt).order_by("-pk").values_list("pk", flat=True)
    if (border := oldest[CHECKPOINTS_KEPT : CHECKPOINTS_KEPT + 1].first()) is not None:
        Checkpoint.objects.filter(attempt=attempt, pk__lte=border).delete()


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None  # no database takes NaN everywhere


def _checkpoints(attempt: Attempt, kind: EventType, verb: str, steps: Sequence[int]) -> list[Entry]:
    different = [step for step in dict.fromkeys(steps) if 0 <= step <= STEP_LIMIT]
    newest = different[-EVENTS_PER_TURN:]
    left_out = len(different) - len(newest)
    return [
        Entry(
            type=kind,
            subject=subject_of(attempt),
            actor=PROGRESS,
            sentence=f"Attempt {attempt.label} {verb} the checkpoint of step {step}.",
            payload={"step": step} | ({"earlier_left_out": left_out} if left_out and step == newest[0] else {}),
        )
        for step in newest
    ]

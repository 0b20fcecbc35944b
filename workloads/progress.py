"""How far did an attempt come? Stored by the detectors inside their own transaction."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.trail import Actor, Entry, record
from schedulers.states import FINAL
from workloads.changes import BATCH
from workloads.models import Attempt, Checkpoint, ProgressPoint
from workloads.phase import Phase
from workloads.stored_text import storable
from workloads.subjects import subject_of
from workloads.thinning import FULL

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


def store_progress(
    attempt: Attempt, update: ProgressUpdate, points: Sequence[ProgressSample], now: datetime
) -> None:
    """Store progress, points and checkpoint events inside the caller's transaction.

    Nothing is written when nothing is new. At most one point a second is kept, the first of each second with the
    values that others of its step and second add; numbers that no column takes are left out. `attempt` carries the
    new values afterwards; `attempt.job.cluster` is read.
    """
    values = _values(attempt, update)
    kept = _one_a_second(attempt, points)
    entries = [
        *_checkpoints(attempt, EventType.CHECKPOINT_SAVED, "saved", update.checkpoints_saved),
        *_checkpoints(attempt, EventType.CHECKPOINT_LOADED, "loaded", update.checkpoints_loaded),
    ]
    if kept:
        ProgressPoint.objects.bulk_create(kept, BATCH)
        if attempt.thin_due_at is None:
            values["thin_due_at"] = now + FULL
    if update.checkpoints:
        _keep_checkpoints(attempt, update.checkpoints)
    if values or kept:
        values["changed_at"] = now
        Attempt.objects.filter(pk=attempt.pk).update(**values)
        for name, value in values.items():
            setattr(attempt, name, value)
    _store_phase(attempt, update.phase, now)
    if entries:
        record(entries, now)


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


def _store_phase(attempt: Attempt, phase: str, now: datetime) -> None:
    """An attempt that ended meanwhile stays ended: the caller's copy of it may be older than its end."""
    if phase == attempt.phase or phase not in set(Phase):
        return
    unfinished = Attempt.objects.filter(pk=attempt.pk).exclude(state__in=FINAL)
    if unfinished.update(phase=phase, changed_at=now):
        attempt.phase, attempt.changed_at = phase, now


def _one_a_second(attempt: Attempt, points: Sequence[ProgressSample]) -> list[ProgressPoint]:
    usable = [point for point in points if abs(point.step) <= STEP_LIMIT]
    if not usable:
        return []
    first = min(point.at for point in usable).replace(microsecond=0)
    last = max(point.at for point in usable).replace(microsecond=0) + timedelta(seconds=1)
    stored = ProgressPoint.objects.filter(attempt=attempt, at__gte=first, at__lt=last)
    taken = {at.replace(microsecond=0) for at in stored.values_list("at", flat=True)}
    kept: dict[datetime, ProgressPoint] = {}
    for point in usable:
        second = point.at.replace(microsecond=0)
        if second in taken:
            continue
        if second not in kept:
            kept[second] = ProgressPoint(attempt=attempt, at=point.at, step=point.step)
        if kept[second].step == point.step:
            _complete(kept[second], point)
    return list(kept.values())


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

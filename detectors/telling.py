"""How does what a job tells of itself get in? As lines of one more stream, in the words that logs use.

A job's word is worth as much as its log and no more: the same detectors read it, by the clock of its arrival, and
what it says takes the same road as a line. Only numbers, a word for the phase and a path get into a line.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from audit.masking import masked
from detectors.told_models import BY, TEXT, ToldLine
from schedulers.states import LIVE
from workloads.models import Attempt

KEPT = 500  # messages of one attempt: what an excerpt may show, and for how long a key is known
UNREAD = 400  # messages that may wait for the detectors; they read every second
EACH = timedelta(minutes=1)
IN_EACH = 240  # messages of one attempt in `EACH`: four a second, more often than anything is read
LIVING = tuple(state.value for state in LIVE)
STEP_LIMIT = 999_999_999  # what a step line of a log can say
_PHASES = {
    "saving": "saving checkpoint at iteration {step} to {path}",
    "loading": " loading checkpoint from {path}",
    "evaluating": "***** Running Evaluation *****",
    "training": "** Finished validation **",
    "ended": "Training complete",
}
PHASES = tuple(_PHASES)
_DEEDS = {
    "saved": "successfully saved checkpoint from iteration {step} to {path}",
    "loaded": " successfully loaded checkpoint from {path} at iteration {step}",
}
DEEDS = tuple(_DEEDS)
_NOWHERE = "told"  # stands for the path of a checkpoint that none was told of


class NotRunning(Exception):
    """The attempt does not run (any more): nothing that is told of it counts."""


class TooMuch(Exception):
    """More messages than are taken; `wait` is when to tell on."""

    def __init__(self, sentence: str, wait: timedelta) -> None:
        super().__init__(sentence)
        self.wait = wait


@dataclass(frozen=True)
class Message:
    """What a job tells at once. `loss` is a number, or `nan` where it is none; `rate` is tokens a second.

    `deed`: what was done with the checkpoint of `at_step`, one of `DEEDS`; `path` has no blanks. Numbers are finite
    and not negative, steps at most `STEP_LIMIT`.
    """

    step: int | None = None
    total: int | None = None
    loss: float | None = None
    rate: float | None = None
    seconds: float | None = None
    phase: str = ""
    deed: str = ""
    at_step: int | None = None
    path: str = ""


def lines_of(message: Message) -> str:
    """The message as lines of a log: the checkpoint, then the step, then the phase that begins with it."""
    path = masked(message.path) or _NOWHERE
    lines = []
    if message.deed:
        lines.append(_DEEDS[message.deed].format(step=message.at_step, path=path))
    if message.step is not None:
        lines.append(_step_line(message))
    if message.phase and not (message.phase == "training" and message.step is not None):
        lines.append(_PHASES[message.phase].format(step=message.step or 0, path=path))
    return "\n".join(lines)


def _step_line(message: Message) -> str:
    parts = [f"step {message.step}" + (f"/{message.total}" if message.total else "")]
    if message.loss is not None:
        parts.append(f"loss {message.loss:.6g}")
    if message.rate is not None:
        parts.append(f"tokens_per_sec: {message.rate:.6f}")
    if message.seconds is not None:
        parts.append(f"s/it | timing_s/step: {message.seconds:.6f}")
    return " | ".join(parts)


def tell(attempt: Attempt, key: str, message: Message, by: str, now: datetime) -> tuple[ToldLine, bool]:
    """Store a message of a running attempt once by its key; the row, and whether it is new.

    Raises `NotRunning` or `TooMuch`. Messages of one attempt come one after the other: its row is locked. The next
    turn of the detectors reads it.
    """
    with transaction.atomic():
        mine = Attempt.objects.select_for_update().filter(pk=attempt.pk)
        alive = mine.values_list("state", flat=True).first() in LIVING
        rows = ToldLine.objects.filter(attempt=attempt.pk)
        if (known := rows.filter(key=key).first()) is not None:
            return known, False
        if not alive:
            raise NotRunning(f"Attempt {attempt.label} does not run.")
        newest = rows.order_by("-offset")
        stored = list(newest.values_list("offset", "told_at", "unread")[: KEPT + 1])
        _not_too_much([(told_at, unread) for _offset, told_at, unread in stored], now)
        last = newest.first()
        offset = last.offset + len(last.text.encode()) + 1 if last is not None else 0
        text = lines_of(message)[:TEXT]
        row = ToldLine.objects.create(
            attempt=attempt, key=key, offset=offset, text=text, told_at=now, told_by=by[:BY]
        )
        if len(stored) >= KEPT:
            rows.filter(unread=False, offset__lte=stored[KEPT - 1][0]).delete()
    return row, True


def _not_too_much(stored: Sequence[tuple[datetime, bool]], now: datetime) -> None:
    """`stored`: of each message when it came, and whether it still waits."""
    if sum(unread for _told_at, unread in stored) >= UNREAD:
        raise TooMuch("What was told before has not been read yet; tell on later.", timedelta(seconds=10))
    lately = [told_at for told_at, _unread in stored if told_at > now - EACH]
    if len(lately) >= IN_EACH:
        seconds = EACH.total_seconds()
        raise TooMuch(f"A job may tell {IN_EACH} messages in {seconds:.0f} s.", min(lately) + EACH - now)

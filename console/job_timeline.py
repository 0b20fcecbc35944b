"""How does a job's stored story become the picture of its attempts?"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from console.job_rows import ToldEvent, end_of, state_of
from console.job_window import SHORTEST, WHOLE, Window, around
from console.mark_kind import MARKED, MarkKind
from console.timeline import Happening, Run, Saved, Timeline, lay_out
from schedulers.words import Word
from workloads.models import Attempt

_MARKED = {event_type.value: kind for event_type, kind in MARKED.items()}
BESIDE = timedelta(seconds=30)  # shown before a failure and after what came of it


@dataclass(frozen=True)
class Choice:
    """A stretch of time that one click shows."""

    label: str
    window: Window
    chosen: bool


def job_timeline(
    attempts: Sequence[Attempt],
    events: Sequence[ToldEvent],
    checkpoints: Mapping[int, tuple[Saved, ...]],
    now: datetime,
    window: Window = WHOLE,
) -> Timeline | None:
    """The picture at `now`; none before anything has a time. An anomaly stands where it was seen."""
    runs = [_run(attempt, checkpoints.get(attempt.index, ())) for attempt in attempts]
    lanes = _Lanes(attempts)
    happenings = [
        Happening(index, event.at, kind, event.sentence, anchor_of(event.pk))
        for event in events
        if (kind := _MARKED.get(event.type)) and (index := lanes.of(event, kind)) is not None
    ]
    return lay_out(runs, happenings, now, window)


def window_of(attempt: Attempt) -> Window:
    """A stretch of time that holds all of an attempt."""
    return _run(attempt, ()).window


def window_before(attempt: Attempt) -> Window:
    """The stretch of time before an attempt."""
    begun = attempt.started_at or attempt.submitted_at
    return WHOLE if begun is None else Window(None, begun - SHORTEST)


def anchor_of(event: int) -> str:
    """The id of an event's line on the page."""
    return f"event-{event}"


def choices(
    attempts: Sequence[Attempt], recovery: tuple[datetime, datetime | None] | None, window: Window
) -> list[Choice]:
    """All of the job, the newest attempt, and the newest recovery; none of a job that has only one stretch."""
    wanted = [(_("Whole job"), WHOLE)]
    begun = [attempt for attempt in attempts if attempt.started_at is not None]
    if begun and len(attempts) > 1:
        wanted.append((_("Newest attempt"), window_of(begun[-1])))
    if recovery is not None:
        failed, over = recovery
        span = around(failed - BESIDE, None if over is None else over + BESIDE)
        wanted.append((_("Newest recovery"), span))
    if len(wanted) == 1 and not window:
        return []
    made = [Choice(label, stretch, stretch.query == window.query) for label, stretch in wanted]
    return (
        made
        if any(one.chosen for one in made)
        else [*made, Choice(_("A stretch that you chose"), window, chosen=True)]
    )


class _Lanes:
    """On which attempt's lane an event is marked."""

    def __init__(self, attempts: Sequence[Attempt]) -> None:
        self._shown = {attempt.index for attempt in attempts}
        starts = sorted((a.started_at, a.index) for a in attempts if a.started_at is not None)
        self._starts = [at for at, _index in starts]
        self._newest: list[int] = []  # the highest index that has started by then
        for _at, index in starts:
            self._newest.append(max(index, self._newest[-1]) if self._newest else index)

    def of(self, event: ToldEvent, kind: Word) -> int | None:
        """None when that attempt is not shown.

        What came of an advice is told about the attempt that failed, and seen on the one that ran at that moment.
        """
        if kind is MarkKind.OUTCOME and (place := bisect_right(self._starts, event.at)):
            return self._newest[place - 1]
        return event.attempt_index if event.attempt_index in self._shown else None


def _run(attempt: Attempt, checkpoints: tuple[Saved, ...]) -> Run:
    state = state_of(attempt)
    return Run(
        attempt.index,
        _(state.label).lower(),
        state.colour,
        attempt.submitted_at,
        attempt.started_at,
        end_of(attempt),
        checkpoints,
        _steps(attempt),
    )


def _steps(attempt: Attempt) -> str:
    """`steps 1 to 524, checkpoint 500`."""
    first = "?" if attempt.first_step is None else attempt.first_step
    names = {"first": first, "last": attempt.last_step, "saved": attempt.last_checkpoint_step}
    if attempt.last_step is not None and attempt.last_checkpoint_step is not None:
        return _("steps %(first)s to %(last)s, checkpoint %(saved)s") % names
    if attempt.last_step is not None:
        return _("steps %(first)s to %(last)s") % names
    return _("checkpoint %(saved)s") % names if attempt.last_checkpoint_step is not None else ""

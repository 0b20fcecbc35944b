"""How does a job's stored story become the picture of its attempts?"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from audit.models import AuditEvent
from console.job_rows import end_of, state_of
from console.mark_kind import MARKED, MarkKind
from console.timeline import Happening, Run, Timeline, lay_out
from workloads.models import Attempt

_MARKED = {event_type.value: kind for event_type, kind in MARKED.items()}


def job_timeline(
    attempts: Sequence[Attempt],
    events: Sequence[AuditEvent],
    checkpoints: Mapping[int, tuple[datetime, ...]],
    now: datetime,
) -> Timeline | None:
    """The picture at `now`; none before anything has a time. An anomaly stands where it was seen."""
    runs = [_run(attempt, checkpoints.get(attempt.index, ())) for attempt in attempts]
    happenings = [
        Happening(index, event.at, _MARKED[event.type], event.sentence, event_anchor(event))
        for event in events
        if event.type in _MARKED and (index := _lane_of(event, attempts)) is not None
    ]
    return lay_out(runs, happenings, now)


def event_anchor(event: AuditEvent) -> str:
    """The id of an event's line on the page."""
    return f"event-{event.pk}"


def _lane_of(event: AuditEvent, attempts: Sequence[Attempt]) -> int | None:
    """On which attempt's lane an event is marked; none when that attempt is not shown.

    What came of an advice is told about the attempt that failed, and seen on the one that ran at that moment.
    """
    if _MARKED[event.type] is MarkKind.OUTCOME:
        begun = [a.index for a in attempts if a.started_at is not None and a.started_at <= event.at]
        return max(begun, default=event.attempt_index)
    return next((attempt.index for attempt in attempts if attempt.index == event.attempt_index), None)


def _run(attempt: Attempt, checkpoints: tuple[datetime, ...]) -> Run:
    state = state_of(attempt)
    return Run(
        attempt.index,
        f"Attempt {attempt.index}: {state.label.lower()}",
        state.colour,
        attempt.submitted_at,
        attempt.started_at,
        end_of(attempt),
        checkpoints,
    )

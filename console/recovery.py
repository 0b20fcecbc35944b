"""How far is one recovery, and how long did each part of it take?"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from advisor_api.models import Advice, Sequence
from workloads.mode import Mode
from workloads.models import Job

SEQUENCES_READ = 50


@dataclass(frozen=True)
class Station:
    """One station of a recovery: `took` since the last one that was reached, or how it is `missing`."""

    name: str
    at: datetime | None
    took: timedelta | None
    missing: str = ""


def open_recoveries() -> QuerySet[Sequence]:
    """Recoveries that are under way. Advice made in monitor mode recovers nothing."""
    return Sequence.objects.filter(closed_at=None).exclude(advice__mode_at_decision=Mode.MONITOR.value)


def stations_of(sequence: Sequence) -> tuple[Station, ...]:
    """From the failure to the end of the training. A restart is not a recovery: three outcomes, three stations."""
    named = (
        (_("Failed"), sequence.happened_at),
        (_("Detected"), sequence.detected_at),
        (_("Advised"), sequence.advised_at),
        (_("Command done"), sequence.commanded_at),
        (_("Allocation restarted"), sequence.restarted_at),
        (_("Progress resumed"), sequence.resumed_at),
        (_("Training completed"), sequence.completed_at),
    )
    stations: list[Station] = []
    last: datetime | None = None
    missing = _("not reached") if sequence.closed_at else _("not yet")
    if sequence.advice.mode_at_decision == Mode.MONITOR:
        missing = _("not in monitor mode")
    for name, at in named:
        took = max(at - last, timedelta()) if at is not None and last is not None else None
        stations.append(Station(name, at, took, missing))
        last = at or last
    return tuple(stations)


def sequence_of(advice: Advice) -> Sequence | None:
    """The recovery of an advice; needs `select_related("sequence")` to cost no query."""
    return getattr(advice, "sequence", None)


def sequences_of(job: Job) -> list[Sequence]:
    """All recoveries of a job, the newest ones if there are very many."""
    return list(Sequence.objects.filter(advice__attempt__job=job).order_by("-id")[:SEQUENCES_READ])


def newest_recovery(sequences: list[Sequence]) -> tuple[datetime, datetime | None] | None:
    """When the newest recovery began, and when it was over; none yet while it is under way."""
    newest = max(sequences, key=lambda sequence: sequence.pk, default=None)
    if newest is None:
        return None
    return newest.happened_at, newest.resumed_at or newest.closed_at


def failure_before(at: datetime, sequences: list[Sequence]) -> datetime | None:
    """When the failure happened whose recovery an event at `at` belongs to; none outside of any recovery."""
    fitting = [s for s in sequences if s.happened_at <= at and (s.closed_at is None or at <= s.closed_at)]
    return max((s.happened_at for s in fitting), default=None)

"""Whose series is thinned now? A bounded part a tick: two reads, one deletion, and when they are due again."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby

from django.db import transaction

from schedulers.states import FINAL
from workloads.models import Attempt
from workloads.progress_models import ProgressPoint
from workloads.thinning import FULL, Old, next_at, superfluous

ATTEMPTS = 200  # looked at in one tick
ROWS = 30_000  # read, and deleted, in one tick: SQLite takes at most 32,766 parameters
Row = tuple[int, int, datetime, float | None, float | None, bool]


def thin_due(now: datetime) -> int:
    """Thin the series of the attempts that are due, the longest due first; how many points went.

    An attempt whose points were not all read stays due. Two at once delete the same.
    """
    due = list(
        Attempt.objects.filter(thin_due_at__lte=now)
        .order_by("thin_due_at")
        .values_list("pk", "state", "ended_at")[:ATTEMPTS]
    )
    if not due:
        return 0
    rows = _old_points([key for key, _state, _ended in due], now)
    # Rows come by attempt: whoever comes before the last one was read to its end.
    border = rows[-1][0] if len(rows) >= ROWS else None
    doomed: list[int] = []
    for _attempt, own in groupby(rows, key=lambda row: row[0]):
        doomed += superfluous([Old(*row[1:]) for row in own], now)
    again: dict[datetime | None, list[int]] = defaultdict(list)
    for key, state, ended_at in due:
        if border is None or key < border:
            again[next_at((ended_at or now) if state in FINAL else None, now)].append(key)
    with transaction.atomic():
        if doomed:
            ProgressPoint.objects.filter(pk__in=doomed).delete()
        for at, keys in again.items():
            Attempt.objects.filter(pk__in=keys, thin_due_at__lte=now).update(thin_due_at=at)
    return len(doomed)


def _old_points(attempts: Sequence[int], now: datetime) -> list[Row]:
    """The points of some attempts that are older than `FULL`, by attempt and time."""
    points = ProgressPoint.objects.filter(attempt__in=attempts, at__lt=now - FULL).order_by(
        "attempt_id", "at", "pk"
    )
    return list(points.values_list("attempt_id", "pk", "at", "step_seconds", "loss", "not_a_number")[:ROWS])

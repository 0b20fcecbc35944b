"""What became of attempts, node by node? Written once an attempt is over; asked for the history of its nodes."""

from collections.abc import Collection, Sequence
from datetime import datetime

from detectors.fate import Fate
from detectors.models import Stay
from workloads.models import Attempt

ROWS = 500


def settle(attempt: Attempt, *, died_on: Collection[str], blamed: Collection[str], now: datetime) -> None:
    """Store how a judged attempt ended on each of its nodes, or change it after a later verdict.

    Call it inside the transaction of the verdict. Reads `attempt.job`.
    """
    if not Stay.objects.filter(attempt=attempt).exists():
        rows = [_stay(attempt, node, _fate(node, died_on, blamed), now) for node in _nodes(attempt)]
        Stay.objects.bulk_create(rows, ROWS)
        return
    ended_at, seconds = _times(attempt, now)
    own = set(_nodes(attempt))
    for fate in Fate:
        nodes = [node for node in own if _fate(node, died_on, blamed) is fate]
        for start in range(0, len(nodes), ROWS):
            there = Stay.objects.filter(attempt=attempt, node__in=nodes[start : start + ROWS])
            there.update(fate=fate.value, ended_at=ended_at, seconds=seconds)


def leave_unharmed(attempts: Sequence[Attempt], now: datetime) -> None:
    """Store the stays of attempts that are over and that no verdict has spoken of. Call it in a transaction."""
    if not attempts:
        return
    known = set(Stay.objects.filter(attempt__in=attempts).values_list("attempt_id", flat=True))
    rows = [
        _stay(attempt, node, Fate.UNHARMED, now)
        for attempt in attempts
        if attempt.pk not in known and attempt.started_at is not None
        for node in _nodes(attempt)
    ]
    Stay.objects.bulk_create(rows, ROWS)


def _nodes(attempt: Attempt) -> list[str]:
    return sorted({str(node)[:255] for node in attempt.nodes})


def _fate(node: str, died_on: Collection[str], blamed: Collection[str]) -> Fate:
    if node in died_on:
        return Fate.UNEXPLAINED
    return Fate.BLAMED if node in blamed else Fate.UNHARMED


def _stay(attempt: Attempt, node: str, fate: Fate, now: datetime) -> Stay:
    ended_at, seconds = _times(attempt, now)
    return Stay(
        cluster_id=attempt.job.cluster_id,
        attempt=attempt,
        node=node,
        ended_at=ended_at,
        seconds=seconds,
        fate=fate.value,
    )


def _times(attempt: Attempt, now: datetime) -> tuple[datetime, float]:
    """When it was over, and how long it had run; a hung one that still runs, up to now."""
    ended_at = attempt.ended_at or now
    return ended_at, max(0.0, (ended_at - (attempt.started_at or ended_at)).total_seconds())

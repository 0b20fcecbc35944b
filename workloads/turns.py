"""Whose turn is it to be observed? A due column, claimed by compare-and-swap."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q

from workloads.models import Cluster

JITTER = 0.2  # of the poll, so that many clusters do not ask at once (trap 25)
REST = 0.2  # of the poll, between a slow observation and the next


@dataclass(frozen=True)
class Turn:
    """A claimed cluster; `until` is when it is due again if its worker dies."""

    cluster_id: int
    until: datetime


def claim_due(now: datetime, least: timedelta) -> list[Turn]:
    """Claim every enabled cluster that is due, each for one poll or `least`, whichever is longer.

    `least` covers one scheduler command, so that a cluster that does not answer does not take up a second worker.
    """
    due = Q(observe_due_at=None) | Q(observe_due_at__lte=now)
    found = Cluster.objects.filter(due, enabled=True).values_list("pk", "observe_due_at", "poll_seconds")
    turns = []
    for key, before, poll in found:
        until = now + max(timedelta(seconds=poll), least)
        if Cluster.objects.filter(pk=key, observe_due_at=before, enabled=True).update(observe_due_at=until):
            turns.append(Turn(key, until))
    return turns


def end_turn(turn: Turn, began_at: datetime, ended_at: datetime, chance: Callable[[], float]) -> None:
    """Make the cluster due one jittered poll after the turn began; `chance()` is from 0 to 1.

    An observation that took longer than the poll is followed by a rest. Nothing happens when somebody else has
    made the cluster due meanwhile.
    """
    poll = Cluster.objects.filter(pk=turn.cluster_id).values_list("poll_seconds", flat=True).first()
    if poll is None:
        return
    jittered = timedelta(seconds=poll * (1 - JITTER + 2 * JITTER * chance()))
    due_at = max(began_at + jittered, ended_at + timedelta(seconds=REST * poll))
    mine = Cluster.objects.filter(pk=turn.cluster_id, observe_due_at=turn.until)
    mine.update(observe_due_at=due_at)

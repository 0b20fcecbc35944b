"""Whose turn is it to be observed? A due column, claimed by compare-and-swap."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q

from workloads.models import Cluster

JITTER = 0.2  # of the poll, so that many clusters do not ask at once (trap 25)
REST = 0.2  # of the poll, between a slow observation and the next
CLAIMED = 1.5  # polls that a claim lasts: longer than any wait, which is how the two are told apart
APART = timedelta(seconds=15)  # between two looks, so that one that comes early makes no third listing in 30 s


@dataclass(frozen=True)
class Turn:
    """A claimed cluster; `until` is when it is due again if its worker dies."""

    cluster_id: int
    until: datetime


def claim_due(now: datetime, least: timedelta) -> list[Turn]:
    """Claim every enabled cluster that is due, each for one and a half polls or `least`, whichever is longer.

    `least` covers one scheduler command, so that a cluster that does not answer does not take up a second worker.
    """
    due = Q(observe_due_at=None) | Q(observe_due_at__lte=now)
    found = Cluster.objects.filter(due, enabled=True).values_list("pk", "observe_due_at", "poll_seconds")
    turns = []
    for key, before, poll in found:
        until = now + max(timedelta(seconds=CLAIMED * poll), least)
        if Cluster.objects.filter(pk=key, observe_due_at=before, enabled=True).update(observe_due_at=until):
            turns.append(Turn(key, until))
    return turns


def hasten(cluster_ids: Iterable[int], now: datetime) -> None:
    """Make clusters due as soon as they may be asked again, because something just failed there.

    Nothing happens where a look is under way or comes no later anyway. With the default poll that is nearly always
    so; a scheduler that is asked once a minute shows the end of a job up to 45 s earlier.
    """
    rows = Cluster.objects.filter(pk__in=list(cluster_ids), enabled=True, observe_due_at__gt=now, seen_at__lte=now)
    for key, due_at, seen_at, poll in rows.values_list("pk", "observe_due_at", "seen_at", "poll_seconds"):
        if due_at is None or seen_at is None:
            continue
        wanted = max(now, seen_at + APART)
        if wanted < due_at < seen_at + timedelta(seconds=CLAIMED * poll):
            Cluster.objects.filter(pk=key, observe_due_at=due_at, seen_at=seen_at).update(observe_due_at=wanted)


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

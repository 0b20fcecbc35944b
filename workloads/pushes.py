"""What becomes of a listing that a cluster's controller pushes, and when have the pushes stopped?

Where the scheduler must not be asked from here its controller lists and pushes; the observing is the same as of a
listing taken here (`workloads.observing`). A number that only rises says which listing is the newer one, and the
scheduler's own time has to rise with it: a listing that is repeated is no look.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from schedulers.observation import MOST_ASKED, Observation, Unseen
from schedulers.port import Unreachable
from schedulers.pushed import Pushed
from schedulers.states import FINAL
from workloads.models import Attempt, Cluster
from workloads.observing import observe_as
from workloads.sight import Push, cannot_see
from workloads.turns import JITTER

PUSH = "push"
SHORTEST_PUSH = 15.0  # seconds: two listings in 30 s are the most that a scheduler is asked for (trap 25)
AHEAD = timedelta(days=1)  # a sequence number may be a time in milliseconds; one beyond it would end all pushing
FARTHEST = timedelta(minutes=2)  # between its time and ours: both clocks a minute off at most, a minute under way


class PushRefused(Exception):
    """This listing is not taken; the sentence says why. Nothing was stored."""


@dataclass(frozen=True)
class Taken:
    """What came of a push. `stored`: it, or the same one before, was looked at."""

    stored: bool
    sequence: int
    wanted: tuple[int, ...]  # jobs about which the next one should bring the accounting's word


def take(cluster: Cluster, told: Observation | Unseen, now: datetime) -> Taken:
    """Observe what was pushed at `now`, once by its sequence. Raises `PushRefused`."""
    before = pushed_cluster(cluster)
    if told.sequence > (now + AHEAD).timestamp() * 1000:
        raise PushRefused("The sequence is no number of milliseconds since 1970, nor below that of tomorrow.")
    if told.sequence < before.pushed_sequence:
        raise PushRefused(f"Observation {told.sequence} is older than {before.pushed_sequence}, which is stored.")
    if told.sequence == before.pushed_sequence:
        return Taken(True, told.sequence, wanted(before))
    if isinstance(told, Unseen):
        return _unseen(before, told, now)
    _refuse_stale(before, told, now)
    stored = observe_as(before, Pushed(told), now, Push(told.sequence, told.now))
    return Taken(stored, before.pushed_sequence if not stored else told.sequence, wanted(before))


def pushed_cluster(cluster: Cluster) -> Cluster:
    """The cluster as it is now; raises `PushRefused` when it is not seen by pushes, or not watched."""
    before = Cluster.objects.get(pk=cluster.pk)
    if before.scheduler_transport != PUSH:
        raise PushRefused(f"The scheduler of {before.name} is asked from here; nothing is pushed for it.")
    if not before.enabled:
        raise PushRefused(f"{before.name} is not watched.")
    return before


def miss(cluster: Cluster, seconds: float, now: datetime) -> None:
    """Store "cannot see" when pushes stopped for as long as it takes to notice a scheduler that does not answer.

    That is one jittered poll and the time limit of a command (`seconds`), from the last listing that was good.
    """
    before = Cluster.objects.get(pk=cluster.pk)
    patience = timedelta(seconds=max(before.poll_seconds, SHORTEST_PUSH) * (1 + JITTER) + seconds)
    if before.seen_at is not None and abs(now - before.seen_at) < patience:  # our clock may have been set back
        return
    since = "yet" if before.seen_at is None else f"since {before.seen_at:%Y-%m-%d %H:%M:%S} UTC"
    if before.cannot_see_since is None:  # a reason that the controller told stays
        cannot_see(before, Unreachable(f"No listing was pushed {since}."), now)


def wanted(cluster: Cluster) -> tuple[int, ...]:
    """Numbers of the jobs that the last listing missed and whose end is not known, those missed longest first."""
    missed = Attempt.objects.filter(job__cluster=cluster, job__live=True, job__missing_listings__gt=0)
    rows = missed.exclude(state__in=[state.value for state in FINAL]).order_by("job__missing_since", "pk")
    return tuple(dict.fromkeys(rows.values_list("job__number", flat=True)[:MOST_ASKED]))


def _unseen(before: Cluster, told: Unseen, now: datetime) -> Taken:
    """The controller could not see either: the number moves, so that no older listing comes in afterwards."""
    newest = Cluster.objects.filter(pk=before.pk, pushed_sequence=before.pushed_sequence)
    if not newest.update(pushed_sequence=told.sequence):
        return Taken(False, before.pushed_sequence, ())
    cannot_see(before, Unreachable(told.reason, told.raw), now)
    return Taken(True, told.sequence, ())


def _refuse_stale(before: Cluster, told: Observation, now: datetime) -> None:
    if abs(now - told.now) > FARTHEST:
        apart = abs((now - told.now).total_seconds())
        side = "ago" if told.now < now else "in the future"
        raise PushRefused(f"The scheduler's time in it is {apart:.0f} s {side}; more than 120 s are too far.")
    last = before.pushed_clock_at
    if last is not None and told.now <= last:
        raise PushRefused(f"The scheduler's time in it did not move on since the last one ({last:%H:%M:%S} UTC).")

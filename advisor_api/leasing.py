"""Which controller may act on a cluster? One at a time, with a fencing number that only rises (decisions 22)."""

from datetime import datetime, timedelta

from django.db import IntegrityError, transaction

from advisor_api.models import ControllerLease
from advisor_api.refusals import Stale
from audit.event_type import EventType
from audit.trail import Actor, Entry, record
from workloads.models import Cluster
from workloads.subjects import subject_of_cluster

LEASE_SECONDS = 60


def take_lease(cluster: Cluster, holder: str, fence: int, actor: Actor, now: datetime) -> ControllerLease:
    """Extend the lease of `holder` and `fence`, or take a free or expired one with the next fencing number.

    `fence` is 0 for who holds none. Raises `Stale` when somebody holds it, or for an old fencing number.
    """
    until = now + timedelta(seconds=LEASE_SECONDS)
    with transaction.atomic():
        lease = ControllerLease.objects.select_for_update().filter(cluster=cluster).first()
        if lease is None:
            return _first(cluster, holder, fence, until, actor=actor, now=now)
        if (lease.holder, lease.fence) == (holder, fence):
            return _write(lease, holder, fence, until)
        if lease.until > now:
            raise Stale(f"The lease of {cluster.name} is held by {lease.holder} until {lease.until:%H:%M:%S} UTC.")
        if fence:
            raise Stale(f"Fencing number {fence} is old: {lease.fence} was given since. Ask with 0.")
        taken = _write(lease, holder, lease.fence + 1, until)
        record([_entry(cluster, taken, actor)], now)
        return taken


def _first(
    cluster: Cluster, holder: str, fence: int, until: datetime, *, actor: Actor, now: datetime
) -> ControllerLease:
    if fence:
        raise Stale(f"Fencing number {fence} was never given. Ask with 0.")
    try:
        with transaction.atomic():
            lease = ControllerLease.objects.create(cluster=cluster, holder=holder, fence=1, until=until)
    except IntegrityError:
        raise Stale(f"Somebody was first: the lease of {cluster.name} was just taken.") from None
    record([_entry(cluster, lease, actor)], now)
    return lease


def _write(lease: ControllerLease, holder: str, fence: int, until: datetime) -> ControllerLease:
    """Compare-and-swap on what was read."""
    mine = ControllerLease.objects.filter(pk=lease.pk, holder=lease.holder, fence=lease.fence)
    if not mine.update(holder=holder, fence=fence, until=until):
        raise Stale("Somebody was first: the lease was just taken.")
    lease.holder, lease.fence, lease.until = holder, fence, until
    return lease


def _entry(cluster: Cluster, lease: ControllerLease, actor: Actor) -> Entry:
    return Entry(
        type=EventType.LEASE,
        subject=subject_of_cluster(cluster),
        actor=actor,
        sentence=f"{lease.holder} holds the lease of {cluster.name} (fencing number {lease.fence}).",
        action="lease",
        payload={"holder": lease.holder, "fence": lease.fence, "until": lease.until.isoformat()},
    )

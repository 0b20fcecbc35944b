"""How does a cluster get another mode?"""

from datetime import datetime

from django.db import transaction

from advisor_api.refusals import Bad, Stale
from audit.event_type import EventType
from audit.level import Level
from audit.trail import Actor, Entry, record
from workloads.mode import Mode
from workloads.models import Cluster
from workloads.stored_text import storable
from workloads.subjects import subject_of_cluster

REASON_LIMIT = 500


def switch_mode(  # noqa: PLR0917  # one signature for console and API
    cluster: Cluster, mode: Mode, version_seen: int, reason: str, actor: Actor, now: datetime
) -> Cluster:
    """Give the cluster another mode, by compare-and-swap on the version of the mode that the caller saw.

    Returns the cluster as it is now. Raises `Bad` for an empty reason or the mode it has already, `Stale` when the
    mode was changed since.
    """
    if not reason.strip():
        raise Bad("Say why the mode changes: the reason stands in the trail.")
    if len(reason) > REASON_LIMIT or storable(reason, REASON_LIMIT) != reason:
        raise Bad(f"The reason must be plain text of at most {REASON_LIMIT} characters.")
    with transaction.atomic():
        before = Cluster.objects.select_for_update().get(pk=cluster.pk)
        if before.mode_version != version_seen:
            raise Stale(
                f"The mode was changed since you looked: it is {before.mode} (version {before.mode_version})."
            )
        if before.mode == mode:
            raise Bad(f"{before.name} is in mode {mode.value} already.")
        moved = Cluster.objects.filter(pk=cluster.pk, mode_version=version_seen).update(
            mode=mode.value, mode_version=version_seen + 1, changed_at=now
        )
        if not moved:
            raise Stale("Somebody was first: the mode was changed meanwhile.")
        record([_entry(before, mode, reason, actor)], now)
    cluster.mode, cluster.mode_version, cluster.changed_at = mode.value, version_seen + 1, now
    return cluster


def _entry(before: Cluster, mode: Mode, reason: str, actor: Actor) -> Entry:
    return Entry(
        type=EventType.MODE_CHANGED,
        subject=subject_of_cluster(before),
        actor=actor,
        sentence=f"{actor.name} switched {before.name} from {before.mode} to {mode.value}: {reason}",
        level=Level.WARNING,
        action=mode.value,
        payload={"from": before.mode, "to": mode.value, "version": before.mode_version + 1, "reason": reason},
    )

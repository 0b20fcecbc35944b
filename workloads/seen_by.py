"""Who sees which clusters?

A cluster with names of groups in `seen_by` is seen by their members alone; superusers see everything. A group that
is not there any more opens nothing.
"""

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, Group, User
from django.core.exceptions import ValidationError
from django.db.models import Value

from audit.event_type import EventType
from audit.in_sight import FOR_WHO_SEES_ALL, NOTHING, Hidden, hidden_now
from audit.level import Level
from audit.trail import Actor, Entry, Subject, record
from workloads.models import Cluster
from workloads.removed_models import RemovedCluster


def hidden_from(person: AbstractBaseUser | AnonymousUser) -> Hidden:
    """The clusters that this person does not see. One query, two where some cluster is for some groups alone."""
    if not isinstance(person, User):
        return NOTHING  # a stranger is turned away by whatever he asks
    return hidden_from_each([person])[person.pk]


def hidden_from_each(people: Collection[User]) -> dict[int, Hidden]:
    """The same for many, by key, in as many queries."""
    found = {person.pk: NOTHING for person in people}
    asking = [person.pk for person in people if not person.is_superuser]
    closed = _closed_clusters() if asking else []
    if not closed:
        return found
    held: dict[int, set[str]] = defaultdict(set)
    for pk, name in Group.objects.filter(user__in=asking).values_list("user", "name"):
        held[pk].add(name)
    return found | {pk: _hidden(closed, held[pk]) for pk in asking}


def seen_or_all(cluster: Cluster | None) -> Cluster | None:
    """What a form speaks of: a cluster, or all; `ValidationError` for all, where some are hidden."""
    if cluster is None and hidden_now().keys:
        raise ValidationError(FOR_WHO_SEES_ALL)
    return cluster


def would_see(person: User, seen_by: Collection[str]) -> bool:
    """Whether `person` sees a cluster that is for these groups."""
    return person.is_superuser or not seen_by or person.groups.filter(name__in=seen_by).exists()


def groups_that_see_more(person: User) -> frozenset[str]:
    """The names of the groups that see a cluster which `person` does not see."""
    hidden = hidden_from(person).names
    return frozenset(group for _, name, seen_by in _closed_clusters() if name in hidden for group in seen_by)


def clusters_for(group: str) -> list[Cluster | RemovedCluster]:
    """The clusters that name this group, also those that were removed."""
    rows: list[Cluster | RemovedCluster] = [*Cluster._base_manager.all(), *RemovedCluster.objects.all()]
    return [row for row in rows if group in row.seen_by]


def set_seen_by(cluster: Cluster | RemovedCluster, groups: Collection[str], actor: Actor, now: datetime) -> None:
    """Say which groups alone see a cluster, none for everybody, and write it down. Call it in a transaction."""
    before, after = list(cluster.seen_by), sorted(groups)
    cluster.seen_by = after
    if isinstance(cluster, Cluster):
        cluster.changed_at = now  # what open pages look at
        cluster.save(update_fields=["seen_by", "changed_at"])
    else:
        cluster.save(update_fields=["seen_by"])
    whom = f"the groups {', '.join(after)} alone" if after else "everybody who may sign in"
    entry = Entry(
        type=EventType.CONFIGURATION,
        subject=Subject(cluster=cluster.name),
        actor=actor,
        sentence=f"{actor.name} showed cluster {cluster.name} to {whom}.",
        level=Level.WARNING,
        payload={"before": {"seen_by": before}, "after": {"seen_by": after}},
    )
    record([entry], now)


def open_trail(removed: RemovedCluster, actor: Actor, now: datetime) -> None:
    """Whoever may sign in sees the trail of a cluster that was removed, and its name may be given again.

    Call it in a transaction.
    """
    set_seen_by(removed, (), actor, now)
    removed.delete()


def _closed_clusters() -> list[tuple[int, str, list[str]]]:
    """Key, name and groups of the clusters that not everybody sees, whoever asks; key 0: it was removed."""
    removed = RemovedCluster.objects.order_by().annotate(key=Value(0)).values_list("key", "name", "seen_by")
    there = Cluster._base_manager.order_by().values_list("pk", "name", "seen_by")
    return [row for row in there.union(removed, all=True) if row[2]]


def _hidden(closed: Collection[tuple[int, str, list[str]]], groups: set[str]) -> Hidden:
    rows = [(pk, name) for pk, name, seen_by in closed if groups.isdisjoint(seen_by)]
    return Hidden(frozenset(pk for pk, _ in rows if pk), frozenset(name for _, name in rows))

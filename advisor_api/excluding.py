"""Which nodes should new attempts not use, since when, why, and until when?"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction

from advisor_api.ending import check_end
from advisor_api.gathering import active_exclusions
from advisor_api.models import Advice, Exclusion
from advisor_api.policies import policy_of
from advisor_api.refusals import Bad, NotFound, Stale
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.trail import Actor, Entry, Subject, record
from workloads.models import Cluster, Node


def exclude_named(advice: Advice, nodes: Sequence[str], now: datetime) -> list[Exclusion]:
    """Exclude the nodes that a restart names, for as long as the policy says; those excluded already are left.

    Call it inside the transaction that makes the restart actionable. Reads `advice.attempt.job.cluster`.
    """
    cluster = advice.attempt.job.cluster
    policy = policy_of(advice, now)
    there = set(active_exclusions(cluster, now).values_list("node", flat=True))
    rows = [
        Exclusion(
            cluster=cluster,
            node=node,
            reason=f"Named as the cause of the failure of {advice.attempt.label}.",
            owner=f"rule {advice.rule}",
            verdict_id=advice.verdict.uuid if advice.verdict else None,
            since=now,
            until=now + timedelta(seconds=policy.exclusion_seconds),
        )
        for node in nodes
        if node not in there
    ]
    made = Exclusion.objects.bulk_create(rows)
    record([_entry(row, Actor(ActorKind.RULE, advice.rule), "is excluded") for row in rows], now)
    return made


def withdraw(advice: Advice, actor: Actor, now: datetime) -> None:
    """Lift what the verdict behind a superseded advice has excluded. Call it inside the caller's transaction."""
    if advice.verdict is None:
        return
    cluster = advice.attempt.job.cluster
    for row in active_exclusions(cluster, now).select_related("cluster").filter(verdict_id=advice.verdict.uuid):
        lift(row, actor, now)


def exclude(cluster: Cluster, node: str, *, reason: str, until: datetime, actor: Actor, now: datetime) -> Exclusion:
    """A person excludes a node. Raises `Bad` for an unknown node or an end that is past or too far away."""
    check_node(cluster, node)
    check_end(until, now)
    with transaction.atomic():
        row = Exclusion.objects.create(
            cluster=cluster, node=node, reason=reason, owner=actor.name[:128], since=now, until=until
        )
        record([_entry(row, actor, "is excluded")], now)
    return row


def lift(exclusion: Exclusion, actor: Actor, now: datetime) -> Exclusion:
    """End an exclusion before its time. Raises `Stale` when it has ended already."""
    open_one = Exclusion.objects.filter(pk=exclusion.pk, lifted_at=None, until__gt=now)
    with transaction.atomic():
        if not open_one.update(lifted_at=now, lifted_by=actor.name[:128]):
            raise Stale(f"The exclusion of {exclusion.node} has ended already.")
        record([_entry(exclusion, actor, "may be used again")], now)
    exclusion.lifted_at, exclusion.lifted_by = now, actor.name
    return exclusion


def find_exclusion(clusters: Sequence[Cluster], number: int) -> Exclusion:
    """The exclusion with this number on one of the clusters; `NotFound` otherwise."""
    row = Exclusion.objects.select_related("cluster").filter(cluster__in=clusters, pk=number).first()
    if row is None:
        raise NotFound(f"There is no exclusion {number}.")
    return row


def check_node(cluster: Cluster, node: str) -> None:
    """`Bad` unless the cluster has a node with this name."""
    if not Node.objects.filter(cluster=cluster, name=node).exists():
        raise Bad(f"{cluster.name} has no node {node[:64]!r}.")


def _entry(row: Exclusion, actor: Actor, what: str) -> Entry:
    return Entry(
        type=EventType.EXCLUSION,
        subject=Subject(cluster=row.cluster.name, node=row.node),
        actor=actor,
        sentence=f"{row.node} {what} (until {row.until:%Y-%m-%d %H:%M} UTC): {row.reason}",
        level=Level.WARNING,
        action="exclude" if what == "is excluded" else "lift",
        verdict_id=row.verdict_id,
        payload={"until": row.until.isoformat(), "owner": row.owner},
    )

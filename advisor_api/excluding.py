"""Which nodes should new attempts not use, since when, why, and until when?"""

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction

from advisor_api.ending import check_end
from advisor_api.gathering import active_exclusions
from advisor_api.models import Advice, Exclusion
from advisor_api.policies import policy_of
from advisor_api.refusals import Bad, NotFound, Stale
from advisor_api.repair_records import tell
from advisor_api.told_outside import told_outside
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.trail import Actor, Entry, Subject, record
from detectors.models import Verdict
from workloads.models import Cluster, Node

EXCLUDED, RENEWED, FREE, STAYS = (
    "is excluded",
    "stays excluded: it is named again",
    "may be used again",
    "stays out",
)
_ACTIONS = {EXCLUDED: "exclude", RENEWED: "renew", FREE: "lift", STAYS: "lift"}


def exclude_named(advice: Advice, nodes: Sequence[str], now: datetime) -> list[Exclusion]:
    """Exclude the nodes that a restart names, for as long as the policy says.

    A node that another failure has excluded already is excluded anew, with a new end and its full weight; one that
    the same failure has is left. Call it inside the transaction that makes the restart actionable. Reads
    `advice.attempt.job.cluster`.
    """
    cluster = advice.attempt.job.cluster
    policy = policy_of(advice, now)
    until = now + timedelta(seconds=policy.exclusion_seconds)
    outside = told_outside(advice.verdict, nodes) if advice.verdict else frozenset(nodes)
    there = active_exclusions(cluster, now)
    out = set(there.values_list("node", flat=True))
    of_attempt = Verdict.objects.filter(attempt=advice.attempt).values("uuid")
    same = set(there.filter(verdict_id__in=of_attempt).values_list("node", flat=True))
    made = [
        Exclusion.objects.create(
            cluster=cluster,
            node=node,
            reason=f"Named as the cause of the failure of {advice.attempt.label}.",
            owner=f"rule {advice.rule}",
            verdict_id=advice.verdict.uuid if advice.verdict else None,
            confidence=_sureness(advice, node),
            user=advice.attempt.job.user[:64],
            by_log_alone=node not in outside,
            half_life_seconds=policy.exclusion_half_life_seconds,
            since=now,
            until=until,
        )
        for node in nodes
        if node not in same
    ]
    actor = Actor(ActorKind.RULE, advice.rule)
    record([_entry(row, actor, RENEWED if row.node in out else EXCLUDED) for row in made], now)
    for row in made:
        tell(row, "renewed" if row.node in out else "opened", now)
    return made


def withdraw(advice: Advice, actor: Actor, now: datetime) -> None:
    """Lift what the verdict behind a superseded advice has excluded. Call it inside the caller's transaction."""
    if advice.verdict is None:
        return
    cluster = advice.attempt.job.cluster
    for row in active_exclusions(cluster, now).select_related("cluster").filter(verdict_id=advice.verdict.uuid):
        end(row, actor, now)


def exclude(
    cluster: Cluster,
    node: str,
    *,
    reason: str,
    until: datetime,
    actor: Actor,
    now: datetime,
    seen: frozenset[int] | None = None,
) -> Exclusion:
    """A person excludes a node; the same again gives the one that there is.

    `seen`: the keys of what kept it out when the person looked; nothing is compared without it. Raises `Bad` for an
    unknown node or an end that is past or too far away, `Stale` when it is kept out by other things since.
    """
    check_node(cluster, node)
    check_end(until, now)
    with transaction.atomic():
        Cluster.objects.select_for_update().only("pk").get(pk=cluster.pk)  # two who send it at once
        check_seen(cluster, node, seen, now)
        there = active_exclusions(cluster, now).select_related("cluster")
        same = there.filter(node=node, reason=reason, owner=actor.name[:128], until=until).first()
        if same is not None:
            return same
        out = active_exclusions(cluster, now).filter(node=node).exists()
        row = Exclusion.objects.create(
            cluster=cluster, node=node, reason=reason, owner=actor.name[:128], since=now, until=until
        )
        record([_entry(row, actor, RENEWED if out else EXCLUDED)], now)
        tell(row, "renewed" if out else "opened", now)
    return row


def lift(
    exclusion: Exclusion, actor: Actor, now: datetime, *, reason: str = "", seen: frozenset[int] | None = None
) -> Exclusion:
    """A person gives a node back: all that keeps it out ends. `seen` as in `exclude`.

    Raises `Stale` when this one has ended already, or other things keep the node out than were seen.
    """
    because = f": {reason}" if reason else ""
    with transaction.atomic():
        Cluster.objects.select_for_update().only("pk").get(pk=exclusion.cluster_id)
        check_seen(exclusion.cluster, exclusion.node, seen, now)
        if not end(exclusion, actor, now, because):
            raise Stale(f"The exclusion of {exclusion.node} has ended already.")
        others = active_exclusions(exclusion.cluster, now).filter(node=exclusion.node)
        for row in others.select_related("cluster"):
            end(row, actor, now, because)
    return exclusion


def restore(exclusion: Exclusion, *, reason: str, actor: Actor, now: datetime) -> list[Exclusion]:
    """Take a lifting back: what ended with it holds again, to its old end and with its old weight.

    Raises `Bad` when nothing of it would hold any more, `Stale` when the node is kept out again already.
    """
    with transaction.atomic():
        Cluster.objects.select_for_update().only("pk").get(pk=exclusion.cluster_id)
        check_seen(exclusion.cluster, exclusion.node, frozenset(), now)
        of_node = Exclusion.objects.select_related("cluster").filter(
            cluster=exclusion.cluster_id, node=exclusion.node
        )
        ended = of_node.filter(lifted_at=exclusion.lifted_at, lifted_by=exclusion.lifted_by, until__gt=now)
        rows = list(ended.order_by("since", "id")) if exclusion.lifted_at is not None else []
        if not rows:
            raise Bad(f"There is no lifting of {exclusion.node} that could be taken back.")
        for place, row in enumerate(rows):
            row.pk, row.uuid, row.lifted_at, row.lifted_by = None, uuid.uuid4(), None, ""
            row.save(force_insert=True)
            record([_entry(row, actor, RENEWED if place else EXCLUDED, f": {reason}")], now)
            tell(row, "renewed" if place else "opened", now)
    return rows


def take_back(exclusion: Exclusion, *, reason: str, actor: Actor, now: datetime) -> None:
    """End this exclusion alone, as if it had not been made. Raises `Stale` when it has ended already."""
    with transaction.atomic():
        if not end(exclusion, actor, now, f": {reason}"):
            raise Stale(f"The exclusion of {exclusion.node} has ended already.")


def end(exclusion: Exclusion, actor: Actor, now: datetime, because: str = "") -> bool:
    """End one exclusion before its time; whether it still held. Call it inside the caller's transaction."""
    open_one = Exclusion.objects.filter(pk=exclusion.pk, lifted_at=None, until__gt=now)
    if not open_one.update(lifted_at=now, lifted_by=actor.name[:128]):
        return False
    exclusion.lifted_at, exclusion.lifted_by = now, actor.name[:128]
    stays = active_exclusions(exclusion.cluster, now).filter(node=exclusion.node).exists()
    record([_entry(exclusion, actor, STAYS if stays else FREE, because)], now)
    tell(exclusion, "lifted", now, stays_out=stays)
    return True


def find_exclusion(clusters: Sequence[Cluster], number: int) -> Exclusion:
    """The exclusion with this number on one of the clusters; `NotFound` otherwise."""
    row = Exclusion.objects.select_related("cluster").filter(cluster__in=clusters, pk=number).first()
    if row is None:
        raise NotFound(f"There is no exclusion {number}.")
    return row


def keys_of_active(cluster: Cluster, node: str, now: datetime) -> frozenset[int]:
    """The keys of what keeps a node out at `now`."""
    return frozenset(active_exclusions(cluster, now).filter(node=node).values_list("pk", flat=True))


def check_seen(cluster: Cluster, node: str, seen: frozenset[int] | None, now: datetime) -> None:
    """`Stale` unless the node is kept out by just what a person saw. Call it under the lock of the cluster."""
    if seen is not None and keys_of_active(cluster, node, now) != seen:
        raise Stale(f"What keeps {node} out has changed since you looked. Nothing was changed by you; look again.")


def check_node(cluster: Cluster, node: str) -> None:
    """`Bad` unless the cluster has a node with this name."""
    if not Node.objects.filter(cluster=cluster, name=node).exists():
        raise Bad(f"{cluster.name} has no node {node[:64]!r}.")


def _sureness(advice: Advice, node: str) -> float:
    """How sure the advice's verdict is that it was this node."""
    rows = advice.verdict.implicated if advice.verdict else []
    sure = [row["confidence"] for row in rows if row.get("host") == node and row.get("role") == "culprit"]
    return max((float(one) for one in sure if isinstance(one, int | float)), default=1.0)


def _entry(row: Exclusion, actor: Actor, what: str, because: str = "") -> Entry:
    again = f" (again{because})" if because and what in {EXCLUDED, RENEWED} else ""
    sentence = {
        FREE: f"{row.node} {FREE}{because or f': {row.reason}'}",
        STAYS: f"One reason to leave {row.node} out has ended{because or f': {row.reason}'} Others still hold.",
    }.get(what, f"{row.node} {what} (until {row.until:%Y-%m-%d %H:%M} UTC): {row.reason}{again}")
    return Entry(
        type=EventType.EXCLUSION,
        subject=Subject(cluster=row.cluster.name, node=row.node),
        actor=actor,
        sentence=sentence,
        level=Level.WARNING,
        action=_ACTIONS[what],
        verdict_id=row.verdict_id,
        payload={
            "until": row.until.isoformat(),
            "owner": row.owner,
            "exclusion": str(row.uuid),
            "confidence": row.confidence,
        },
    )

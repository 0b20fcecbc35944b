"""How does a person have nobody told of something for a while, and does a silence fit?

A silence always names a cluster and something of it, so that none can hush a whole site; it always ends. Where a
cluster has one partition only, a silence of that one covers all of its jobs.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from advisor_api.ending import check_end
from advisor_api.incident_acts import checked, writing
from advisor_api.pausing import partitions_of
from advisor_api.refusals import Bad, Stale
from advisor_api.silence_models import Silence
from audit.event_type import EventType
from audit.level import Level
from audit.trail import Actor, Entry, Subject, record
from workloads.models import Cluster, Node
from workloads.stored_text import storable

NAMES = {"fingerprint": 64, "signature": 128, "node": 255, "partition": 128}
"""What a silence may name, with the characters that each takes."""
OWNER_LIMIT = 150
MOST = 200  # that hold on one cluster


@dataclass(frozen=True)
class Spoken:
    """What somebody would be told of. `nodes`: those that are named, or where none is, all of the attempt."""

    cluster: str
    fingerprints: frozenset[str] = frozenset()
    signatures: frozenset[str] = frozenset()
    nodes: frozenset[str] = frozenset()
    partitions: frozenset[str] = frozenset()


def active_silences(now: datetime) -> QuerySet[Silence]:
    """Those that hold at `now`, with their clusters."""
    return Silence.objects.filter(until__gt=now, ended_at=None).select_related("cluster")


def covers(silence: Silence, spoken: Spoken) -> bool:
    """Whether all that a silence names fits. Of several signatures, nodes or partitions none may be another one."""
    alone = ((silence.signature, spoken.signatures), (silence.partition, spoken.partitions))
    return may_cover(silence, spoken) and all(found == {wanted} for wanted, found in alone if wanted)


def may_cover(silence: Silence, spoken: Spoken) -> bool:
    """Whether cluster, fingerprint and nodes fit, so that it is for signatures and partitions to say."""
    if silence.cluster.name != spoken.cluster:
        return False
    if silence.fingerprint and silence.fingerprint not in spoken.fingerprints:
        return False
    return not silence.node or spoken.nodes == {silence.node}


def silence(  # all of it is compulsory
    cluster: Cluster,
    named: dict[str, str],
    *,
    owner: str,
    reason: str,
    until: datetime,
    actor: Actor,
    now: datetime,
) -> Silence:
    """Have nobody told of what `named` names (by `NAMES`) until then; the same again gives the one that there is.

    Raises `Bad`: for a silence that names nothing, or what the cluster does not have, or has no end in time.
    """
    would = checked_silence(cluster, named, owner=owner, reason=reason, until=until, now=now)
    wanted = {name: getattr(would, name) for name in NAMES}
    why, whose = would.reason, would.owner
    with writing(), transaction.atomic():
        Cluster.objects.select_for_update().only("pk").get(pk=cluster.pk)  # two who send it at once
        there = active_silences(now).filter(cluster=cluster)
        same = there.filter(**wanted, owner=whose, reason=why, until=until).first()
        if same is not None:
            return same
        if there.count() >= MOST:
            raise Bad(f"{MOST} silences hold on {cluster.name}: end some first.")
        row = Silence.objects.create(
            cluster=cluster,
            **wanted,
            reason=why,
            owner=whose,
            since=now,
            until=until,
            made_by=actor.name[:150],
        )
        record([_entry(row, actor, f"has nobody told of {row.what} until {until:%Y-%m-%d %H:%M} UTC: {why}")], now)
    return row


def checked_silence(  # all of it is compulsory
    cluster: Cluster, named: dict[str, str], *, owner: str, reason: str, until: datetime, now: datetime
) -> Silence:
    """The silence that would be made, not stored. Raises `Bad`."""
    wanted = _names(cluster, named)
    why, whose = checked(reason), checked(owner, OWNER_LIMIT, "Say whose silence it is: somebody may ask.")
    check_end(until, now)
    return Silence(cluster=cluster, **wanted, reason=why, owner=whose, since=now, until=until)


def end_silence(row: Silence, reason: str, actor: Actor, now: datetime) -> Silence:
    """Have people told again before its end. Raises `Bad` without a reason, `Stale` when it is over already."""
    why = checked(reason)
    with writing(), transaction.atomic():
        holds = Silence.objects.filter(pk=row.pk, ended_at=None, until__gt=now)
        if not holds.update(ended_at=now, ended_by=actor.name[:150], end_reason=why):
            raise Stale("The silence is over already.")
        record([_entry(row, actor, f"ends the silence of {row.what}: {why}")], now)
    row.refresh_from_db()
    return row


def silenced_by(row: Silence) -> str:
    """The sentence on what was not sent for it. At most 500 characters."""
    return f"Silenced by {row.owner} until {row.until:%Y-%m-%d %H:%M} UTC ({row.what}): {row.reason}"[:500]


def _names(cluster: Cluster, named: dict[str, str]) -> dict[str, str]:
    wanted = {name: named.get(name, "").strip() for name in NAMES}
    if not any(wanted.values()):
        raise Bad(
            "Name a fingerprint, a signature, a node or a partition: without one it would be all of a cluster."
        )
    for name, value in wanted.items():
        if storable(value, NAMES[name]) != value:
            raise Bad(f"The {name} must be plain text of at most {NAMES[name]} characters.")
    if wanted["node"] and not Node.objects.filter(cluster=cluster, name=wanted["node"]).exists():
        raise Bad(f"{cluster.name} has no node {wanted['node'][:64]!r}.")
    if wanted["partition"] and wanted["partition"] not in partitions_of(cluster):
        raise Bad(f"{cluster.name} has no partition {wanted['partition'][:64]!r}.")
    return wanted


def _entry(row: Silence, actor: Actor, does: str) -> Entry:
    names = {name: getattr(row, name) for name in NAMES}
    return Entry(
        type=EventType.NOTIFICATION,
        subject=Subject(cluster=row.cluster.name, node=row.node),
        actor=actor,
        sentence=f"{actor.name} {does}",
        level=Level.WARNING,
        action="silence",
        pattern=row.fingerprint[:16],
        payload={"silence": str(row.uuid), "owner": row.owner, "until": row.until.isoformat(), **names},
    )

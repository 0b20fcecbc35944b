"""Which policy holds for a job?

A version says only what differs from the levels below it: program < all clusters < cluster < partition < user.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, QuerySet

from advisor_api.models import Advice, PolicyActivation, PolicyVersion
from advisor_api.policy.level import PolicyLevel
from advisor_api.policy.merging import Layer, Resolved, merge
from advisor_api.policy.stored import read_resolved
from advisor_api.policy.values import Policy, defaults, read_policy
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.trail import Actor, Entry, Subject, record
from workloads.models import Cluster, Job

PROGRAM_NAME = "Rekindle"


@dataclass(frozen=True)
class Place:
    """For whom a version speaks: all clusters, a cluster, a partition of it, or a user's jobs on it."""

    cluster: Cluster | None = None
    partition: str = ""
    user: str = ""

    @property
    def level(self) -> PolicyLevel:
        """Its level."""
        if self.user:
            return PolicyLevel.USER
        if self.partition:
            return PolicyLevel.PARTITION
        return PolicyLevel.CLUSTER if self.cluster else PolicyLevel.EVERYWHERE

    @property
    def key(self) -> str:
        """How the place is stored."""
        name = self.user or self.partition
        return f"{self.level}:{self.cluster.pk if self.cluster else ''}:{name}"

    def __str__(self) -> str:
        if self.cluster is None:
            return "all clusters"
        if self.level is PolicyLevel.CLUSTER:
            return self.cluster.name
        return f"{self.level} {self.partition or self.user} on {self.cluster.name}"


@dataclass(frozen=True)
class InForce:
    """The policy that holds for a job. `version`: the most specific one; `base`: the one of its whole cluster."""

    version: PolicyVersion
    base: PolicyVersion
    resolved: Resolved

    @property
    def policy(self) -> Policy:
        """The values."""
        return self.resolved.policy

    def stored(self) -> dict[str, Any]:
        """The JSON of `judged_by`: the values, and the versions that they were merged from."""
        versions = [[layer.level.value, layer.version] for layer in self.resolved.layers]
        return {"values": asdict(self.policy), "versions": versions}


def place_of(version: PolicyVersion) -> Place:
    """For whom a version speaks. Reads `version.cluster`."""
    return Place(version.cluster, version.partition, version.user)


def policy_for(job: Job, now: datetime) -> InForce:
    """What holds for a job at this moment. Reads `job.cluster`; one query."""
    return policy_at(job.cluster, job.partition, job.user, now)


def policy_at(cluster: Cluster | None, partition: str, user: str, now: datetime) -> InForce:
    """What holds for jobs of a user in a partition of a cluster; of several partitions the first that is spoken of.

    Where nothing was ever activated for all clusters, the program's defaults are stored and activated. Raises
    `BadPolicy` for a stored version that is not usable (the doors refuse those).
    """
    found = {row.place: row.version for row in in_force(place.key for place in places_of(cluster, partition, user))}
    if found.get(Place().key) is None:
        found[Place().key] = _first_of_all(now)
    chosen: dict[PolicyLevel, PolicyVersion] = {}
    for place in places_of(cluster, partition, user):
        version = found.get(place.key)
        if version is not None:
            chosen.setdefault(place.level, version)
    ordered = [chosen[level] for level in PolicyLevel if level in chosen]
    for version in ordered:
        read_policy(version.values)
    base = chosen.get(PolicyLevel.CLUSTER, chosen[PolicyLevel.EVERYWHERE])
    return InForce(ordered[-1], base, merge(layer_of(version) for version in ordered))


def layer_of(version: PolicyVersion) -> Layer:
    """What a version says, at its level."""
    return Layer(Place(version.cluster, version.partition, version.user).level, version.values, version.pk)


def in_force(keys: Iterable[str] | None = None) -> QuerySet[PolicyActivation]:
    """The newest activation of each place (of those with these keys), with its version."""
    newer = PolicyActivation.objects.filter(place=OuterRef("place"), number=OuterRef("number") + 1)
    rows = PolicyActivation.objects.filter(~Exists(newer)).select_related("version__cluster", "cluster")
    return rows if keys is None else rows.filter(place__in=list(keys))


def policy_of(advice: Advice, now: datetime) -> Policy:
    """The policy that an advice was judged by. Reads `advice.attempt.job.cluster` for one that does not say it."""
    values = advice.judged_by.get("values") if isinstance(advice.judged_by, dict) else None
    return read_resolved(values) if values else policy_for(advice.attempt.job, now).policy


def places_of(cluster: Cluster | None, partition: str, user: str) -> Iterator[Place]:
    """From the least specific on; partitions in the order in which the job names them."""
    yield Place()
    if cluster is None:
        return
    yield Place(cluster)
    for name in filter(None, partition.split(",")):
        yield Place(cluster, partition=name)
    if user:
        yield Place(cluster, user=user)


def _first_of_all(now: datetime) -> PolicyVersion:
    """The defaults, stored and activated on first need; whoever was first has done it."""
    try:
        with transaction.atomic():
            version = PolicyVersion.objects.create(
                values=defaults(),
                note="The defaults, stored on first need.",
                created_at=now,
                created_by=PROGRAM_NAME,
            )
            PolicyActivation.objects.create(
                place=Place().key,
                number=1,
                version=version,
                reason="First need.",
                activated_at=now,
                activated_by=PROGRAM_NAME,
            )
            record([_first_event(version)], now)
    except IntegrityError:
        first = in_force([Place().key]).get().version
        if first is None:
            raise
        return first
    return version


def _first_event(version: PolicyVersion) -> Entry:
    return Entry(
        type=EventType.CONFIGURATION,
        subject=Subject(cluster=""),
        actor=Actor(ActorKind.RULE, PROGRAM_NAME),
        sentence=f"The defaults are policy {version.pk}, the active one of {Place()}, until somebody says more.",
        action="policy",
        payload={"policy": version.pk, "before": None, "values": version.values, "reason": version.note},
    )

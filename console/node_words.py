"""What does it mean to leave a node out, or to give it back, in words that a person can say yes or no to?"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max

from advisor_api.models import Exclusion
from advisor_api.policies import policy_at
from advisor_api.policy.values import BadPolicy
from advisor_api.repair_models import RepairSystem
from console.node_page import NodeNow
from console.plain_words import node_state
from schedulers.states import LIVE, WAITING
from workloads.models import Attempt, Cluster, Job, Node

NAMED = 5  # jobs named in a sentence
_WANTED = [state.value for state in LIVE | WAITING]


@dataclass(frozen=True)
class Share:
    """A partition with the node left out: its nodes, how many stay usable, how many are then left out."""

    partition: str
    size: int
    usable: int
    out: int
    allowed: int | None
    largest: int


@dataclass(frozen=True)
class Meaning:
    """`sentences`: what will happen. `warnings`: what a person must say yes to with a tick of its own."""

    sentences: Sequence[str]
    warnings: Sequence[str]


def meaning_of_exclusion(cluster: Cluster, seen: NodeNow, now: datetime) -> Meaning:
    """What changes when a person leaves the node out. `seen`: how it stands now."""
    name = seen.node.name
    sentences = [
        _running(seen.running, name),
        f"New attempts that Rekindle restarts leave {name} out until the end that you choose. The scheduler itself "
        "is told nothing: to keep every job off the node, drain it there.",
    ]
    if seen.kept:
        sentences.append(f"{name} is left out already; yours comes beside that, and whichever ends last counts.")
    if seen.drained:
        sentences.append(
            f"The scheduler has it out of use already ({node_state(seen.node.state)}); that stays as it is."
        )
    shares = shares_of(cluster, seen.node, now)
    sentences += [_share(one) for one in shares]
    sentences += [_cap(one, name) for one in shares if one.allowed is not None and one.out >= one.allowed]
    sentences.append(
        "A job that would be left too few nodes gets some that are left out after all: what weighs least gives way "
        "first, and a person's word weighs most."
    )
    told = list(RepairSystem.objects.filter(cluster=cluster, enabled=True).values_list("name", flat=True))
    if told:
        sentences.append(f"The repair system{'s' if len(told) > 1 else ''} {', '.join(told)} will be told of it.")
    return Meaning(sentences, [text for one in shares for text in _warnings(one)])


def meaning_of_lifting(seen: NodeNow) -> Meaning:
    """What changes when a person gives the node back."""
    name = seen.node.name
    what = "1 exclusion ends" if len(seen.kept) == 1 else f"all {len(seen.kept)} exclusions end"
    sentences = [
        _running(seen.running, name),
        f"New attempts may use {name} again at once: {what}, whoever made them.",
        f"A failure that is blamed on {name} from now on leaves it out again, as the policy says.",
    ]
    if seen.drained:
        sentences.append(
            f"The scheduler has it out of use ({node_state(seen.node.state)}); Rekindle never undoes that."
        )
    sentences += [f"It was left out by {row.owner}: {row.reason}" for row in seen.kept[:NAMED]]
    return Meaning(sentences, [])


def meaning_of_undoing(row: Exclusion) -> Meaning:
    """What changes when a person's last word on a node is taken back."""
    if row.lifted_at is not None:
        text = f"What was lifted at {row.lifted_at:%H:%M:%S} UTC by {row.lifted_by} holds again, to its old end."
    else:
        text = f"The exclusion that {row.owner} made at {row.since:%H:%M:%S} UTC ends; others of the node stay."
    return Meaning(["Nothing happens to jobs that run there now.", text], [])


def shares_of(cluster: Cluster, node: Node, now: datetime) -> list[Share]:
    """Each partition of the node as it would stand without it."""
    excluded = set(
        Exclusion.objects.filter(cluster=cluster, until__gt=now, lifted_at=None).values_list("node", flat=True)
    ) | {node.name}
    size: Counter[str] = Counter()
    usable: Counter[str] = Counter()
    out: Counter[str] = Counter()
    rows = Node.objects.filter(cluster=cluster).order_by().values_list("name", "available", "partitions")
    for name, available, partitions in rows:
        size.update(partitions)
        if name in excluded:
            out.update(partitions)
        elif available:
            usable.update(partitions)
    largest = _largest(cluster)
    return [
        Share(
            partition,
            size[partition],
            usable[partition],
            out[partition],
            _allowed(cluster, partition, size[partition], now),
            max((most for names, most in largest.items() if partition in names.split(",")), default=0),
        )
        for partition in [str(name) for name in node.partitions]
    ]


def _largest(cluster: Cluster) -> dict[str, int]:
    """By the partitions that a job names: the most nodes that a job needs there now."""
    wanted = Attempt.objects.filter(job__cluster=cluster, job__live=True, state__in=_WANTED)
    jobs = Job.objects.filter(pk__in=wanted.values("job"))
    return dict(jobs.order_by().values_list("partition").annotate(most=Max("node_count")))


def _allowed(cluster: Cluster, partition: str, size: int, now: datetime) -> int | None:
    """How many nodes of the partition Rekindle may leave out by itself; nothing when the policy cannot be read."""
    try:
        policy = policy_at(cluster, partition, "", now).policy
    except BadPolicy:
        return None
    return max(policy.min_exclusions, int(policy.max_excluded_share * size))


def _running(running: Sequence[Attempt], name: str) -> str:
    if not running:
        return f"Nothing runs on {name} now."
    named = ", ".join(f"{one.label} of {one.job.user}" for one in running[:NAMED])
    more = f" and {len(running) - NAMED} more" if len(running) > NAMED else ""
    return f"Nothing happens to what runs on {name} now: {named}{more}."


def _share(one: Share) -> str:
    percent = 100 * one.out / one.size if one.size else 0
    return (
        f"Partition {one.partition}: Rekindle then leaves out {one.out} of {one.size} nodes ({percent:.1f} %); "
        f"{one.usable} can be used."
    )


def _cap(one: Share, name: str) -> str:
    how = "reaches" if one.out == one.allowed else "exceeds"
    return (
        f"That {how} the cap of {one.partition}: by itself Rekindle leaves out at most {one.allowed} of its nodes. "
        f"While {name} is out, it leaves out no further node there and asks a person instead."
    )


def _warnings(one: Share) -> list[str]:
    if one.usable == 0:
        return [f"No usable node of {one.partition} would be left for attempts that Rekindle restarts."]
    if one.largest > one.usable:
        return [
            f"A job of {one.partition} needs {one.largest} nodes; {one.usable} would be left. "
            "Nodes that are left out give way to it."
        ]
    return []

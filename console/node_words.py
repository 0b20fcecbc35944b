"""What does it mean to leave a node out, or to give it back, in words that a person can say yes or no to?"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from advisor_api.models import Exclusion
from advisor_api.policies import policy_at
from advisor_api.policy.values import BadPolicy
from advisor_api.repair_models import RepairSystem
from console.attempt_names import some_of
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
        _(
            "New attempts that Rekindle restarts leave %(name)s out until the end that you choose. The scheduler "
            "itself is told nothing: to keep every job off the node, drain it there."
        )
        % {"name": name},
    ]
    if seen.kept:
        text = _("%(name)s is left out already; yours comes beside that, and whichever ends last counts.")
        sentences.append(text % {"name": name})
    if seen.drained:
        text = _("The scheduler has it out of use already (%(state)s); that stays as it is.")
        sentences.append(text % {"state": node_state(seen.node.state)})
    shares = shares_of(cluster, seen.node, now)
    sentences += [_share(one) for one in shares]
    sentences += [_cap(one, name) for one in shares if one.allowed is not None and one.out >= one.allowed]
    sentences.append(
        _(
            "A job that would be left too few nodes gets some that are left out after all: what weighs least gives "
            "way first, and a person's word weighs most."
        )
    )
    sentences += _told(cluster)
    return Meaning(sentences, [text for one in shares for text in _warnings(one)])


def meaning_of_lifting(seen: NodeNow) -> Meaning:
    """What changes when a person gives the node back."""
    name = seen.node.name
    again = ngettext(
        "New attempts may use %(name)s again at once: 1 exclusion ends, whoever made them.",
        "New attempts may use %(name)s again at once: all %(count)s exclusions end, whoever made them.",
        len(seen.kept),
    )
    blamed = _("A failure that is blamed on %(name)s from now on leaves it out again, as the policy says.")
    sentences = [
        _running(seen.running, name),
        again % {"name": name, "count": len(seen.kept)},
        blamed % {"name": name},
    ]
    if seen.drained:
        text = _("The scheduler has it out of use (%(state)s); Rekindle never undoes that.")
        sentences.append(text % {"state": node_state(seen.node.state)})
    sentences += [
        _("It was left out by %(who)s: %(why)s") % {"who": row.owner, "why": row.reason}
        for row in seen.kept[:NAMED]
    ]
    return Meaning(sentences, [])


def meaning_of_undoing(row: Exclusion) -> Meaning:
    """What changes when a person's last word on a node is taken back."""
    if row.lifted_at is not None:
        text = _("What was lifted at %(when)s UTC by %(who)s holds again, to its old end.")
        said = text % {"when": f"{row.lifted_at:%H:%M:%S}", "who": row.lifted_by}
    else:
        text = _("The exclusion that %(who)s made at %(when)s UTC ends; others of the node stay.")
        said = text % {"when": f"{row.since:%H:%M:%S}", "who": row.owner}
    return Meaning([_("Nothing happens to jobs that run there now."), said], [])


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
        return _("Nothing runs on %(name)s now.") % {"name": name}
    text = _("Nothing happens to what runs on %(name)s now: %(jobs)s.")
    return text % {"name": name, "jobs": some_of(running, NAMED)}


def _told(cluster: Cluster) -> list[str]:
    told = list(RepairSystem.objects.filter(cluster=cluster, enabled=True).values_list("name", flat=True))
    text = ngettext(
        "The repair system %(names)s will be told of it.",
        "The repair systems %(names)s will be told of it.",
        len(told),
    )
    return [text % {"names": ", ".join(told)}] if told else []


def _share(one: Share) -> str:
    percent = 100 * one.out / one.size if one.size else 0
    return _(
        "Partition %(partition)s: Rekindle then leaves out %(out)s of %(size)s nodes (%(percent)s %%); %(usable)s "
        "can be used."
    ) % {
        "partition": one.partition,
        "out": one.out,
        "size": one.size,
        "percent": f"{percent:.1f}",
        "usable": one.usable,
    }


def _cap(one: Share, name: str) -> str:
    text = (
        _(
            "That reaches the cap of %(partition)s: by itself Rekindle leaves out at most %(most)s of its nodes. "
            "While %(name)s is out, it leaves out no further node there and asks a person instead."
        )
        if one.out == one.allowed
        else _(
            "That exceeds the cap of %(partition)s: by itself Rekindle leaves out at most %(most)s of its nodes. "
            "While %(name)s is out, it leaves out no further node there and asks a person instead."
        )
    )
    return text % {"partition": one.partition, "most": one.allowed, "name": name}


def _warnings(one: Share) -> list[str]:
    if one.usable == 0:
        text = _("No usable node of %(partition)s would be left for attempts that Rekindle restarts.")
        return [text % {"partition": one.partition}]
    if one.largest > one.usable:
        text = _(
            "A job of %(partition)s needs %(needed)s nodes; %(usable)s would be left. Nodes that are left out give "
            "way to it."
        )
        return [text % {"partition": one.partition, "needed": one.largest, "usable": one.usable}]
    return []

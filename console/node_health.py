"""How do a cluster's nodes stand, and what do others tell about them: broken, or healthy again?"""

from dataclasses import dataclass
from datetime import datetime

from advisor_api.gathering import active_exclusions
from advisor_api.models import Exclusion
from advisor_api.node_facts import Stands
from advisor_api.node_standing import Standing
from advisor_api.standing_view import counted, standings
from console.standing_words import ORDER
from detectors.models import HealthEvent
from workloads.models import Cluster, Node

READ = 1000
SHOWN = 100  # the list of nodes has all of them


@dataclass(frozen=True)
class NodeLine:
    """One node with its field, the exclusion that ends last, and what others tell."""

    node: Node
    stands: Stands
    exclusion: Exclusion | None = None
    told: HealthEvent | None = None


@dataclass(frozen=True)
class NodePage:
    """The nodes of a cluster, or of one field. `counts`: of all of them. `cut`: there are more than are shown."""

    counts: tuple[tuple[Standing, int], ...]
    chosen: Standing | None
    lines: tuple[NodeLine, ...]
    cut: bool

    @property
    def total(self) -> int:
        """How many nodes the cluster has."""
        return sum(number for _, number in self.counts)


def node_page(cluster: Cluster, standing: str, now: datetime) -> NodePage:
    """The nodes in one field (`standing`), or all, in the order of the list of nodes."""
    found = standings(cluster, now)
    fitting = (name for name, one in found.items() if standing in {"", one.standing.value})
    names = sorted(fitting, key=lambda name: (ORDER[found[name].standing], name))[: SHOWN + 1]
    known = {node.name: node for node in Node.objects.filter(cluster=cluster, name__in=names)}
    nodes = [known[name] for name in names if name in known]  # one may have been deleted meanwhile
    rows = active_exclusions(cluster, now).filter(node__in=names).order_by("until")
    exclusions = {row.node: row for row in rows}
    told = faults_of(cluster)
    lines = []
    for node in nodes[:SHOWN]:
        row = exclusions.get(node.name)
        lines.append(NodeLine(node, found[node.name], row, told.get(node.name)))
    counts = tuple(counted(found).items())
    return NodePage(counts, Standing(standing) if standing else None, tuple(lines), len(nodes) > SHOWN)


def faults_of(cluster: Cluster) -> dict[str, HealthEvent]:
    """By node the newest fatal fault that is open, else the newest one that is over. One query."""
    told = HealthEvent.objects.filter(cluster=cluster, fatal=True, healthy=False)
    found: dict[str, HealthEvent] = {}
    for row in told.order_by("-happened_at", "-pk")[:READ]:
        known = found.get(row.node)
        if known is None or (known.cleared_at is not None and row.cleared_at is None):
            found[row.node] = row
    return found

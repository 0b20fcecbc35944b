"""What changed on the nodes since they were last listed?"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from audit.masking import masked
from schedulers.port import NodeRow
from workloads.changes import BATCH
from workloads.models import Cluster, Node
from workloads.stored_text import storable

GONE = "gone"  # our word for a node that the scheduler no longer lists
FIELDS = ("state", "available", "reason", "reason_by", "reason_at", "booted_at", "partitions")


@dataclass
class NodeChanges:
    """Nodes to insert and to update."""

    new: list[Node] = field(default_factory=list)
    changed: list[Node] = field(default_factory=list)

    def save(self, cluster: Cluster, now: datetime) -> None:
        """Write them inside the caller's transaction; every listed node was seen now."""
        if self.new:
            Node.objects.bulk_create(self.new, BATCH)
        if self.changed:
            Node.objects.bulk_update(self.changed, FIELDS, BATCH)
        Node.objects.filter(cluster=cluster).exclude(state=GONE).update(seen_at=now)
        if self.new or self.changed:
            Cluster.objects.filter(pk=cluster.pk).update(changed_at=now)


def compare_nodes(cluster: Cluster, rows: Sequence[NodeRow], now: datetime) -> NodeChanges:
    """What `rows` change. No rows at all where nodes are known is no answer about nodes."""
    known = {node.name: node for node in Node.objects.filter(cluster=cluster)}
    changes = NodeChanges()
    listed = {storable(row.name, 255): _values(row) for row in rows}
    for name, values in listed.items():
        node = known.get(name)
        if node is None:
            changes.new.append(Node(cluster=cluster, name=name, seen_at=now, **values))
        elif any(getattr(node, key) != value for key, value in values.items()):
            _set(node, values)
            changes.changed.append(node)
    for name, node in known.items():
        if listed and name not in listed and node.state != GONE:
            _set(node, {"state": GONE, "available": False})
            changes.changed.append(node)
    return changes


def _values(row: NodeRow) -> dict[str, Any]:
    return {
        "state": storable("+".join(row.states), 128),
        "available": row.available,
        "reason": masked(storable(row.reason, 500))[:500],
        "reason_by": storable(row.reason_by, 64),
        "reason_at": row.reason_at,
        "booted_at": row.booted_at,
        "partitions": [storable(name, 128) for name in row.partitions],
    }


def _set(node: Node, values: dict[str, Any]) -> None:
    for key, value in values.items():
        setattr(node, key, value)

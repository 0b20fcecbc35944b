"""Why is a node left out, since when, and does that still hold?"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from advisor_api.models import Exclusion
from workloads.models import Cluster

SHOWN = 50


@dataclass(frozen=True)
class LeftOut:
    """One exclusion. `holds`: it still keeps new attempts off the node."""

    exclusion: Exclusion
    holds: bool


def exclusions_of(cluster: Cluster, nodes: Iterable[str], now: datetime) -> list[LeftOut]:
    """The newest exclusions of these nodes, those that hold first."""
    names = list(nodes)
    if not names:
        return []
    rows = Exclusion.objects.filter(cluster=cluster, node__in=names).order_by("-since")[:SHOWN]
    found = [LeftOut(row, row.lifted_at is None and row.until > now) for row in rows]
    return sorted(found, key=lambda one: (not one.holds, one.exclusion.node))

"""Which nodes of which clusters are listed, by which filters of the address, and what stands in each row?

How every node stands is worked out in memory from a fixed number of queries; only the nodes of one page are read
as a whole.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from urllib.parse import urlencode

from django.db.models import Q
from django.utils.translation import gettext as _

from advisor_api.models import Exclusion
from advisor_api.node_facts import Stands
from advisor_api.node_standing import Standing
from advisor_api.standing_view import Named, counted, standings_of
from console.standing_words import ORDER
from detectors.models import HealthEvent
from workloads.models import Cluster, Node

PAGE = 100
LIMIT = 255
PAGES_AT_MOST = 100_000


@dataclass(frozen=True)
class NodesWanted:
    """What the address asks for. Whatever is not understood is left out, and `mistake` says so."""

    cluster: str = ""
    standing: str = ""
    partition: str = ""
    q: str = ""
    page: int = 1
    mistake: str = ""

    def address(self, **changes: object) -> str:
        """The query part of an address that asks for this with `changes`; other filters begin at page 1."""
        changed = replace(self, mistake="", **{"page": 1, **changes})  # type: ignore[arg-type]
        pairs = {one.name: getattr(changed, one.name) for one in fields(changed) if one.name != "mistake"}
        kept = {name: value for name, value in pairs.items() if value not in {"", 1}}
        return f"?{urlencode(kept)}" if kept else ""


@dataclass(frozen=True)
class NodeRow:
    """One node with its field, the exclusion that ends last, and the fault that others tell of."""

    node: Node
    stands: Stands
    exclusion: Exclusion | None = None
    fault: HealthEvent | None = None


@dataclass(frozen=True)
class Field:
    """One of the four fields, with how many nodes stand there, and the address that shows them."""

    standing: Standing
    number: int
    address: str
    chosen: bool


@dataclass(frozen=True)
class NodeList:
    """A page of nodes. `fields`: the four fields, of all nodes that fit the other filters."""

    rows: tuple[NodeRow, ...]
    fields: Mapping[str, Field]
    fitting: int
    known: int
    pages: int


def read_nodes_wanted(query: Mapping[str, str]) -> NodesWanted:
    """What a query string asks for, bounded."""
    standing, page = query.get("standing", ""), query.get("page", "") or "1"
    mistakes = []
    if standing and standing not in set(Standing):
        mistakes.append(_("No node can stand so; known are %(names)s.") % {"names": ", ".join(Standing)})
        standing = ""
    whole = page.isascii() and page.isdigit() and 0 < int(page[:9]) <= PAGES_AT_MOST and len(page) < 9
    if not whole:
        mistakes.append(_("The page is no number; this is the first one."))
    words = {name: query.get(name, "")[:LIMIT].strip().replace("\0", "") for name in ("cluster", "partition", "q")}
    return NodesWanted(standing=standing, page=int(page) if whole else 1, mistake=" ".join(mistakes), **words)


def node_list(wanted: NodesWanted, now: datetime) -> NodeList:
    """The nodes that are asked for: those with something against them first, then by cluster and name."""
    seen = _look(wanted, now)
    begin = (wanted.page - 1) * PAGE
    four = {
        one.value: Field(one, seen.counts[one], wanted.address(standing=one.value), one == wanted.standing)
        for one in Standing
    }
    pages = max(1, -(-len(seen.ordered) // PAGE))
    rows = _rows(seen.ordered[begin : begin + PAGE], seen, now)
    return NodeList(rows, four, len(seen.ordered), len(seen.found), pages)


def every_node(wanted: NodesWanted, now: datetime) -> Iterator[tuple[NodeRow, ...]]:
    """All nodes that are asked for in the same order, a page at once."""
    seen = _look(wanted, now)
    for begin in range(0, len(seen.ordered), PAGE):
        yield _rows(seen.ordered[begin : begin + PAGE], seen, now)


@dataclass(frozen=True)
class _Seen:
    """How all nodes stand; `ordered`: the keys of those that are asked for; `counts`: of those in any field."""

    clusters: Mapping[int, Cluster]
    found: Mapping[Named, Stands]
    counts: Mapping[Standing, int]
    ordered: Sequence[Named]


def _look(wanted: NodesWanted, now: datetime) -> _Seen:
    rows = Cluster.objects.filter(name=wanted.cluster) if wanted.cluster else Cluster.objects.all()
    clusters = {one.pk: one for one in rows}
    found = standings_of(list(clusters.values()), now)
    fitting = _fitting(wanted, found, clusters)
    counts = counted(fitting)
    if wanted.standing:
        fitting = {key: one for key, one in fitting.items() if one.standing == wanted.standing}
    ordered = sorted(fitting, key=lambda key: (ORDER[fitting[key].standing], clusters[key[0]].name, key[1]))
    return _Seen(clusters, found, counts, ordered)


def _fitting(
    wanted: NodesWanted, found: Mapping[Named, Stands], clusters: Mapping[int, Cluster]
) -> dict[Named, Stands]:
    """Those that fit the search and the partition."""
    text = wanted.q.lower()
    fitting = {key: one for key, one in found.items() if not text or text in key[1].lower()}
    if wanted.partition:
        rows = (
            Node.objects.filter(cluster__in=list(clusters))
            .order_by()
            .values_list("cluster_id", "name", "partitions")
        )
        there = {(cluster, name) for cluster, name, partitions in rows if wanted.partition in partitions}
        fitting = {key: one for key, one in fitting.items() if key in there}
    return fitting


def _rows(chosen: Sequence[Named], seen: _Seen, now: datetime) -> tuple[NodeRow, ...]:
    place = Q(cluster__in={cluster for cluster, _ in chosen}, name__in={name for _, name in chosen})
    nodes = {(node.cluster_id, node.name): node for node in Node.objects.filter(place)}
    of_nodes = {"cluster__in": {cluster for cluster, _ in chosen}, "node__in": {name for _, name in chosen}}
    holding = Exclusion.objects.filter(**of_nodes, until__gt=now, lifted_at=None).order_by("until")
    exclusions = {(row.cluster_id, row.node): row for row in holding}
    told = HealthEvent.objects.filter(**of_nodes, fatal=True, healthy=False, cleared_at=None)
    faults = {(row.cluster_id, row.node): row for row in told.order_by("happened_at")}
    made = []
    for key in chosen:
        node, row = nodes.get(key), exclusions.get(key)
        if node is None:
            continue  # it was deleted between two queries
        node.cluster = seen.clusters[key[0]]
        made.append(NodeRow(node, seen.found[key], row, faults.get(key)))
    return tuple(made)

"""What does sinfo print?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lab.simulate.hostlist import fold
from lab.simulate.model import Cluster
from lab.simulate.nodes import Node
from lab.simulate.slurm.columns import Field, Layout, long_layout, short_layout
from lab.simulate.slurm.options import VERSION, Answer, Options, read
from lab.simulate.times import stamp

KNOWN = {
    "noheader": "h",
    "all": "a",
    "Node": "N",
    "list-reasons": "R",
    "partition=": "p",
    "format=": "o",
    "Format=": "O",
    "version": "V",
}
DEFAULT = "%9P %.5a %.10l %.6D %.6t %N"
BY_NODE = "%8N %.6D %.9P %t"
REASONS = "%20E %9u %19H %N"


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes of one partition that look the same in every column asked for."""

    nodes: tuple[Node, ...]
    partition: str
    default: bool
    time_format: str

    @property
    def first(self) -> Node:
        """The node that speaks for all."""
        return self.nodes[0]

    def names(self) -> str:
        """The node list."""
        return fold([node.name for node in self.nodes])

    def reason_at(self) -> str:
        """When the reason was given."""
        return stamp(self.first.reason_at, self.time_format) if self.first.reason else "Unknown"


SHORT: dict[str, Field[Group]] = {
    "D": Field("NODES", lambda group: str(len(group.nodes))),
    "E": Field("REASON", lambda group: group.first.reason or "none"),
    "H": Field("TIMESTAMP", Group.reason_at),
    "N": Field("NODELIST", Group.names),
    "P": Field("PARTITION", lambda group: f"{group.partition}{'*' * group.default}"),
    "R": Field("PARTITION", lambda group: group.partition),
    "T": Field("STATE", lambda group: group.first.long),
    "a": Field("AVAIL", lambda group: "up"),
    "l": Field("TIMELIMIT", lambda group: "infinite"),
    "n": Field("HOSTNAMES", Group.names),
    "t": Field("STATE", lambda group: group.first.short),
    "u": Field("USER", lambda group: "root" if group.first.reason else "Unknown"),
}
LONG = {
    name: SHORT[letter]
    for name, letter in {
        "available": "a",
        "nodelist": "N",
        "nodes": "D",
        "partition": "P",
        "partitionname": "R",
        "reason": "E",
        "statecompact": "t",
        "statelong": "T",
        "timestamp": "H",
        "user": "u",
    }.items()
}
COUNTED = frozenset({id(SHORT["D"]), id(SHORT["N"]), id(SHORT["n"])})  # columns that do not tell groups apart


def sinfo(cluster: Cluster, argv: Sequence[str], time_format: str) -> Answer:
    """The answer of `sinfo`."""
    options = read("sinfo", argv, KNOWN)
    if options.has("version"):
        return 0, f"slurm-wlm {VERSION}\n", ""
    layout = _layout(options)
    groups = _groups(cluster, options, layout, time_format)
    return 0, layout.table(groups, not options.has("noheader")), "".join(layout.complaints)


def _layout(options: Options) -> Layout[Group]:
    if options.has("Format"):
        return long_layout(options.get("Format"), LONG, "sinfo")
    usual = REASONS if options.has("list-reasons") else BY_NODE if options.has("Node") else DEFAULT
    return short_layout(options.get("format", usual), SHORT, "sinfo")


def _groups(cluster: Cluster, options: Options, layout: Layout[Group], time_format: str) -> list[Group]:
    wanted = options.listed("partition")
    groups: dict[tuple[str, ...], Group] = {}
    for place, (partition, names) in enumerate(cluster.partitions.items()):
        if wanted and partition not in wanted:
            continue
        for name in names:
            node = cluster.nodes[name]
            if options.has("list-reasons") and not node.reason:
                continue
            group = Group((node,), partition, place == 0, time_format)
            look = tuple(column.field.text(group) for column in layout.columns if id(column.field) not in COUNTED)
            key = (partition, *look, *((name,) if options.has("Node") else ()))
            old = groups.get(key)
            groups[key] = replace(old, nodes=(*old.nodes, node)) if old else group
    return list(groups.values())

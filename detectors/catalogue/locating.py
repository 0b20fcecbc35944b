"""Who says a line, and which rank runs on which host?

Sources in order of trust (reference, section 3): what NCCL prints when it starts, what launchers print about failed
ranks, what `srun` prints about ended tasks, the name of the file, the host in the line. A rank number is valid for
one attempt only. A block distribution of tasks is believed only where a direct source agrees with it.
"""

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from detectors.catalogue.cleaning import Said
from detectors.catalogue.records import Record
from schedulers import hostlist

RANKS_KEPT = 8192
ADDRESSES_KEPT = 4096
NAMED_AT_MOST = 64  # hosts or ranks that one line may name

_NCCL = re.compile(
    r"(?:\S+ ){0,2}(?P<host>[A-Za-z][\w.\-]{0,252}):(?P<pid>\d{1,10}):\d{1,10} \[(?P<gpu>\d{1,4})\] ", re.ASCII
)
_RANK_MAP = re.compile(
    r"comm 0x[0-9a-f]+ rank (?P<rank>\d{1,7}) n[rR]anks (?P<n>\d{1,7}) cudaDev (?P<gpu>\d{1,4})", re.ASCII
)
_ADDRESS = re.compile(r"Bootstrap ?: Using [^:\s]{1,64}:(?P<ip>[0-9a-fA-F.:]{2,45})<\d{1,6}>")
_RANK = re.compile(r"\[rank(?P<rank>\d{1,7})\]:", re.ASCII)
_SYSLOG = re.compile(
    r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|20\d\d-\d\d-\d\dT[\d:.,]{5,20}(?:Z|[+\-]\d\d:?\d\d)?)"
    r" (?P<host>[A-Za-z][\w.\-]{0,252}) [\w.\-]{1,64}(?:\[\d{1,10}\])?: ",
    re.ASCII,
)
# The kernel's lines without their stamp; a name of a host has a digit, words before a colon have none.
_KERNEL = re.compile(r"(?P<host>[A-Za-z][A-Za-z.\-]{0,100}\d[\w.\-]{0,150}) kernel: ", re.ASCII)
_SYSLOG_SHAPE = re.compile(_SYSLOG.pattern.replace("20", "00", 1), re.ASCII)
_LABEL = re.compile(r"(?:slurmd\[|slurmstepd\[)?(?P<host>[A-Za-z][\w.\-]{0,252})\]?(?:\[\d{1,10}\])?: ", re.ASCII)
_MONITOR = re.compile(r"\[RankMonitorServer\d{0,7}@(?P<host>[\w.\-]{1,253}):(?P<local>\d{1,4})\]", re.ASCII)
_UCX = re.compile(
    r"(?:\[\d{1,12}\.\d{1,9}\] )?\[(?P<host>[A-Za-z][\w.\-]{0,252}):\d{1,10} {0,8}:[\da-f]{1,8}(?::\d{1,10})?\] ",
    re.ASCII,
)
_GROUP = re.compile(
    r"\[PG (?:ID )?(?P<id>\d{1,9})(?: PG GUID (?P<guid>[^\s(\]]{1,64}))?"
    r" ?(?:\((?P<name>[^)]{0,64})\))? ?Rank \d{1,7}\]",
    re.ASCII,
)
_PORT = re.compile(r"<\d{1,6}>\Z", re.ASCII)
_SPAN = re.compile(r"(\d{1,7})(?:-(\d{1,7}))?", re.ASCII)
_AGENT_SUFFIX = re.compile(r"_\d+_\d+\Z", re.ASCII)


class Speaker(NamedTuple):
    """Who says a line. `gpu` is the ordinal on the host, `group` PyTorch's process group as `id/name`."""

    host: str | None = None
    rank: int | None = None
    local_rank: int | None = None
    gpu: int | None = None
    group: str | None = None


class Places:
    """Who runs where, as learned from the lines of one attempt: a fold over lines, JSON as its state."""

    def __init__(self, state: Mapping[str, Any], nodes: Sequence[str]) -> None:
        self.hosts: dict[int, str] = {int(k): str(v) for k, v in dict(state.get("hosts", {})).items()}
        self._addresses: dict[str, str] = {str(k): str(v) for k, v in dict(state.get("addresses", {})).items()}
        self._gpus: dict[str, int] = {str(k): int(v) for k, v in dict(state.get("gpus", {})).items()}
        self._per_node = int(state.get("per_node", 0))
        self._block = str(state.get("block", ""))
        self._nodes = tuple(nodes)
        self.labels = {node.partition(".")[0]: node for node in nodes} | {node: node for node in nodes}

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "hosts": {str(rank): host for rank, host in self.hosts.items()},
            "addresses": self._addresses,
            "gpus": self._gpus,
            "per_node": self._per_node,
            "block": self._block,
        }

    def node(self, name: str | None) -> str | None:
        """The attempt's node of this name, with or without its domain; `None` for a stranger.

        A log may name any host; only nodes of the attempt may be suspected. Without a node list names are believed.
        """
        if not name:
            return None
        if not self._nodes:
            return name if hostlist.is_node_name(name) else None
        return self.labels.get(name) or self.labels.get(name.partition(".")[0])

    def named(self, expression: str) -> list[str]:
        """Nodes of the attempt in a Slurm node expression or a launcher's node name."""
        try:
            names: Iterable[str] = hostlist.expand(_AGENT_SUFFIX.sub("", expression.strip("*,")), NAMED_AT_MOST)
        except ValueError:
            return []
        found = [node for name in names if (node := self.node(name)) is not None]
        return list(dict.fromkeys(found))

    def host_of(self, rank: int | None) -> str | None:
        """The host of a global rank, `None` while unknown."""
        if rank is None:
            return None
        if len(self._nodes) == 1:
            return self._nodes[0]
        return self.hosts.get(rank) or self._by_block(rank)

    def host_at(self, address: str | None) -> str | None:
        """The host with this IP address, or of this name, `None` while unknown."""
        return None if not address else self._addresses.get(address) or self.node(address)

    def speaker(self, text: str, said: Said, record: Record, shape: bytes | None = None) -> Speaker:
        """Who says this cleaned line. `shape` (`digits.SHAPE`): the line's, where it is all ASCII and short."""
        may = _ANY_WAY if shape is None else _ways(shape)
        host, local, gpu = said.host or record.host, said.local_rank, None
        rank = said.rank if said.rank is not None else said.task
        if may.nccl and (found := _NCCL.match(text)) is not None:
            host, gpu = self.node(found["host"]) or host, int(found["gpu"])
        elif may.syslog and (found := _SYSLOG.match(text) or _KERNEL.match(text)) is not None:
            host = self.node(found["host"]) or host
        elif may.label and (found := _LABEL.match(text)) is not None:
            host = self.node(found["host"]) or host if self._nodes else host
        elif may.ucx and (found := _UCX.match(text)) is not None:
            host = self.node(found["host"]) or host
        elif may.monitor and (found := _MONITOR.search(text[:200])) is not None:
            host, local = self.node(found["host"]) or host, int(found["local"])
        if rank is None and may.rank and (found := _RANK.search(text[:200])) is not None:
            rank = int(found["rank"])
        if rank is None:
            rank = record.rank
        host = self.node(host) or self.host_at(said.address) or self.host_of(rank)
        if rank is None and host is not None and (local is not None or gpu is not None):
            rank = self._gpus.get(f"{host}/{gpu if local is None else local}")
        return Speaker(host, rank, local, gpu, _group(text) if may.group else None)

    def learn_map(self, text: str) -> None:
        """From a line in which NCCL says who it is: rank, host, GPU; or which address a host has."""
        speaker = _NCCL.match(text)
        host = self.node(speaker["host"]) if speaker is not None else None
        if host is None:
            return
        if (found := _RANK_MAP.search(text)) is not None:
            # Communicators of a part of the job count from 0 again: only the largest one names global ranks.
            world = self._gpus.get("world", 0)
            if int(found["n"]) > world:
                self.hosts.clear()
                self._gpus.clear()
            if int(found["n"]) >= world:
                self._gpus["world"] = int(found["n"])
                self.learn(int(found["rank"]), host)
                if len(self._gpus) < RANKS_KEPT:
                    self._gpus[f"{host}/{int(found['gpu'])}"] = int(found["rank"])
        elif (found := _ADDRESS.search(text)) is not None and len(self._addresses) < ADDRESSES_KEPT:
            self._addresses[found["ip"]] = host

    def learn(self, rank: int, host: str) -> None:
        """A direct fact: the rank runs on the host."""
        if rank in self.hosts or len(self.hosts) < RANKS_KEPT:
            self.hosts[rank] = host

    def learn_tasks(self, ranks: Sequence[int], hosts: Sequence[str]) -> None:
        """What `srun` says about ended tasks: these ran on this one host."""
        if len(hosts) != 1:
            return
        for rank in ranks:
            self.learn(rank, hosts[0])
        self._check_block(ranks, hosts[0])

    def _check_block(self, ranks: Sequence[int], host: str) -> None:
        """Whether these tasks are exactly the block that a block distribution puts on the host."""
        if self._block == "refuted" or host not in self._nodes or not ranks:
            return
        first, size, place = min(ranks), len(ranks), self._nodes.index(host)
        whole = max(ranks) - first + 1 == size
        if self._per_node:
            fits = all(rank // self._per_node == place for rank in ranks)
            self._block = "agreed" if fits else "refuted"
        elif whole and size > 1 and first == place * size:
            self._per_node, self._block = size, "agreed"

    def _by_block(self, rank: int) -> str | None:
        if self._block != "agreed" or rank >= self._per_node * len(self._nodes):
            return None
        return self._nodes[rank // self._per_node]


class _Ways(NamedTuple):
    """The ways in which a line may name its speaker."""

    nccl: bool = True
    syslog: bool = True
    label: bool = True
    ucx: bool = True
    monitor: bool = True
    rank: bool = True
    group: bool = True


_ANY_WAY = _Ways()


@functools.lru_cache(maxsize=4096)
def _ways(shape: bytes) -> _Ways:
    """Those of a line of this shape: of the patterns only that of a year tells one digit from another."""
    text = shape.decode("ascii")
    return _Ways(
        nccl=_NCCL.match(text) is not None,
        syslog=(_SYSLOG_SHAPE.match(text) or _KERNEL.match(text)) is not None,
        label=_LABEL.match(text) is not None,
        ucx=_UCX.match(text) is not None,
        monitor=_MONITOR.search(text[:200]) is not None,
        rank=_RANK.search(text[:200]) is not None,
        group="[PG " in text[:300],
    )


def without_port(peer: str) -> str:
    """`10.0.0.9` of NCCL's `10.0.0.9<41210>`."""
    return _PORT.sub("", peer)


def _group(text: str) -> str | None:
    """The process group in `[PG ID 0 PG GUID 0(default_pg) Rank 14]`; the rank there is one of the group's own."""
    found = _GROUP.search(text[:300]) if "[PG " in text else None
    return f"{found['id']}/{found['name'] or found['guid'] or ''}" if found is not None else None


def numbers(text: str) -> list[int]:
    """The ranks in `32-39,41` or `{61}`: at most `NAMED_AT_MOST`."""
    found: list[int] = []
    for span in _SPAN.finditer(text):
        first, last = int(span[1]), int(span[2] or span[1])
        found += range(first, min(last, first + NAMED_AT_MOST) + 1)
        if len(found) >= NAMED_AT_MOST:
            break
    return found[:NAMED_AT_MOST]

"""What does each node show right now? The answers of one turn, sorted by node, GPU and port of an adapter."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from detectors.metrics.families import MEMORY, MEMORY_LEFT, Labels
from detectors.metrics.source import Sample

OLD_SECONDS = 90.0
"""A value that was true longer ago is absent: a scrape every 45 s may be missed once."""
PARTS = 64  # GPUs, or ports, of one node; more are no machine
UUID = "UUID"
_ODD = re.compile(r"[^\w.:-]")
_PORT = re.compile(r":\d{1,5}\Z")
_PART_LIMIT = 64  # characters


@dataclass
class Host:
    """One node: the values of its GPUs and of its ports by name, and what share of its memory is left."""

    gpus: dict[str, dict[str, float]] = field(default_factory=dict)
    uuids: dict[str, str] = field(default_factory=dict)
    ports: dict[str, dict[str, float]] = field(default_factory=dict)
    memory: dict[str, float] = field(default_factory=dict)

    @property
    def memory_left(self) -> float | None:
        """From 0 to 1; `None` when nobody tells."""
        whole, left = self.memory.get(MEMORY, 0.0), self.memory.get(MEMORY_LEFT)
        return left / whole if whole > 0 and left is not None else None


@dataclass
class Snapshot:
    """The nodes that the scheduler knows, by its name for them, and names of others (some)."""

    hosts: dict[str, Host] = field(default_factory=dict)
    strangers: set[str] = field(default_factory=set)

    @property
    def gpus(self) -> int:
        """How many GPUs are seen."""
        return sum(len(host.gpus) for host in self.hosts.values())


def snapshot(answers: Mapping[str, Sequence[Sample]], labels: Labels, nodes: Collection[str]) -> Snapshot:
    """Sort the samples of the four queries; what is old, or of a node that nobody knows, is left out."""
    names, seen = _Names(nodes), Snapshot()
    old = _old(answers.get("ages", ()), labels)
    for sample in (*answers.get("states", ()), *answers.get("activity", ())):
        told, gpu = sample.labels.get(labels.gpu_node, ""), sample.labels.get(labels.gpu, "")
        host = _host(seen, names, told) if gpu and (told, gpu) not in old else None
        if host is None:
            continue
        part = part_of(gpu)
        values = host.gpus.get(part)
        if values is None:
            if len(host.gpus) >= PARTS:
                continue
            values = host.gpus[part] = {}
        values[sample.name] = max(sample.value, values.get(sample.name, sample.value))
        if UUID in sample.labels:
            host.uuids[part] = sample.labels[UUID][:_PART_LIMIT]
    _hosts(seen, names, labels, answers.get("host", ()), old)
    return seen


def _hosts(
    seen: Snapshot, names: "_Names", labels: Labels, samples: Sequence[Sample], old: set[tuple[str, str]]
) -> None:
    for sample in samples:
        told, device = sample.labels.get(labels.node, ""), sample.labels.get(labels.device, "")
        host = _host(seen, names, told) if (told, "") not in old else None
        if host is None:
            continue
        if sample.name in (MEMORY, MEMORY_LEFT):
            host.memory[sample.name] = sample.value
        elif device:
            part = part_of(f"{device}:{sample.labels.get(labels.port, '')}".rstrip(":"))
            if part in host.ports or len(host.ports) < PARTS:
                host.ports.setdefault(part, {})[sample.name] = sample.value


def part_of(text: str) -> str:
    """The name of a part, from a label: hostile text, so short and plain."""
    return _ODD.sub("_", text[:_PART_LIMIT])


def _old(samples: Sequence[Sample], labels: Labels) -> set[tuple[str, str]]:
    """Places, as labels name them, whose last scrape is too long ago; each value is the time of a sample."""
    old = set()
    for sample in samples:
        if sample.at - sample.value <= OLD_SECONDS:
            continue
        if labels.gpu in sample.labels:
            old.add((sample.labels.get(labels.gpu_node, ""), sample.labels[labels.gpu]))
        else:
            old.add((sample.labels.get(labels.node, ""), ""))
    return old


def _host(seen: Snapshot, names: "_Names", told: str) -> Host | None:
    name = names.of(told)
    if not name:
        if told and len(seen.strangers) < PARTS:
            seen.strangers.add(told[:_PART_LIMIT])
        return None
    if name not in seen.hosts:
        seen.hosts[name] = Host()
    return seen.hosts[name]


class _Names:
    """The scheduler's name of each node: `gpu-n01:9400` and `gpu-n01.cluster.local` are `gpu-n01`."""

    def __init__(self, nodes: Collection[str]) -> None:
        self._known: dict[str, str] = {}
        self._nodes = {node.lower(): node for node in nodes}

    def of(self, told: str) -> str:
        """Empty for one that the scheduler does not know."""
        if told not in self._known:
            plain = _PORT.sub("", told).lower()
            self._known[told] = self._nodes.get(plain) or self._nodes.get(plain.partition(".")[0], "")
        return self._known[told]

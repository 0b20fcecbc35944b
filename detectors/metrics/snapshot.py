"""What does each node show right now? The answers of one turn, sorted by node, GPU and port of an adapter."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from detectors.metrics.families import MEMORY, MEMORY_LEFT, Labels
from detectors.metrics.source import Sample

OLD_SECONDS = 90.0
"""A value that was true longer ago is absent: a scrape every 45 s may be missed once."""
PARTS = 64  # GPUs, or ports, of one node; more are no machine
UUID = "UUID"
UUID_LIMIT = 12  # its last characters tell one card of a slot from another
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
    """The nodes that the scheduler knows, by its name for them; names of others (some); which metrics came."""

    hosts: dict[str, Host] = field(default_factory=dict)
    strangers: set[str] = field(default_factory=set)
    metrics: set[str] = field(default_factory=set)

    @property
    def gpus(self) -> int:
        """How many GPUs are seen."""
        return sum(len(host.gpus) for host in self.hosts.values())


class Sorting:
    """Builds a snapshot answer by answer, in the order of `families.queries`: all at once would be much memory."""

    def __init__(self, labels: Labels, nodes: Collection[str]) -> None:
        self.seen = Snapshot()
        self._labels = labels
        self._names = _Names(nodes)
        self._old: set[tuple[str, str]] = set()

    def take(self, query: str, samples: Iterable[Sample]) -> None:
        """Sort what came for one query; what is old, or of a node that nobody knows, is left out."""
        for sample in samples:
            if query == "ages":
                self._age(sample)
                continue
            self.seen.metrics.add(sample.name)
            if query == "host":
                self._of_host(sample)
            else:
                self._of_gpu(sample)

    def _age(self, sample: Sample) -> None:
        """The value is the time of a place's last scrape; each place as its labels name it."""
        labels = self._labels
        if sample.at - sample.value > OLD_SECONDS:
            gpu = sample.labels.get(labels.gpu, "")
            self._old.add((sample.labels.get(labels.gpu_node if gpu else labels.node, ""), gpu))

    def _of_gpu(self, sample: Sample) -> None:
        told, gpu = sample.labels.get(self._labels.gpu_node, ""), sample.labels.get(self._labels.gpu, "")
        host = self._host(told) if gpu and (told, gpu) not in self._old else None
        if host is None:
            return
        part = part_of(gpu)
        values = host.gpus.get(part)
        if values is None:
            if len(host.gpus) >= PARTS:
                return
            values = host.gpus[part] = {}
        values[sample.name] = max(sample.value, values.get(sample.name, sample.value))
        if UUID in sample.labels:
            host.uuids[part] = sample.labels[UUID][-UUID_LIMIT:]

    def _of_host(self, sample: Sample) -> None:
        told, device = sample.labels.get(self._labels.node, ""), sample.labels.get(self._labels.device, "")
        host = self._host(told) if (told, "") not in self._old else None
        if host is None:
            return
        if sample.name in (MEMORY, MEMORY_LEFT):
            host.memory[sample.name] = sample.value
        elif device:
            part = part_of(f"{device}:{sample.labels.get(self._labels.port, '')}".rstrip(":"))
            if part in host.ports or len(host.ports) < PARTS:
                host.ports.setdefault(part, {})[sample.name] = sample.value

    def _host(self, told: str) -> Host | None:
        name = self._names.of(told)
        if not name:
            if told and len(self.seen.strangers) < PARTS:
                self.seen.strangers.add(told[:_PART_LIMIT])
            return None
        if name not in self.seen.hosts:
            self.seen.hosts[name] = Host()
        return self.seen.hosts[name]


def part_of(text: str) -> str:
    """The name of a part, from a label: hostile text, so short and plain."""
    return _ODD.sub("_", text[:_PART_LIMIT])


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

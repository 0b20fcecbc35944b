"""Which GPU, adapter and place in its node has an implicated rank, and in which framework does the job train?"""

import re
from typing import Any

from detectors.attribution.facts import Facts, Symptom
from detectors.attribution.judgement import Implicated
from detectors.attribution.weighing import Weighed
from detectors.catalogue.layer import Layer

_PCI = re.compile(r"\(PCI:([0-9a-fA-F:.]{7,16})\)|\bGPU ([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})")
_UUID = re.compile(r"\bGPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_INDEX = re.compile(r"\bGPU[ :]?#?(\d{1,2})\b(?![:.\d])")
_NCCL_DEVICE = re.compile(r"^[\w.\-]+:\d+:\d+ \[(\d{1,2})\] ")
_NIC = re.compile(r"\b((?:mlx\d|bnxt_re|efa|irdma|hfi\d|rdmap\d+s)_?\d{1,3})\b")
_OF_GPU = frozenset({Layer.HARDWARE_GPU, Layer.HARDWARE_NVLINK})

FRAMEWORKS = (
    ("prog.megatron", "megatron"),
    ("prog.nemo", "nemo"),
    ("prog.deepspeed", "deepspeed"),
    ("prog.titan", "torchtitan"),
    ("prog.composer", "composer"),
    ("prog.maxtext", "maxtext"),
    ("prog.olmo", "olmo"),
    ("prog.nanotron", "nanotron"),
    ("prog.verl", "verl"),
    ("prog.swift", "ms-swift"),
    ("prog.llamafactory", "llama-factory"),
    ("prog.fairseq", "fairseq"),
    ("prog.hf", "transformers"),
)
"""Dialects of steps that one framework alone speaks, the surest first."""

WOULD_CHANGE = {
    "hardware": "kernel log and health checks of the host show nothing",
    "network": "the port counters at both ends show nothing",
    "system": "kernel log and driver of the host show nothing",
    "storage": "the file system answers on all hosts",
    "scheduler": "the accounting shows another end",
    "framework": "an earlier line of another rank shows a cause",
    "application": "the same program runs through on other nodes",
    "data": "the same input is read without an error",
    "unknown": "any line, kernel log or accounting shows a cause",
}
"""By domain: what would make another explanation the better one."""


def framework_of(facts: Facts) -> str | None:
    """The framework whose steps were read, `None` when they are told in a way that several share."""
    spoken = facts.witnesses.dialects
    found = (name for beginning, name in FRAMEWORKS if any(one.startswith(beginning) for one in spoken))
    return next(found, None)


def ranks_expected(facts: Facts) -> int | None:
    """How many ranks there are at least: the highest that the map, the counters or a symptom names, and one."""
    named = {rank for rank, _host in facts.ranks} | {one.rank for one in facts.witnesses.waits}
    named |= {rank for group in facts.witnesses.members for rank in group.ranks[-1:]}
    named |= {rank for symptom in facts.symptoms for rank in symptom.ranks}
    return max(named) + 1 if named else None


def local_rank(one: Implicated, facts: Facts) -> int | None:
    """The rank's place among those of its host, where the map holds them all without a gap."""
    own = sorted(rank for rank, host in facts.ranks if host == one.host)
    whole = bool(own) and own == list(range(own[0], own[0] + len(own)))
    return own.index(one.rank) if whole and one.rank in own else None


def gpu_of(one: Implicated, weighed: Weighed) -> dict[str, Any]:
    """Index, UUID and PCI address of the GPU that the lines of the cause name on this host, null elsewhere."""
    lines = [] if one.role == "victim" else _lines(one, weighed)
    index = _first(_INDEX, lines)
    if index is None and weighed.cause.layer in _OF_GPU:
        index = _first(_NCCL_DEVICE, lines)
    pci = _first(_PCI, lines)
    return {
        "index": int(index) if index is not None else None,
        "uuid": _first(_UUID, lines),
        "pci": pci.lower() if pci else None,
    }


def nic_of(one: Implicated, weighed: Weighed) -> str | None:
    """The adapter of the host that failed or reported, of a cause in the network."""
    if one.role == "victim" or weighed.cause.layer is not Layer.HARDWARE_NETWORK:
        return None
    told = weighed.facts.witnesses
    ports = [port.nic for port in told.ports if port.host == one.host and port.nic and (port.down or port.failures)]
    edges = [edge.nic for edge in told.edges if edge.reporter == one.host and edge.nic]
    return next(iter((*ports, *edges)), None) or _first(_NIC, _lines(one, weighed))


def last_of(symptom: Symptom) -> Any:
    """The newest moment that a quoted line of it tells, else when it happened."""
    return max((quote.at for quote in symptom.evidence if quote.at is not None), default=symptom.happened_at)


def would_change_if(layer: Layer) -> str:
    """What would make another explanation than one of this layer the better one."""
    return WOULD_CHANGE.get(layer.domain, WOULD_CHANGE["unknown"])


def _lines(one: Implicated, weighed: Weighed) -> list[str]:
    """Lines of the cause that speak of the host; of one that names a single host, all of them."""
    candidate = weighed.cause.candidate
    if candidate is None:
        return []
    alone = len(weighed.cause.named.hosts) == 1
    return [quote.line for quote in candidate.symptom.evidence if alone or quote.host == one.host]


def _first(pattern: re.Pattern[str], lines: list[str]) -> str | None:
    for line in lines:
        found = pattern.search(line)
        if found is not None:
            groups = [group for group in found.groups() if group]
            return groups[0] if groups else found[0]
    return None

"""What is new about a cluster's metrics? One pure turn: memory and answers in; memory, signals and uses out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from detectors.catalogue.gpu_use import GpuUse
from detectors.metrics.jobs import Run, judge_jobs
from detectors.metrics.judging import Judged, Signal, judge_hosts
from detectors.metrics.memory import Memory
from detectors.metrics.snapshot import Snapshot


@dataclass(frozen=True)
class Turned:
    """`state` is the memory as JSON, `signals` what begins or is over, `uses` what is to be stored by attempt."""

    state: dict[str, Any]
    signals: tuple[Signal, ...]
    uses: dict[int, GpuUse]


def turn(state: dict[str, Any], seen: Snapshot, runs: Sequence[Run], nodes: frozenset[str], now: float) -> Turned:
    """One turn over what is seen. `now` in epoch seconds; a clock that went back begins the window anew."""
    memory = Memory.of(state)
    memory.forget(nodes)
    if memory.window_at > now or not memory.window_at:
        memory.window_at = now
    judged = Judged(memory, now)
    uses = judge_jobs(judged, seen, runs)
    judge_hosts(judged, seen)
    memory.at = now
    return Turned(memory.stored(), tuple(judged.signals), uses)

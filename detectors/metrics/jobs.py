"""What do the GPUs of a job show together? How busy they are, whether they spin, whether its traffic stopped.

GPUs that wait in a collective are busy by their utilisation (trap 9): power and tensor cores tell that nothing is
computed. Both are compared with what the same attempt drew while its steps rose, so nothing is known of one that
never moved. Nodes on which several attempts run tell of none of them.
"""

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from detectors.catalogue.gpu_use import IDLE, GpuUse
from detectors.catalogue.metric_signals import RDMA_ZERO, SPIN
from detectors.metrics import families
from detectors.metrics.judging import Judged
from detectors.metrics.snapshot import Snapshot

SPINS = 95.0  # per cent of utilisation
ODD_ONES = 0.1  # of the GPUs may differ from the others, or one
FAR_BELOW = 0.7  # of the power that the attempt draws while it trains
TENSOR_IDLE, TENSOR_WORKS = 0.01, 0.05  # of the time
KNOWN, KEPT = 3, 30  # values of the own normal before it counts, and at most
SPIN_SECONDS, ZERO_SECONDS = 30.0, 60.0  # how long it must hold before it is a witness
SILENT, CARRIES = 1e3, 1e6  # bytes a second and node: below nothing is carried, above it is a job's traffic
LOADED = 50.0  # per cent of utilisation from which a GPU is at work
SLOW_CLOCK = 0.9  # of the median of the job's GPUs
TOLD_AGAIN = timedelta(seconds=50)


@dataclass(frozen=True)
class Run:
    """A running attempt: its row, its nodes and its last step."""

    attempt: int
    nodes: tuple[str, ...]
    step: int | None


@dataclass(frozen=True)
class _Gpu:
    host: str
    part: str
    values: Mapping[str, float]

    @property
    def use(self) -> float:
        return self.values[families.UTIL]


def judge_jobs(turn: Judged, seen: Snapshot, runs: Sequence[Run]) -> dict[int, GpuUse]:
    """By attempt, what is to be stored of it now: what has changed, or was told too long ago."""
    traffic = _traffic(turn, seen)
    shared = Counter(node for run in runs for node in set(run.nodes))
    jobs, uses = turn.memory.jobs, {}
    turn.memory.jobs = {}
    for run in runs:
        if any(shared[node] > 1 for node in run.nodes):
            continue
        state = dict(jobs.get(str(run.attempt), {}))
        use = _judge(turn, seen, run, state, traffic)
        if use is not None and _to_be_told(state, use):
            state["told"] = [use.seen_at.timestamp(), use.idle_since is not None, use.witness]
            uses[run.attempt] = use
        if state:
            turn.memory.jobs[str(run.attempt)] = state
    return uses


def _judge(
    turn: Judged, seen: Snapshot, run: Run, state: dict[str, Any], traffic: Mapping[str, float]
) -> GpuUse | None:
    """What this run's GPUs do; `None` while none of them is seen. Moves `state`."""
    gpus = [
        _Gpu(node, part, values)
        for node in run.nodes
        if node in seen.hosts
        for part, values in seen.hosts[node].gpus.items()
        if families.UTIL in values
    ]
    if not gpus:
        return None
    nodes = {gpu.host for gpu in gpus}
    whole = len(nodes) == len(set(run.nodes))
    at_work = _at_work(turn, run, gpus)
    moved = run.step is not None and run.step != state.get("step")
    if moved:
        state["step"] = run.step
    idle = whole and all(gpu.use < 100 * IDLE for gpu in gpus)
    spins = whole and not moved and _spins(at_work, state)
    still = whole and not moved and _carries_nothing(run, state, traffic)
    if moved and not spins:
        _learn(state, at_work, run, traffic)
    for name, holds in (("idle", idle), ("spin", spins), ("still", still)):
        if holds:
            state.setdefault(name, turn.now)
        else:
            state.pop(name, None)
    _slow_clocks(turn, at_work)
    use = GpuUse(
        mean=statistics.fmean(gpu.use for gpu in gpus) / 100,
        gpus=len(gpus),
        nodes=len(nodes),
        seen_at=_moment(turn.now),
        idle_since=_moment(state["idle"]) if "idle" in state else None,
    )
    return _witnessed(use, state, turn.now)


def _witnessed(use: GpuUse, state: Mapping[str, Any], now: float) -> GpuUse:
    for name, signal, seconds in (("spin", SPIN, SPIN_SECONDS), ("still", RDMA_ZERO, ZERO_SECONDS)):
        if name in state and now - state[name] >= seconds:
            return replace(use, witness=signal, witness_since=_moment(state[name]))
    return use


def _at_work(turn: Judged, run: Run, gpus: Iterable[_Gpu]) -> list[_Gpu]:
    """The GPUs that the run has ever worked with: a node may have more than it was given."""
    known = []
    for gpu in gpus:
        key = f"{gpu.host}|GPU {gpu.part}"
        part = turn.memory.parts.setdefault(key, {})
        if gpu.use >= LOADED:
            part["j"] = run.attempt
        if part.get("j") == run.attempt:
            known.append(gpu)
    return known


def _spins(gpus: Sequence[_Gpu], state: Mapping[str, Any]) -> bool:
    """All but an odd one are busy, and what they draw or compute is far below the run's own normal."""
    busy = [gpu for gpu in gpus if gpu.use >= SPINS]
    odd = len(gpus) - len(busy)
    if not busy or odd > (max(1, int(ODD_ONES * len(gpus))) if len(gpus) > 2 else 0):
        return False
    power, tensor = _median(busy, families.POWER), _median(busy, families.TENSOR)
    own_power, own_tensor = _normal(state, "power"), _normal(state, "tensor")
    low_power = None if power is None or own_power is None else power < FAR_BELOW * own_power
    computes = None if tensor is None or own_tensor is None or own_tensor < TENSOR_WORKS else tensor > TENSOR_IDLE
    return low_power is not False and computes is not True and (low_power is True or computes is False)


def _carries_nothing(run: Run, state: Mapping[str, Any], traffic: Mapping[str, float]) -> bool:
    """No byte of its nodes' adapters moves, though they carried its traffic before."""
    rates = [traffic[node] for node in run.nodes if node in traffic]
    return (
        len(run.nodes) > 1 and len(rates) == len(run.nodes) and bool(state.get("carried")) and max(rates) < SILENT
    )


def _learn(state: dict[str, Any], gpus: Sequence[_Gpu], run: Run, traffic: Mapping[str, float]) -> None:
    """What the run draws while its steps rise."""
    loaded = [gpu for gpu in gpus if gpu.use >= LOADED]
    for name, metric in (("power", families.POWER), ("tensor", families.TENSOR)):
        value = _median(loaded, metric)
        if value is not None:
            state[name] = [*state.get(name, []), round(value, 4)][-KEPT:]
    if run.nodes and all(traffic.get(node, 0.0) >= CARRIES for node in run.nodes):
        state["carried"] = True


def _normal(state: Mapping[str, Any], name: str) -> float | None:
    values = state.get(name, [])
    return statistics.median(values) if len(values) >= KNOWN else None


def _median(gpus: Sequence[_Gpu], metric: str) -> float | None:
    values = [gpu.values[metric] for gpu in gpus if metric in gpu.values]
    return statistics.median(values) if values else None


def _slow_clocks(turn: Judged, gpus: Sequence[_Gpu]) -> None:
    """One GPU under load whose clock is lower than its peers'."""
    loaded = [gpu for gpu in gpus if gpu.use >= LOADED]
    usual = _median(loaded, families.CLOCK)
    if usual is None or len(loaded) < KNOWN:
        return
    for gpu in loaded:
        if gpu.values.get(families.CLOCK, usual) < SLOW_CLOCK * usual:
            turn.flag((gpu.host, f"GPU {gpu.part}"), "m.sm_clock")


def _traffic(turn: Judged, seen: Snapshot) -> dict[str, float]:
    """Bytes a second of each host's adapters since the last turn; nothing where a counter began anew."""
    memory, rates = turn.memory, {}
    seconds = turn.now - memory.at
    for name, host in seen.hosts.items():
        counted = [
            port[one] for port in host.ports.values() for one in (families.RECEIVED, families.SENT) if one in port
        ]
        if not counted:
            continue
        total = sum(counted)
        before = memory.traffic.get(name)
        if before is not None and total >= before and seconds > 0:
            rates[name] = (total - before) / seconds
        memory.traffic[name] = total
    return rates


def _to_be_told(state: Mapping[str, Any], use: GpuUse) -> bool:
    told = state.get("told")
    if told is None or [use.idle_since is not None, use.witness] != told[1:]:
        return True
    return bool(use.seen_at.timestamp() - told[0] >= TOLD_AGAIN.total_seconds())


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)

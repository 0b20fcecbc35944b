"""Which metric signals begin, and which are over? From what was remembered and what is seen now.

What only tells by its change is an event of the turn that shows it; the first look teaches, and tells nothing. What
flickers (clocks, errors of links) is told when it showed in three of the last five minutes. A host that gives no
values is neither ill nor healthy: nothing of it begins or ends.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from detectors.catalogue.metric_signals import SIGNALS, XID
from detectors.metrics import families
from detectors.metrics.memory import Memory
from detectors.metrics.snapshot import Host, Snapshot

WINDOW = 60.0  # seconds
WINDOWS, ENOUGH = 5, 3  # of the reference: 3 of 5
DOWN_COUNTS = 2  # a link that went down: twice in five windows is enough by itself
AGAIN = 600.0
"""Seconds after which a rise is told again: a failure is joined with what happened up to 10 minutes before it."""
TIMELY = 600.0  # a change over a longer gap happened nobody knows when: it only confirms
REPLAYS_A_MINUTE = 8.0
HELD_DOWN = 0x8 | 0x20 | 0x40 | 0x80
"""Hardware slow-down, thermal and power brake; a power cap by software (0x4) is normal."""
CODES = 10_000  # a larger value is no XID
ACTIVE = 4.0  # InfiniBand port state
MEMORY_LOW, MEMORY_FINE = 0.02, 0.04
Place = tuple[str, str]
"""A node and its part, as in `Signal`."""


@dataclass(frozen=True)
class Signal:
    """A signal that begins at `since` (epoch s), or is over (`healthy`). `part`: `GPU 3`; empty: the host."""

    id: str
    host: str
    part: str
    since: float
    sentence: str = ""
    fatal: bool = False
    healthy: bool = False
    codes: tuple[str, ...] = ()


@dataclass
class Judged:
    """A turn on its way: `memory` is moved, `signals` are what it tells."""

    memory: Memory
    now: float
    signals: list[Signal] = field(default_factory=list)

    def begin(
        self,
        place: Place,
        signal: str,
        sentence: str,
        *,
        why: str = "",
        codes: tuple[str, ...] = (),
        since: float | None = None,
        timely: bool = True,
        again: float = math.inf,
    ) -> None:
        """Tell of a signal unless it was told less than `again` seconds ago; what is not `timely` only confirms."""
        key = "|".join((*place, signal))
        known = self.memory.open.get(key)
        if known is not None and self.now - known[0] < again:
            return
        self.memory.open[key] = [self.now, why]
        fatal = timely and (SIGNALS[signal].fatal or bool(codes))
        began = self.now if since is None else since
        self.signals.append(Signal(signal, *place, began, sentence, fatal, codes=codes))

    def end(self, place: Place, signal: str, why: str = "") -> None:
        """Tell that a signal is over that was told for this reason."""
        key = "|".join((*place, signal))
        known = self.memory.open.get(key)
        if known is not None and known[1] == why:
            del self.memory.open[key]
            self.signals.append(Signal(signal, *place, self.now, healthy=True))

    def flag(self, place: Place, signal: str, weight: int = 1) -> None:
        """A condition shows in this window."""
        key = "|".join((*place, signal))
        self.memory.flags[key] = max(self.memory.flags.get(key, 0), weight)


def judge_hosts(turn: Judged, seen: Snapshot) -> None:
    """All signals of single hosts. `judge_jobs` comes before it: it flags what one GPU of a job shows."""
    for name, host in seen.hosts.items():
        for gpu, values in host.gpus.items():
            _gpu(turn, name, gpu, values, host.uuids.get(gpu, ""))
        for port, values in host.ports.items():
            _port(turn, name, port, values)
        _begin_counting(turn, name, host)
        left = host.memory_left
        if left is not None and left < MEMORY_LOW:
            turn.begin((name, ""), "m.host_mem", f"{left:.1%} of the memory is left")
        elif left is not None and left > MEMORY_FINE:
            turn.end((name, ""), "m.host_mem")
    _missing_gpus(turn, seen)
    if turn.now - turn.memory.window_at >= WINDOW:
        _close_window(turn, seen)


def _begin_counting(turn: Judged, name: str, host: Host) -> None:
    """Counters are compared with when they were first seen; anew for a host that was away: it may have started."""
    memory = turn.memory
    away = memory.hosts.get(name) != memory.at
    memory.hosts[name] = turn.now
    for key, values in _parts(name, host):
        if (away or key not in memory.bases) and (counters := _counters(values)):
            memory.bases[key] = counters


def _gpu(turn: Judged, host: str, gpu: str, values: Mapping[str, float], uuid: str) -> None:
    part, key = f"GPU {gpu}", f"{host}|GPU {gpu}"
    before = turn.memory.parts.get(key, {})
    if before and uuid and before.get("u") and uuid != before["u"]:  # another card: what the old one showed is over
        for signal in SIGNALS:
            known = turn.memory.open.get(f"{key}|{signal}")
            if known is not None:
                turn.end((host, part), signal, known[1])
        turn.memory.bases.pop(key, None)
        before = {}
    timely = turn.now - before.get("t", turn.now) <= TIMELY
    now = {**before, "t": int(turn.now), **({"u": uuid} if uuid else {})}
    _code(turn, (host, part), before.get("x"), values.get(families.XID), timely=timely)
    _bits(turn, (host, part), before.get("d"), values.get(families.DBE), timely=timely)
    _rows(turn, (host, part), before.get("r"), values, timely=timely)
    action = next((values[name] for name in families.RECOVERY if name in values), None)
    if action:
        turn.begin((host, part), "m.recovery", f"the driver asks for recovery action {action:.0f}")
    elif action == 0:
        turn.end((host, part), "m.recovery")
    if any(int(values.get(name, 0)) & HELD_DOWN for name in families.THROTTLE):
        turn.flag((host, part), "m.throttle")
    for letter, name in (("x", families.XID), ("d", families.DBE), ("r", families.BROKEN_ROWS)):
        if name in values:
            now[letter] = int(values[name])
    turn.memory.parts[key] = now


def _code(turn: Judged, place: Place, before: float | None, value: float | None, *, timely: bool) -> None:
    """The last XID stays where it is: only a change is an event, and the same one twice cannot be seen."""
    if value is None or before is None or value == before:
        return
    turn.end(place, XID)
    if 0 < value < CODES:
        when = "" if timely else ", some time since the last look"
        turn.begin(place, XID, f"the last XID became {value:.0f}{when}", codes=(f"{value:.0f}",), timely=timely)


def _bits(turn: Judged, place: Place, before: float | None, value: float | None, *, timely: bool) -> None:
    """Double bit errors since the driver was loaded: a counter that begins anew has risen by what it shows."""
    if value is None or before is None:
        return
    if value < before:
        turn.end(place, "m.dbe")
    rise = value - before if value >= before else value
    if rise > 0:
        turn.begin(place, "m.dbe", f"{rise:.0f} uncorrectable ECC errors more", again=AGAIN, timely=timely)


def _rows(turn: Judged, place: Place, before: float | None, values: Mapping[str, float], *, timely: bool) -> None:
    """Rows are counted for the life of a card: fewer than before is another card, and tells nothing."""
    failed, rows = values.get(families.REMAP_FAILURE), values.get(families.BROKEN_ROWS)
    if failed == 1:
        turn.begin(place, "m.remap_fail", "a memory row could not be remapped", why="failure")
    elif failed == 0:
        turn.end(place, "m.remap_fail", "failure")
    if rows is not None and before is not None and rows > before:
        sentence = f"{rows - before:.0f} rows more were remapped for uncorrectable errors"
        turn.begin(place, "m.remap_fail", sentence, why="rows", again=AGAIN, timely=timely)


def _port(turn: Judged, host: str, port: str, values: Mapping[str, float]) -> None:
    """A port that leaves ACTIVE from one look to the next; one of a node that starts, or of none, does not."""
    memory, state, key = turn.memory, values.get(families.PORT_STATE), f"{host}|{port}"
    if state is None:
        return
    if state == ACTIVE:
        memory.parts[key] = {"a": turn.now}
        turn.end((host, port), "m.nic_down")
    elif memory.parts.get(key, {}).get("a") == memory.at:
        timely = turn.now - memory.at <= TIMELY
        turn.begin((host, port), "m.nic_down", f"the port left the state ACTIVE (now {state:.0f})", timely=timely)


def _missing_gpus(turn: Judged, seen: Snapshot) -> None:
    """Fewer GPUs than usual at two looks, while the other hosts show theirs."""
    memory = turn.memory
    showing = sum(bool(host.gpus) for host in seen.hosts.values())
    for name in {*memory.usual, *seen.hosts}:
        count = len(seen.hosts.get(name, Host()).gpus)
        usual = memory.usual.get(name, 0)
        if count >= usual:
            memory.less.pop(name, None)
            turn.end((name, ""), "m.gone")
            if count:
                memory.usual[name] = count
        elif count or showing >= max(1, len(memory.usual) // 2):
            if name in memory.less:
                words = f"{count} of {usual} GPUs are seen"
                turn.begin((name, ""), "m.gone", words, since=memory.less[name])
            else:
                memory.less[name] = turn.now


def _close_window(turn: Judged, seen: Snapshot) -> None:
    """A minute is over: what showed in it goes into the rings, and the counters begin anew."""
    memory = turn.memory
    minutes = max(turn.now - memory.window_at, WINDOW) / 60
    shown = set()
    for name, host in seen.hosts.items():
        for key, values in _parts(name, host):
            shown.add(key)
            if counters := _counters(values):
                _count(turn, (name, key.partition("|")[2]), memory.bases.get(key, counters), counters, minutes)
                memory.bases[key] = counters
    for key in {*memory.flags, *memory.rings}:
        place, _, signal = key.rpartition("|")
        if place in shown:
            _turn_ring(turn, key, place, signal)
    memory.flags, memory.window_at = {}, turn.now


def _parts(name: str, host: Host) -> Iterator[tuple[str, Mapping[str, float]]]:
    yield from ((f"{name}|GPU {gpu}", values) for gpu, values in host.gpus.items())
    yield from ((f"{name}|{port}", values) for port, values in host.ports.items())


def _counters(values: Mapping[str, float]) -> dict[str, float]:
    """By short name. A counter that nobody tells is not there."""
    told = {
        "replays": [values[families.REPLAYS]] if families.REPLAYS in values else [],
        "nvlink": [values[name] for name in families.NVLINK_ERRORS if name in values],
        "errors": [values[name] for name in families.PORT_ERRORS if name in values],
        "downed": [values[families.LINK_DOWNED]] if families.LINK_DOWNED in values else [],
    }
    return {name: int(sum(some)) for name, some in told.items() if some}


def _count(
    turn: Judged, place: Place, before: Mapping[str, float], counters: Mapping[str, float], minutes: float
) -> None:
    """A counter that begins anew has not risen: links are counted down, too, while a node starts."""
    rises = {name: value - before[name] for name, value in counters.items() if name in before}
    if rises.get("replays", 0) / minutes > REPLAYS_A_MINUTE:
        turn.flag(place, "m.pcie_replay")
    if rises.get("nvlink", 0) > 0:
        turn.flag(place, "m.nvlink_err")
    if rises.get("errors", 0) > 0 or rises.get("downed", 0) > 0:
        turn.flag(place, "m.nic_err", max(1, DOWN_COUNTS * int(min(rises.get("downed", 0), WINDOWS))))


def _turn_ring(turn: Judged, key: str, place: str, signal: str) -> None:
    """Told when it showed in enough of the last windows, over when it showed in none."""
    memory = turn.memory
    host, _, part = place.partition("|")
    ring = [*memory.rings.get(key, []), memory.flags.get(key, 0)][-WINDOWS:]
    if sum(ring) >= ENOUGH:
        since = turn.now - WINDOW * (len(ring) - next(at for at, one in enumerate(ring) if one))
        times = sum(bool(one) for one in ring)
        words = f"{SIGNALS[signal].says}, in {times} of the last {len(ring)} minutes"
        turn.begin((host, part), signal, words, since=since)
    if any(ring):
        memory.rings[key] = ring
    else:
        memory.rings.pop(key, None)
        turn.end((host, part), signal)

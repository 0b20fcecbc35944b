"""What is remembered of a cluster's metrics from one turn to the next? One row for a cluster, as JSON.

It holds the last value of what only tells by its change, and is bounded by the nodes that the scheduler knows.
"""

from dataclasses import asdict, dataclass, field, fields
from typing import Any

FORMAT = 1


@dataclass
class Memory:
    """Keys are `host|part`, of a condition `host|part|signal`. Epoch seconds throughout.

    `at` is the last turn, `window_at` when the window began, `hosts` when each host was seen last.
    `parts`: of a GPU its `u`uid, last `x`id, double bit errors `d`, broken rows `r`, when it was seen `t`, and the
    attempt `j` that it last worked for; of a port when it was active `a`. `usual`: how many GPUs a host
    has; `less`: since when it shows fewer. `bases`: counters when the window began. `flags` and `rings`: how
    strongly a condition showed in this window and in the last ones. `open`: since when it was told, and of what.
    `traffic`: bytes of a host's adapters. `jobs`: by attempt, see `detectors.metrics.jobs`.
    """

    at: float = 0.0
    window_at: float = 0.0
    hosts: dict[str, float] = field(default_factory=dict)
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    usual: dict[str, int] = field(default_factory=dict)
    less: dict[str, float] = field(default_factory=dict)
    bases: dict[str, dict[str, float]] = field(default_factory=dict)
    flags: dict[str, int] = field(default_factory=dict)
    rings: dict[str, list[int]] = field(default_factory=dict)
    open: dict[str, list[Any]] = field(default_factory=dict)
    traffic: dict[str, float] = field(default_factory=dict)
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, state: dict[str, Any]) -> "Memory":
        """From its JSON; anew when it is of another version."""
        names = {one.name for one in fields(cls)}
        if state.get("v") != FORMAT or set(state) != {*names, "v"}:
            return cls()
        return cls(**{name: state[name] for name in names})

    def stored(self) -> dict[str, Any]:
        """As JSON."""
        return {"v": FORMAT, **asdict(self)}

    def forget(self, nodes: frozenset[str]) -> None:
        """What is known of nodes that the scheduler has no more."""
        counted: tuple[dict[str, Any], ...] = (
            self.hosts,
            self.usual,
            self.less,
            self.flags,
            self.rings,
            self.open,
            self.traffic,
        )
        for table in (self.parts, self.bases, *counted):
            for key in [key for key in table if key.partition("|")[0] not in nodes]:
                del table[key]

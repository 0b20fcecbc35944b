"""In which state is a node of the simulated cluster?"""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Node:
    """One node. `down` and `drained` are set by an administrator or, for a lost node, by the controller."""

    name: str
    slots: int  # jobs it takes at once
    booted_at: int
    jobs: set[int] = field(default_factory=set)
    ending: set[int] = field(default_factory=set)  # those of `jobs` that are COMPLETING
    down: bool = False
    drained: bool = False
    failing: bool = False
    responding: bool = True
    lost: bool = False  # its daemon is gone: only `returned` brings it back
    reason: str = ""
    reason_at: int = 0
    busy_at: int = 0

    @property
    def usable(self) -> bool:
        """Whether the scheduler may place a job on it, now or when one of its jobs ends."""
        return self.responding and not (self.down or self.drained or self.failing or self.lost)

    @property
    def free(self) -> bool:
        """Whether there is room for one more job now."""
        return self.usable and len(self.jobs) < self.slots

    @property
    def base(self) -> str:
        """Slurm's base state."""
        if self.down:
            return "DOWN"
        active = len(self.jobs) - len(self.ending)
        if not active:
            return "IDLE"
        return "ALLOCATED" if len(self.jobs) >= self.slots else "MIXED"

    @property
    def word(self) -> str:
        """As scontrol shows it: `IDLE+DRAIN`."""
        flags = (
            ("COMPLETING", bool(self.ending)),
            ("DRAIN", self.drained),
            ("FAIL", self.failing),
            ("NOT_RESPONDING", not self.responding),
        )
        return "+".join([self.base, *(name for name, is_set in flags if is_set)])

    @property
    def long(self) -> str:
        """As sinfo's `%T` shows it: `drained`, `idle*`."""
        return self._worded("drained", "draining", self.base.lower(), "completing")

    @property
    def short(self) -> str:
        """As sinfo's `%t` shows it: `drain`, `mix`."""
        bases = {"IDLE": "idle", "ALLOCATED": "alloc", "MIXED": "mix", "DOWN": "down"}
        return self._worded("drain", "drng", bases[self.base], "comp")

    def _worded(self, drained: str, draining: str, base: str, completing: str) -> str:
        if self.drained:
            name = draining if self.jobs else drained
        elif self.failing:
            name = "fail"
        elif self.ending and self.base == "IDLE":
            name = completing
        else:
            name = base
        return name if self.responding else f"{name}*"

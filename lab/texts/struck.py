"""Who is struck, and what is said about it, when?"""

from collections.abc import Callable
from dataclasses import dataclass

from lab.dialects.dialect import bus, steady

SKEW_SECONDS = 5.0  # clocks of hosts differ by up to this much, either way (attribution.md 3)


@dataclass(frozen=True, slots=True)
class Struck:
    """The attempt and the rank that something happens to.

    `gpu` is the local rank, `process` the process number of the rank, `job` the scheduler's number, `at` epoch
    seconds of the first line.
    """

    nodes: tuple[str, ...]
    gpus: int  # ranks on each node
    host: str
    rank: int
    gpu: int
    process: int
    job: int
    at: float

    @property
    def ranks(self) -> int:
        """Number of ranks in the attempt."""
        return len(self.nodes) * self.gpus

    def host_of(self, rank: int) -> str:
        """The node a rank runs on."""
        return self.nodes[rank // self.gpus]

    def gpu_of(self, rank: int) -> int:
        """The local rank of a rank."""
        return rank % self.gpus

    def process_of(self, rank: int) -> int:
        """The process number of a rank."""
        return self.process if rank == self.rank else 10_000 + int(steady(self.job, rank, "process") * 80_000)

    def first_rank(self, host: str) -> int:
        """The lowest rank of a node."""
        return self.nodes.index(host) * self.gpus

    def others(self) -> tuple[int, ...]:
        """Every rank but the one that was struck."""
        return tuple(rank for rank in range(self.ranks) if rank != self.rank)

    def bus_of(self, gpu: int | None = None) -> str:
        """The PCI address of a GPU of the node as the driver writes it, `None` for the GPU that was struck."""
        return f"0000:{bus(self.gpu if gpu is None else gpu)}:00"

    def skew(self, host: str) -> float:
        """By how many seconds the clock of a node is wrong; the first node keeps the time."""
        if host == self.nodes[0]:
            return 0.0
        return round((steady(self.job, host, "skew") * 2 - 1) * SKEW_SECONDS, 3)

    def address(self, host: str) -> str:
        """The address of a node in the training network."""
        place = self.nodes.index(host)
        return f"10.{40 + place // 200}.{self.job % 200 + 1}.{place % 200 + 11}"


@dataclass(frozen=True, slots=True)
class Spoken:
    """One complete line, with the prefix a real log would show, `after_seconds` the first one."""

    after_seconds: float
    line: str


Text = Callable[[Struck], tuple[Spoken, ...]]


def say(after_seconds: float, *lines: str) -> tuple[Spoken, ...]:
    """Lines that are written at the same moment."""
    return tuple(Spoken(round(after_seconds, 3), line) for line in lines)

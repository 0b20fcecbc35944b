"""Where does a fault strike, and what is a blow made of? Beats: wait, print, and let something happen."""

from collections.abc import Callable
from dataclasses import dataclass

from lab.dialects.dialect import Stage
from lab.simulate.effects import Effect, Ended
from lab.simulate.hostlist import spans
from lab.simulate.play import Fault

TEARDOWN_SECONDS = 1.0  # from the first error to the end of the batch script


@dataclass(frozen=True, slots=True)
class Beat:
    """After `wait_seconds`: print `lines` (`reprint`: the line of the last step once more), then `effect`.

    With `again` the beat follows itself, for ever; with `begins` the first step begins behind it.
    """

    wait_seconds: float
    lines: tuple[str, ...] = ()
    effect: Effect | None = None
    again: bool = False
    reprint: bool = False
    begins: bool = False


@dataclass(frozen=True, slots=True)
class Blow:
    """A fault that has found its place: node and rank, in which step, at `at` (epoch seconds)."""

    fault: Fault
    stage: Stage
    node: str
    rank: int
    step: int
    at: float

    @property
    def gpu(self) -> int:
        """The local rank."""
        return self.rank % self.stage.gpus

    @property
    def process(self) -> int:
        """The process number of the rank."""
        return self.stage.process(self.rank)


Kind = Callable[[Blow], list[Beat]]


def node_of(fault: Fault, stage: Stage) -> str:
    """The node it strikes in this attempt, or "" when it does not concern the attempt."""
    if fault.attempt not in (None, stage.attempt):
        return ""
    name = fault.node_name or fault.node
    if isinstance(name, str):
        return name if name in stage.nodes else ""
    return stage.nodes[name % len(stage.nodes)]


def place(fault: Fault, stage: Stage, step: int, at: float) -> Blow | None:
    """Where the fault strikes in this attempt; `None` when it does not concern it."""
    node = node_of(fault, stage)
    if not node:
        return None
    rank = stage.nodes.index(node) * stage.gpus + fault.gpu % stage.gpus
    return Blow(fault, stage, node, rank, step, at)


def exit_of_task(blow: Blow, how: str, end: Ended) -> Beat:
    """What srun prints when one task is gone and it ends the others."""
    stage, others = blow.stage, []
    for index, node in enumerate(stage.nodes):
        ranks = [rank for rank in range(index * stage.gpus, (index + 1) * stage.gpus) if rank != blow.rank]
        if ranks:
            others.append(f"srun: error: {node}: task{'s' * (len(ranks) > 1)} {spans(ranks)}: Terminated")
    lines = (
        f"srun: error: {blow.node}: task {blow.rank}: {how}",
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
        *others,
    )
    return Beat(TEARDOWN_SECONDS, lines, end)

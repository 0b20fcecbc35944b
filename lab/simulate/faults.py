"""What does a job print when something breaks, and how does it end?

Each kind of fault is a list of beats: wait, print, and let something happen. Message formats are facts of the
NVIDIA driver, NCCL, PyTorch and Slurm; the words stand in the same order in which those programs write them.
"""

from collections.abc import Callable
from dataclasses import dataclass

from lab.dialects.dialect import Stage, bus
from lab.simulate.hostlist import spans
from lab.simulate.play import Fault

TEARDOWN_SECONDS = 1.0  # from the first error to the end of the batch script


@dataclass(frozen=True, slots=True)
class Ended:
    """The batch script is over."""

    state: str
    exit_code: int = 0
    exit_signal: int = 0
    reason: str = "None"


@dataclass(frozen=True, slots=True)
class Hung:
    """The processes live and say nothing more."""


@dataclass(frozen=True, slots=True)
class NodeLost:
    """The node `name` stops answering, and with it the job falls silent."""

    name: str


@dataclass(frozen=True, slots=True)
class CancelledByUser:
    """The job's user has called scancel."""


@dataclass(frozen=True, slots=True)
class OutOfTime:
    """The time limit is reached."""


Effect = Ended | Hung | NodeLost | CancelledByUser | OutOfTime


@dataclass(frozen=True, slots=True)
class Beat:
    """After `wait_seconds`: print `lines`, then `effect`."""

    wait_seconds: float
    lines: tuple[str, ...] = ()
    effect: Effect | None = None


@dataclass(frozen=True, slots=True)
class Blow:
    """A fault that has found its place: the node and the rank it strikes."""

    fault: Fault
    stage: Stage
    node: str
    rank: int

    @property
    def gpu(self) -> int:
        """The local rank."""
        return self.rank % self.stage.gpus


def failed(code: int) -> Ended:
    """The script ended with `code`."""
    return Ended("FAILED", code, 0, "NonZeroExitCode") if code else Ended("COMPLETED")


def _ecc(blow: Blow) -> list[Beat]:
    node, rank, gpu = blow.node, blow.rank, blow.gpu
    process = blow.stage.process(rank)
    says = f"{node}: [rank{rank}]:"
    error = "CUDA error: uncorrectable ECC error encountered"
    first = (
        f"{node}: NVRM: Xid (PCI:0000:{bus(gpu)}:00): 48, pid={process}, name=python, "
        "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer.",
        f"{node}: NVRM: Xid (PCI:0000:{bus(gpu)}:00): 63, pid={process}, name=python, "
        "Row Remapper: New row marked for remapping, reset gpu to activate.",
        "",
        f"{node}:{process}:{process + 66} [{gpu}] enqueue.cc:1549 NCCL WARN "
        "Cuda failure 'uncorrectable ECC error encountered'",
        f"{says} Traceback (most recent call last):",
        f'{says}   File "pretrain_gpt.py", line 307, in <module>',
        f"{says}     pretrain(train_valid_test_datasets_provider, model_provider, forward_step)",
        f'{says}   File "megatron/training/training.py", line 1371, in train_step',
        f"{says}     losses_reduced = forward_backward_func(",
        f"{says} RuntimeError: {error}",
        f"{says} CUDA kernel errors might be asynchronously reported at some other API call, "
        "so the stacktrace below might be incorrect.",
        f"{says} For debugging consider passing CUDA_LAUNCH_BLOCKING=1",
    )
    return [Beat(0, first), _exit_of_task(blow, "Exited with exit code 1", failed(1))]


def _exit(blow: Blow) -> list[Beat]:
    code = blow.fault.exit_code
    return [Beat(0, blow.fault.lines), _exit_of_task(blow, f"Exited with exit code {code}", failed(code))]


def _sigkill(blow: Blow) -> list[Beat]:
    return [Beat(0, blow.fault.lines), _exit_of_task(blow, "Killed", failed(137))]


def _oom(blow: Blow) -> list[Beat]:
    step = f"StepId={blow.stage.number}.0"
    lines = (
        *blow.fault.lines,
        f"slurmstepd-{blow.node}: error: Detected 1 oom-kill event(s) in {step}. "
        "Some of your processes may have been killed by the cgroup out-of-memory handler.",
    )
    return [Beat(0, lines), _exit_of_task(blow, "Out Of Memory", Ended("OUT_OF_MEMORY", 0, 125, "OutOfMemory"))]


def _exit_of_task(blow: Blow, how: str, end: Ended) -> Beat:
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


FAULTS: dict[str, Callable[[Blow], list[Beat]]] = {
    "ecc": _ecc,
    "exit": _exit,
    "sigkill": _sigkill,
    "oom": _oom,
    "hang": lambda blow: [Beat(0, blow.fault.lines, Hung())],
    "silent_exit": lambda blow: [Beat(0, (), failed(blow.fault.exit_code))],
    "node_down": lambda blow: [Beat(0, blow.fault.lines, NodeLost(blow.node))],
    "cancel": lambda blow: [Beat(0, blow.fault.lines, CancelledByUser())],
    "timeout": lambda blow: [Beat(0, blow.fault.lines, OutOfTime())],
    "lines": lambda blow: [Beat(0, blow.fault.lines)],
}


def place(fault: Fault, stage: Stage) -> Blow | None:
    """Where the fault strikes in this attempt; `None` when it does not concern it."""
    if fault.attempt not in (None, stage.attempt):
        return None
    if fault.node_name:
        node = fault.node_name
    elif isinstance(fault.node, str):
        node = fault.node
    else:
        node = stage.nodes[fault.node % len(stage.nodes)]
    if node not in stage.nodes:
        return None
    return Blow(fault, stage, node, stage.nodes.index(node) * stage.gpus + fault.gpu % stage.gpus)

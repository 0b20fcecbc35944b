"""How does a training framework write its log? Each dialect turns what happens into lines.

Shapes are those of the signatures that the detectors know: times are local and without a zone, as the frameworks
write them.
"""

import math
import re
import time
import zlib
from dataclasses import dataclass
from typing import Protocol

SEQUENCES_PER_GPU = 8


def clock(at: float, fraction: bool = False) -> str:
    """`2026-05-01 10:00:00`, with `fraction` microseconds behind it."""
    text = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    return f"{text}.{int(at % 1 * 1_000_000):06d}" if fraction else text


def steady(*words: object) -> float:
    """A number in [0, 1) that depends on nothing but `words`."""
    return zlib.crc32(repr(words).encode("utf-8", "replace")) / 2**32


@dataclass(frozen=True, slots=True)
class Stage:
    """What a line may speak of: the job, its attempt and the attempt's nodes."""

    number: int
    name: str
    attempt: int
    nodes: tuple[str, ...]
    gpus: int
    steps: int
    step_seconds: float

    @property
    def ranks(self) -> int:
        """Number of ranks: one for each GPU."""
        return len(self.nodes) * self.gpus

    def process(self, rank: int) -> int:
        """The process number of a rank on its node."""
        return 10_000 + int(steady(self.number, self.attempt, rank) * 80_000)

    def host(self, rank: int) -> str:
        """The node a rank runs on."""
        return self.nodes[rank // self.gpus]


class Dialect(Protocol):
    """Every method gives the lines of one moment, without their newlines; `at` in epoch seconds."""

    def opening(self, stage: Stage, checkpoint: int, at: float) -> list[str]:
        """The start of an attempt that resumes from step `checkpoint`, 0: from nothing."""

    def loaded(self, stage: Stage, checkpoint: int, at: float) -> list[str]:
        """The model is there and training begins."""

    def step(self, stage: Stage, step: int, seconds: float, at: float) -> list[str]:
        """Step `step` is done and took `seconds`."""

    def saved(self, stage: Stage, step: int, at: float) -> list[str]:
        """A checkpoint of step `step` is complete."""

    def ending(self, stage: Stage, at: float) -> list[str]:
        """All steps are done."""


class Megatron:
    """Megatron-LM as its last rank and its launcher print it."""

    def opening(self, stage: Stage, checkpoint: int, at: float) -> list[str]:
        """Ranks and their hosts (NCCL), then where the weights come from."""
        lines = [
            f"using world size: {stage.ranks}, data-parallel size: {len(stage.nodes)}, "
            f"tensor-model-parallel size: {stage.gpus}, pipeline-model-parallel size: 1"
        ]
        for rank in range(stage.ranks):
            gpu, process = rank % stage.gpus, stage.process(rank)
            lines.append(
                f"{stage.host(rank)}:{process}:{process + 70} [{gpu}] NCCL INFO ncclCommInitRankConfig comm "
                f"0x{process:08x} rank {rank} nranks {stage.ranks} cudaDev {gpu} nvmlDev {gpu} "
                f"busId {bus(gpu)}000 commId 0x{stage.number:04x} - Init COMPLETE"
            )
        folder = checkpoints(stage)
        if checkpoint:
            return [*lines, f" loading distributed checkpoint from {folder} at iteration {checkpoint}"]
        return [
            *lines,
            f"WARNING: could not find the metadata file {folder}/latest_checkpointed_iteration.txt",
            "    will not load any checkpoints and will start from random",
        ]

    def loaded(self, stage: Stage, checkpoint: int, at: float) -> list[str]:
        """The resume, if there was one, and the end of the set-up."""
        lines = [f"[before the start of training step] datetime: {clock(at)} "]
        if not checkpoint:
            return lines
        where = f"{checkpoints(stage)} {_shards(stage)}"
        return [f" successfully loaded checkpoint from {where} at iteration {checkpoint}", *lines]

    def step(self, stage: Stage, step: int, seconds: float, at: float) -> list[str]:
        """One progress line."""
        batch = stage.ranks * SEQUENCES_PER_GPU
        loss = 1.9 + 8.6 * math.exp(-step / 60) + 0.04 * steady(stage.number, step, "loss")
        norm = 0.35 + 0.3 * steady(stage.number, step, "norm")
        return [
            f" [{clock(at, fraction=True)}] iteration {step:8d}/{stage.steps:8d} | "
            f"consumed samples: {step * batch:12d} | elapsed time per iteration (ms): {seconds * 1000:.1f} | "
            f"throughput per GPU (TFLOP/s/GPU): {200 / max(seconds, 0.001):.1f} | "
            f"learning rate: 1.500000E-04 | global batch size: {batch:5d} | lm loss: {loss:.6E} | "
            f"loss scale: 1.0 | grad norm: {norm:.3f} | number of skipped iterations:   0 | "
            "number of nan iterations:   0 |"
        ]

    def saved(self, stage: Stage, step: int, at: float) -> list[str]:
        """Start and end of a synchronous save."""
        folder = checkpoints(stage)
        return [
            f"saving checkpoint at iteration {step:7d} to {folder} in torch_dist format",
            f"  successfully saved checkpoint from iteration {step:7d} to {folder} {_shards(stage)}",
        ]

    def ending(self, stage: Stage, at: float) -> list[str]:
        """The last line of a run that is complete."""
        return [f"[after training is done] datetime: {clock(at)} "]


def bus(gpu: int) -> str:
    """The PCI bus of a GPU, in hexadecimal."""
    return f"{(0x1A + 0x1A * gpu) % 256:02x}"


def checkpoints(stage: Stage) -> str:
    """The folder of checkpoints that the log names; it exists in the log only."""
    return f"/ckpt/{re.sub(r'[^A-Za-z0-9._-]', '_', stage.name)[:64] or 'job'}"


def _shards(stage: Stage) -> str:
    return f"[ t 1/{stage.gpus}, p 1/1 ]"


DIALECTS: dict[str, Dialect] = {"megatron": Megatron()}

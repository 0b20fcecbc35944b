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
PHASES = ("evaluation", "checkpoint", "compile", "data_index")
"""What a training does for minutes without making a step."""


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

    def step(self, stage: Stage, step: int, seconds: float, at: float, nan: bool = False) -> list[str]:
        """Step `step` is done and took `seconds`; with `nan` its loss is not a number."""

    def saved(self, stage: Stage, step: int, at: float) -> list[str]:
        """A checkpoint of step `step` is complete."""

    def phase(self, stage: Stage, phase: str, step: int, seconds: float, at: float) -> tuple[list[str], list[str]]:
        """What stands before and after a phase (one of `PHASES`) that begins at `at`, behind step `step`."""

    def ending(self, stage: Stage, at: float) -> list[str]:
        """All steps are done."""


def bus(gpu: int) -> str:
    """The PCI bus of a GPU, in hexadecimal."""
    return f"{(0x1A + 0x1A * gpu) % 256:02x}"


def checkpoints(stage: Stage) -> str:
    """The folder of checkpoints that the log names; it exists in the log only."""
    return f"/ckpt/{re.sub(r'[^A-Za-z0-9._-]', '_', stage.name)[:64] or 'job'}"


def loss_of(stage: Stage, step: int, nan: bool = False) -> float:
    """The loss of a step: falls as losses do; the same for the same job and step."""
    return math.nan if nan else 1.9 + 8.6 * math.exp(-step / 60) + 0.04 * steady(stage.number, step, "loss")


def norm_of(stage: Stage, step: int, nan: bool = False) -> float:
    """The norm of the gradients of a step."""
    return math.nan if nan else 0.35 + 0.3 * steady(stage.number, step, "norm")

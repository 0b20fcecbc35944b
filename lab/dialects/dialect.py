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
    folder: str = ""  # of checkpoints, when there is a real one

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
    """The folder of checkpoints that the log names; without a real one it exists in the log only."""
    return stage.folder or f"/ckpt/{re.sub(r'[^A-Za-z0-9._-]', '_', stage.name)[:64] or 'job'}"


def loss_of(stage: Stage, step: int, nan: bool = False) -> float:
    """The loss of a step: falls as losses do; the same for the same job and step."""
    return math.nan if nan else 1.9 + 8.6 * math.exp(-step / 60) + 0.04 * steady(stage.number, step, "loss")


def norm_of(stage: Stage, step: int, nan: bool = False) -> float:
    """The norm of the gradients of a step."""
    return math.nan if nan else 0.35 + 0.3 * steady(stage.number, step, "norm")


def launched(stage: Stage) -> list[str]:
    """Which rank runs where, as NCCL says it with NCCL_DEBUG=INFO under every framework."""
    lines = []
    for rank in range(stage.ranks):
        gpu, process = rank % stage.gpus, stage.process(rank)
        lines.append(
            f"{stage.host(rank)}:{process}:{process + 70} [{gpu}] NCCL INFO ncclCommInitRankConfig comm "
            f"0x{process:08x} rank {rank} nranks {stage.ranks} cudaDev {gpu} nvmlDev {gpu} "
            f"busId {bus(gpu)}000 commId 0x{stage.number:04x} - Init COMPLETE"
        )
    return lines


def bar(done: int, total: int, elapsed_seconds: float, rate: str, width: int = 10) -> str:
    """A progress bar as tqdm draws it in a log file: ` 12%|█▏        | 120/1000 [00:30<03:40,  4.00it/s]`."""
    share = min(1.0, done / max(1, total))
    eighths = int(share * width * 8)
    drawn = "█" * (eighths // 8) + (" ▏▎▍▌▋▊▉"[eighths % 8] if eighths % 8 else "")
    left = elapsed_seconds * (1 - share) / share if share else 0.0
    times = f"{_length(elapsed_seconds)}<{_length(left) if share else '?'}"
    return f"{int(share * 100):3d}%|{drawn:<{width}}| {done}/{total} [{times}, {rate}]"


def pace(seconds: float) -> str:
    """How fast a bar moves: steps a second, or seconds a step when that is more than one."""
    return f"{seconds:5.2f}s/it" if seconds >= 1 else f"{1 / max(seconds, 1e-6):5.2f}it/s"


def _length(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"

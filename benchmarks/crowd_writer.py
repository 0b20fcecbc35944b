"""Who writes the logs of thousands of attempts? `crowd_writer FOLDER COUNT SECONDS FAULTS WARM`.

One line a second into each of COUNT files for SECONDS, spread evenly over the second; every fifth is a step. FAULTS
attempts break, each once, at random moments after WARM seconds: `FOLDER/faults` gets a line for each once the
proving line stands in its log: number of the file, kind of the anomaly, seconds since 1970. `FOLDER/lines` holds
how many lines were written, and how late the latest was.
"""

import os
import random
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

STEP_EVERY = 5
SLICES = 50  # of a second
DULL = (
    "Loading shard {0} of 4096 from /data/tokens/part-{1:05d}.bin",
    "[2026-05-01 10:00:00,{1:03d}] [INFO] [loader.py:81:next] prefetched {0} batches, queue depth 8, worker idle",
    "time (ms) | forward-compute: 144.0{0} | backward-compute: 397.4{1} | optimizer: 12.10 | batch-generator: 2.2",
    "gpu-01:983:1261 [{1}] NCCL INFO Channel {0:02d}/24 : 0[{1}] -> 1[1] via P2P/CUMEM",
)
CRASH = ("[rank3]: RuntimeError: CUDA error: uncorrectable ECC error encountered",)
HANG = (
    "[rank1]:[E1129 10:00:00.000000000 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation"
    " timeout: WorkNCCL(SeqNum=812, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, Timeout(ms)=600000) ran"
    " for 600010 milliseconds before timing out.",
)
KINDS = ("crash", "hang", "nan")


def step_line(number: int, loss: str) -> str:
    """A step as Megatron-LM prints it, without a stamp: its moment is that of the read."""
    return (
        f" iteration {number:8d}/  500000 | consumed samples: {number * 256:12d} | elapsed time per iteration (ms):"
        f" 5000.0 | throughput per GPU (TFLOP/s/GPU): 401.2 | learning rate: 1.500000E-04 | global batch size:"
        f"   256 | lm loss: {loss} | loss scale: 1.0 | grad norm: 0.412 | number of skipped iterations:   0 |"
    )


@dataclass
class Writer:
    """All files, open. `plan`: by second, the files that break then, and how. `nan`: such steps still to come.

    `clock`: seconds since 1970, for the moments of the faults.
    """

    folder: Path
    files: list[int]
    plan: dict[int, dict[int, str]]
    nan: dict[int, int] = field(default_factory=dict)
    written: int = 0
    clock: Callable[[], float] = time.time

    def second(self, number: int, begins: float) -> float:
        """One line into each file during the second that begins then; how late its last line was."""
        for part in range(SLICES):
            time.sleep(max(0.0, begins + part / SLICES - time.time()))
            for place in range(part, len(self.files), SLICES):
                self.line(place, number)
        return time.time() - begins - (SLICES - 1) / SLICES

    def line(self, place: int, second: int) -> None:
        """The line that is due in one file."""
        kind = self.plan.get(second, {}).get(place)
        if kind == "nan":
            self.nan[place] = 3
        left = self.nan.get(place, 0)
        if left:
            self.nan[place] = left - 1
            text = step_line(1000 + second, "NAN")
        elif kind is not None:
            text = "\n".join(CRASH if kind == "crash" else HANG)
        elif (second + place) % STEP_EVERY == 0:
            text = step_line(1000 + second, "2.104561E+00")
        else:
            text = DULL[(second + place) % len(DULL)].format(second % 24, place % 8)
        os.write(self.files[place], f"{text}\n".encode())
        self.written += 1
        if left == 1 or kind in ("crash", "hang"):
            with (self.folder / "faults").open("a") as told:
                told.write(f"{place} {'nan' if left else kind} {self.clock():.3f}\n")


def plan_of(count: int, seconds: int, faults: int, warm: int) -> dict[int, dict[int, str]]:
    """Which files break in which second, and how; the same whenever the numbers are."""
    chance = random.Random(count)
    plan: dict[int, dict[int, str]] = {}
    for number, place in enumerate(chance.sample(range(count), min(faults, count))):
        plan.setdefault(chance.randrange(warm, seconds - 5), {})[place] = KINDS[number % len(KINDS)]
    return plan


def files_of(folder: Path, count: int) -> list[int]:
    """Descriptors of so many new logs, all open at once."""
    most = max(count + 100, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 100, most))
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    return [os.open(folder / f"slurm-{number + 1}.out", flags, 0o644) for number in range(count)]


def main() -> int:
    """Write until the time is over."""
    folder, count, seconds, faults, warm = Path(sys.argv[1]), *map(int, sys.argv[2:6])
    writer = Writer(folder, files_of(folder, count), plan_of(count, seconds, faults, warm))
    latest, began = 0.0, time.time()
    for number in range(seconds):
        latest = max(latest, writer.second(number, began + number))
    (folder / "lines").write_text(f"{writer.written} {latest:.2f}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""How fast is the catalogue? `python -m tests.detectors.catalogue.throughput` prints it; nothing asserts it.

Processor time, not wall time. The mix: 10 % step lines of Megatron-LM (their share of the bytes is larger), 90 %
lines that say nothing.
"""

import os
import random
import time
from collections.abc import Callable, Sequence

from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.linear import encoded
from detectors.catalogue.matching import matcher
from detectors.catalogue.readings import Reader
from detectors.catalogue.records import Record
from tests.detectors.catalogue.building import Watching, at, context

LINES = 100_000
A_TURN = 20_000
DULL = (
    "Loading shard {0} of 4096 from /data/tokens/part-{1:05d}.bin",
    "[2026-05-01 10:00:00,{1:03d}] [INFO] [loader.py:81:next] prefetched {0} batches, queue depth 8, worker idle",
    "time (ms) | forward-compute: 144.0{0} | backward-compute: 397.4{1} | optimizer: 12.10 | batch-generator: 2.2",
    "rank {0} memory (MB) | allocated: 10857.5625 | max allocated: 26118.2294921875 | reserved: {1}.0",
    "gpu-01:983:1261 [{1}] NCCL INFO Channel {0:02d}/24 : 0[{1}] -> 1[1] via P2P/CUMEM",
)


def step(number: int) -> str:
    """A step line as Megatron-LM prints it, 420 characters."""
    return (
        f" [2026-05-01 10:{number // 60 % 60:02d}:{number % 60:02d}.123456] iteration {number:8d}/  500000 |"
        f" consumed samples: {number * 256:12d} | elapsed time per iteration (ms): 1234.5 | throughput per GPU"
        " (TFLOP/s/GPU): 401.2 | learning rate: 1.500000E-04 | global batch size:   256 | lm loss: 2.104561E+00 |"
        " loss scale: 1.0 | grad norm: 0.412 | number of skipped iterations:   0 | number of nan iterations:   0 |"
    )


def mixed(prefix: str = "") -> list[str]:
    """The mix."""
    chance = random.Random(1)
    return [
        prefix + (step(n // 10) if n % 10 == 0 else chance.choice(DULL).format(chance.randrange(24), n % 8))
        for n in range(LINES)
    ]


def faults() -> list[str]:
    """Nothing but faults, of every kind and from many ranks."""
    examples = [entry.example for entry in catalogue().signatures if entry.is_fault]
    return [f"{n % 512}: {examples[n % len(examples)]}" for n in range(LINES // 10)]


def seconds(work: Callable[[], object]) -> float:
    """Processor time of the faster of two runs."""
    taken = []
    for _ in range(2):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def turns(some: Sequence[Record]) -> None:
    """All detectors over the records, a turn at a time."""
    watching = Watching()
    for start in range(0, len(some), A_TURN):
        watching.see(some[start : start + A_TURN])


def main() -> None:
    """Print the table."""
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, {len(catalogue().signatures)} signatures")
    print("| lines | patterns only | reading | a whole turn |")
    for name, lines in (
        ("10 % steps", mixed()),
        ("the same under srun -l", mixed("37: ")),
        ("only faults", faults()),
    ):
        raw = [encoded(line) for line in lines]
        some = [Record("job.log", 0, line, at(n / 10)) for n, line in enumerate(lines)]
        size = sum(len(line) + 1 for line in raw) / 1e6
        candidates = matcher().candidates
        speeds = [
            seconds(lambda raw=raw, look=candidates: [look(line) for line in raw]),
            seconds(lambda some=some: Reader({}, context()).read(some)),
            seconds(lambda some=some: turns(some)),
        ]
        print(f"| {name} | " + " | ".join(f"{size / speed:.0f} MB/s" for speed in speeds) + " |")


if __name__ == "__main__":
    main()

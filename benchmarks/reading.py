"""How fast are logs read, detected on and stored? `python -m benchmarks.reading`

Processor time of one core, the faster of two runs. The mix: 10 % step lines of Megatron-LM (their share of the
bytes is larger), 90 % lines that say nothing; the same with the label of `srun -l`; and nothing but faults.
*readings*: what each line says, texts of 20,000 lines at hand. *detectors*: all of the catalogue, in turns of one
such text. *file*: opening and reading a log of that text. *all*: file to stored rows as the site's worker does it,
4 MiB a turn, on SQLite. The catalogue by itself: `benchmarks.matching`.
"""

import os
import random
import resource
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.fresh_site import prepare
from benchmarks.machine import machine_line
from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.linear import encoded
from detectors.catalogue.matching import matcher
from detectors.catalogue.readings import Reader
from detectors.catalogue.texts import Lines, Text
from detectors.reading import read_attempt
from detectors.sources.files import FileSource
from detectors.sources.source import Asked, Known, Position, Stream
from schedulers.states import JobState
from tests.detectors.catalogue.building import Watching, at, context
from workloads.models import Attempt, Cluster, Job

LINES = 100_000
A_TURN = 20_000
READ_BYTES = 4_194_304  # the site's own limit of one turn over one log
_NOTHING: Position = {}
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


def texts(raw: Sequence[bytes]) -> list[Lines]:
    """The lines as they come from a file, a turn at a time."""
    made, offset = [], 0
    for start in range(0, len(raw), A_TURN):
        content = b"\n".join(raw[start : start + A_TURN])
        made.append(Lines([Text("job.log", offset, content, at(start / 10))]))
        offset += len(content) + 1
    return made


def turns(some: Sequence[Lines]) -> None:
    """All detectors, a turn at a time."""
    watching = Watching()
    for number, lines in enumerate(some):
        watching.see(lines, number * A_TURN / 10)


def readings(some: Sequence[Lines]) -> None:
    """What each line says."""
    reader = Reader({}, context())
    for lines in some:
        reader.read(lines)


def from_file(path: Path) -> None:
    """Every line of a log, by the product's own source."""
    source, stream, position = FileSource(), Stream(str(path)), _NOTHING
    began_at = datetime.now(UTC) - timedelta(seconds=5)
    asked = Asked((), (str(path.parent),), os.getuid(), (), began_at, ended=False)
    while True:
        portion = source.read(asked, stream, Known(own=position), READ_BYTES, datetime.now(UTC))
        if portion.position is None:
            raise RuntimeError(f"{path} is not read: {portion.trouble}")
        position = portion.position
        if portion.at_end:
            return


def whole(path: Path) -> None:
    """A log to its end, all the way into the database."""
    attempt = _attempt(path)
    while True:
        now = datetime.now(UTC)
        if not read_attempt(attempt, now):
            raise RuntimeError(f"the turn over {path} was not stored")
        attempt = Attempt.objects.select_related("job__cluster").get(pk=attempt.pk)
        if attempt.read_due_at is None or attempt.read_due_at > now:
            return


def _attempt(path: Path) -> Attempt:
    """An attempt that runs and writes to `path`."""
    now = datetime.now(UTC)
    cluster = Cluster.objects.create(name=uuid.uuid4().hex[:12], log_roots=[str(path.parent)])
    job = Job.objects.create(
        cluster=cluster, number=1, name="train", user="trainer", user_id=os.getuid(), stdout=str(path),
        work_dir=str(path.parent), created_at=now, seen_at=now,
    )  # fmt: skip
    attempt = Attempt.objects.create(
        job=job, index=0, heimdall_id=uuid.uuid4(), state=JobState.RUNNING.value, nodes=["gpu-01"],
        started_at=now - timedelta(seconds=5), first_seen_at=now, read_due_at=now, changed_at=now,
    )  # fmt: skip
    return Attempt.objects.select_related("job__cluster").get(pk=attempt.pk)


def main() -> int:
    """Print the table, and what the catalogue takes of memory."""
    memory = _memory()  # before anything else has loaded the catalogue
    folder = Path(prepare())
    print(f"`python -m benchmarks.reading`\n\n{machine_line()}; {len(catalogue().signatures)} signatures.")
    print(f"{memory}\n")
    print("| lines | MB | readings | detectors | file | all |\n|---|--:|--:|--:|--:|--:|")
    for name, lines in (
        ("10 % steps", mixed()),
        ("the same under `srun -l`", mixed("37: ")),
        ("only faults", faults()),
    ):
        print(f"| {name} | {_row(lines, folder / 'job.log')} |", flush=True)
    return 0


def _row(lines: Sequence[str], path: Path) -> str:
    """Megabytes, and the speeds of all ways."""
    raw = [encoded(line) for line in lines]
    some = texts(raw)
    path.write_bytes(b"".join(line + b"\n" for line in raw))
    size = path.stat().st_size / 1e6
    ways: tuple[Callable[[], object], ...] = (
        lambda: readings(some),
        lambda: turns(some),
        lambda: from_file(path),
        lambda: whole(path),
    )
    speeds = [size / seconds(way) for way in ways]
    return " | ".join([f"{size:.1f}", *(f"{speed:.{0 if speed >= 10 else 1}f} MB/s" for speed in speeds)])


def _memory() -> str:
    """How much this process grows by the catalogue; the second number holds the lines themselves as well."""
    before = _resident()
    matcher()
    compiled = _resident() - before
    turns(texts([encoded(line) for line in faults()[:3000]]))
    used = _resident() - before
    return f"Memory: {compiled:.0f} MB with the filters compiled, {used:.0f} MB after every pattern was used."


def _resident() -> float:
    """MB of this process just now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


if __name__ == "__main__":
    sys.exit(main())

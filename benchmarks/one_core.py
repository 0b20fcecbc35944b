"""How soon is a fault seen among many live attempts, when a worker has a core for itself?

`python -m lab.stores python -m benchmarks.one_core [--attempts 50,500,5000] [--seconds 60]`. The clock is processor
time: it goes on by what one worker, its database and the writer of the logs have used, all on one core, and jumps
to the next sweep when nothing is due. So lags are those of a machine that does nothing else, whatever the load is;
beat, broker and waiting for disks are left out. Half the attempts on one core stand for all of them on two.
"""

import argparse
import gc
import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import psutil

from benchmarks.crowd import FAULTS, ages, database, seed, turns
from benchmarks.crowd_writer import Writer, files_of, plan_of
from benchmarks.fresh_site import prepare
from benchmarks.machine import machine_line
from benchmarks.stations import percentile
from detectors.models import Anomaly
from detectors.sweeping import sweep
from detectors.tasks import LONGEST, judge_due

WARM = 20  # seconds; every log is opened for the first time
COLUMNS = (
    "attempts", "lag p50 s", "p95", "max", "faults seen", "logs read p50 s ago", "p95", "max", "turns/s",
    "busy", "of it writer", "of it database", "ms of worker and database per attempt and s", "memory MB",
)  # fmt: skip


@dataclass
class Clock:
    """Processor time as seconds since 1970; `idle`: what was waited."""

    database: psutil.Process
    began: float = field(default_factory=time.time)
    idle: float = 0.0
    writing: float = 0.0
    before: float = 0.0

    def __post_init__(self) -> None:
        self.before = self.spent()

    def of_database(self) -> float:
        """Seconds that the database has used."""
        return float(sum(self.database.cpu_times()[:2]))

    def spent(self) -> float:
        """Seconds used so far."""
        return time.process_time() + self.of_database() - self.before

    def now(self) -> float:
        """The time."""
        return self.began + self.spent() + self.idle


@dataclass
class Crowd:
    """The logs, and up to where they are written: second and number of the file."""

    clock: Clock
    writer: Writer
    second: int = 0
    place: int = 0

    def write(self) -> None:
        """Every line that is due by now."""
        began = time.process_time()
        count = len(self.writer.files)
        until = self.clock.now() - self.clock.began
        while self.second + self.place / count <= until:
            self.writer.line(self.place, self.second)
            self.place += 1
            if self.place == count:
                self.second, self.place = self.second + 1, 0
        self.clock.writing += time.process_time() - began


def run(folder: Path, count: int, seconds: int) -> list[object]:
    """One size; a row of the table."""
    keys = seed(folder, count)
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)  # as in the workers
    clock = Clock(psutil.Process(database()))
    plan = plan_of(count, WARM + seconds, FAULTS, WARM)
    crowd = Crowd(clock, Writer(folder, files_of(folder, count), plan, clock=clock.now))
    seen: dict[tuple[int, str], float] = {}
    at_warm: tuple[float, ...] = ()
    old: list[tuple[float, float, float]] = []
    while (passed := clock.now() - clock.began) < WARM + seconds:
        if passed >= WARM and not at_warm:
            at_warm = (clock.spent(), clock.writing, clock.of_database(), turns())
        if passed >= WARM + len(old) * seconds / 4:
            old.append(ages(datetime.fromtimestamp(clock.now(), UTC)))
        _task(crowd, seen)
    used = [after - before for after, before in zip(
        (clock.spent(), clock.writing, clock.of_database(), turns()), at_warm, strict=True
    )]  # fmt: skip
    lags, missed = _lags(folder, keys, seen)
    told = (
        [round(percentile(lags, 50), 2), round(percentile(lags, 95), 2), round(max(lags), 2)] if lags else ["–"] * 3
    )
    busy, writing, of_database, turned = (value / seconds for value in used)
    memory = psutil.Process().memory_info().rss / 1e6
    return [
        count, *told, f"{len(lags)} of {len(lags) + missed}", *old[len(old) // 2], round(turned), f"{busy:.2f}",
        f"{writing:.2f}", f"{of_database:.2f}", f"{(busy - writing) / count * 1000:.3f}", round(memory),
    ]  # fmt: skip


def _task(crowd: Crowd, seen: dict[tuple[int, str], float]) -> None:
    """What one second brings: a task that sweeps for as long as tasks do, and the pause until the next."""
    clock = crowd.clock
    begins = clock.now()
    crowd.write()
    while clock.now() < begins + LONGEST and sweep(0, datetime.fromtimestamp(clock.now(), UTC)):
        done = clock.now()
        for row in Anomaly.objects.values_list("attempt_id", "kind"):
            seen.setdefault(row, done)
        crowd.write()
    judge_due()
    clock.idle += max(0.0, begins + 1.0 - clock.now())


def _lags(folder: Path, keys: dict[int, int], seen: dict[tuple[int, str], float]) -> tuple[list[float], int]:
    """From the moment of the proving line to the end of the sweep that stored its anomaly; how many had none."""
    lags, missed = [], 0
    for line in (folder / "faults").read_text().splitlines():
        place, kind, at = line.split()
        found = seen.get((keys[int(place)], kind))
        missed += found is None
        lags += [found - float(at)] if found is not None else []
    return lags, missed


def main() -> int:
    """Print a row of the table for each size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.one_core")
    parser.add_argument("--attempts", default="50,500,5000")
    parser.add_argument("--seconds", type=int, default=60)
    asked = parser.parse_args()
    sizes = [int(size) for size in asked.attempts.split(",")]
    if len(sizes) == 1:
        print(f"{machine_line()}\n\n| {' | '.join(COLUMNS)} |\n|{'--:|' * len(COLUMNS)}", flush=True)
    if len(sizes) > 1:  # each in a database of its own
        command = [sys.executable, "-m", "lab.stores", sys.executable, "-m", "benchmarks.one_core"]
        return max(
            subprocess.call([*command, "--attempts", str(size), "--seconds", str(asked.seconds)]) for size in sizes
        )
    folder = Path(prepare()) / "logs"
    folder.mkdir()
    print(f"| {' | '.join(map(str, run(folder, sizes[0], asked.seconds)))} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

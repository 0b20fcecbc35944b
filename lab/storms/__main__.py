"""`python -m lab.storms`: how are many runs by chance lived through, and what came of them?"""

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

from lab.virtual.child import ChildFailed, run

TOGETHER = 12  # runs side by side on one site
MOST_RUNS = 100_000


class Heard:
    """What the runs say: a line each, and the sum of all."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.broken = 0
        self._lock = Lock()

    def take(self, line: str) -> None:
        """One run, as `lab.storms.running` prints it."""
        ran: dict[str, Any] = json.loads(line)
        with self._lock:
            self.counts.update(runs=1, violations=len(ran["violations"]), **{ran["mode"]: 1})
            self.counts.update({name: int(ran[name]) for name in ("commands", "requeues", "kills")})
            sys.stdout.write(
                f"seed {ran['seed']} ({ran['mode']}): {ran['requeues']} restarts, {ran['kills']} kills\n"
            )
            for violation in ran["violations"]:
                sys.stdout.write(f"  VIOLATION {violation}\n")
            sys.stdout.flush()


def main(arguments: Sequence[str]) -> int:
    """0 when nothing was wrong, 1 when anything was, 2 when not every run was lived through."""
    parser = argparse.ArgumentParser(prog="python -m lab.storms", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="how many (1000)")
    parser.add_argument("--first", type=int, default=1, help="seed of the first; each has the next one (1)")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)), help="side by side")
    told = parser.parse_args(arguments)
    if not 1 <= told.runs <= MOST_RUNS or told.processes < 1 or told.first < 0:
        parser.error(f"--runs is from 1 to {MOST_RUNS}, --processes from 1, --first from 0")
    heard = Heard()
    share = -(-told.runs // told.processes)
    starts = range(told.first, told.first + told.runs, share)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(len(starts)) as pool:
        list(
            pool.map(
                lambda first: _part(Path(folder), first, min(share, told.first + told.runs - first), heard), starts
            )
        )
    counts = heard.counts
    sys.stdout.write(", ".join(f"{count} {name}" for name, count in counts.items()) + "\n")
    if counts["runs"] < told.runs:
        return 2
    return int(counts["violations"] > 0)


def _part(folder: Path, first: int, count: int, heard: Heard) -> None:
    own = folder / f"from-{first}"
    own.mkdir()
    try:
        run(own, "lab.storms.running", [str(first), str(count), str(TOGETHER)], heard.take)
    except ChildFailed as error:
        sys.stderr.write(f"{error}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

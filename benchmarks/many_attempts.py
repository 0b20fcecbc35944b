"""How many live attempts does one machine carry, and how soon is a fault seen?

`python -m benchmarks.many_attempts [--attempts 100,1000,10000] [--seconds 60] [--workers 2]`. For each size a
private MariaDB and Redis, a writer with one line a second into the log of each attempt (every fifth a step), Celery
workers and a beat. After 40 s, 60 attempts break at random moments: a crash, a hang that a rank tells, a loss
that is no number. Writer, database, workers and beat share the machine's cores; their shares are told apart.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.machine import machine_line
from lab.stores.stores import Stores

COLUMNS = (
    "attempts", "lag p50 s", "p95", "max", "faults seen", "logs read p50 s ago", "p95", "longest",
    "turns/s", "cores: workers", "database", "beat", "writer", "memory of all workers MB (shared once)",
)  # fmt: skip
PARTS = ("workers", "database", "beat", "writer")


def main() -> int:
    """Print a row of the table for each size; 1 when one of them could not be measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many_attempts")
    parser.add_argument("--attempts", default="100,1000,10000")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    print(f"`python -m benchmarks.many_attempts {' '.join(sys.argv[1:])}`\n\n{machine_line()}\n")
    print(f"| {' | '.join(COLUMNS)} |\n|{'--:|' * len(COLUMNS)}", flush=True)
    for count in map(int, asked.attempts.split(",")):
        with Stores(Path(tempfile.mkdtemp(prefix="rk-stores-"))) as stores:
            told = _run(count, asked.seconds, asked.workers, stores)
        if told is None:
            return 1
        print(_row(told), flush=True)
    return 0


def _run(count: int, seconds: int, workers: int, stores: Stores) -> dict[str, Any] | None:
    """One size, in a process of its own; what it printed."""
    command = [sys.executable, "-m", "benchmarks.crowd", str(count), str(seconds), str(workers)]
    run = subprocess.run(
        command,
        env={**os.environ, **stores.environment},
        stdout=subprocess.PIPE,
        check=False,
        timeout=seconds + 600,
    )
    if run.returncode:
        print(f"{count} attempts could not be measured; see above.", file=sys.stderr)
        return None
    answer: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return answer


def _row(told: Mapping[str, Any]) -> str:
    middle = told["ages"][len(told["ages"]) // 2]
    cells = [
        told["attempts"],
        *(told["lag_p50_p95_max"] or ["–"] * 3),
        f"{told['faults']} of {told['faults'] + told['missed']}",
        *middle,
        told["turns_a_second"],
        *(told["cpu"].get(part, "–") for part in PARTS),
        f"{told['resident_mb']} ({told['proportional_mb']})",
    ]
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    sys.exit(main())

"""How soon do hundreds of open consoles show what has happened, and what does that cost?

`python -m benchmarks.consoles [--consoles 500] [--events 10] [--gap 4] [--page overview]`: MariaDB, Redis, pages
(gunicorn, 2 workers of 4 threads) and sockets (uvicorn, one process) in processes of their own, as in production.
Every console is a real socket and behaves as `static/console/live.js` does: it waits over the spread that the frame
names, asks for its panels with their tags, and is up to date when the event stands in the answer. The clock of an
event starts when it is handed over to be stored. The consoles run in one process of their own, whose share is told.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.machine import machine_line
from lab.stores.stores import Stores

PARTS = ("pages", "sockets", "database", "redis", "consoles")


def main() -> int:
    """Print Markdown; 1 when it could not be measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.consoles")
    parser.add_argument("--consoles", type=int, default=500)
    parser.add_argument("--events", type=int, default=10)
    parser.add_argument("--gap", type=float, default=4.0, help="seconds between two events")
    parser.add_argument("--page", choices=("overview", "job"), default="overview")
    asked = parser.parse_args()
    print(f"`python -m benchmarks.consoles {' '.join(sys.argv[1:])}`\n\n{machine_line()}\n", flush=True)
    with Stores(Path(tempfile.mkdtemp(prefix="rk-stores-"))) as stores:
        run = subprocess.run(
            [sys.executable, "-m", "benchmarks.consoles_site", json.dumps(vars(asked))],
            env={**os.environ, **stores.environment},
            stdout=subprocess.PIPE,
            check=False,
            timeout=asked.events * asked.gap + 300,
        )
    if run.returncode:
        print("It could not be measured; see above.", file=sys.stderr)
        return 1
    _print(json.loads(run.stdout.splitlines()[-1]))
    return 0


def _print(told: dict[str, Any]) -> None:
    print("| from the event to | n | p50 s | p95 s | p99 s | max s |\n|---|--:|--:|--:|--:|--:|")
    for name, row in told["spans"].items():
        print(f"| {name} | {' | '.join(map(str, row))} |")
    print(
        f"\nWithin 2 s (goal: 95 %): **{told['within']:.1%}** of {told['due']} (missed: {told['missed']}). "
        f"Opened in {told['opening']} s. Requests: {told['asked']}, {told['same']} of them unchanged (304), "
        f"{told['failed']} failed.\n"
    )
    print(f"| | {' | '.join(PARTS)} |\n|---|{'--:|' * len(PARTS)}")
    for name in ("ms of a processor per event", "of a processor at rest", "resident MB"):
        print(f"| {name} | {' | '.join(str(told[name][part]) for part in PARTS)} |")


if __name__ == "__main__":
    sys.exit(main())

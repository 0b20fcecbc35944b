"""`python -m lab.storms`: how are many runs by chance lived through, and what came of them?"""

import argparse
import json
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

from lab.storms.keeping import TOGETHER, Sum, read_kept
from lab.virtual.child import ChildFailed, Children, run

MOST_RUNS = 100_000


class Heard:
    """What the sites say: their lines, kept in `file` when there is one, and the sum of all."""

    def __init__(self, file: Path | None) -> None:
        self.sum = Sum()
        self._file = file
        self._lock = Lock()

    def take(self, lines: Sequence[dict[str, Any]], *, keep: bool = True) -> None:
        """All lines of one site that is over."""
        with self._lock:
            self.sum.take(lines)
            if keep and self._file:
                with self._file.open("a") as file:
                    file.write("".join(json.dumps(line) + "\n" for line in lines))
            for line in lines:
                for violation in line.get("violations", ()):
                    sys.stdout.write(f"VIOLATION seed {line['seed']}: {violation}\n")
            first, restarts = lines[-1]["site"], sum(line.get("requeues", 0) for line in lines)
            sys.stdout.write(
                f"seeds {first} to {first + TOGETHER - 1}: {restarts} restarts, "
                f"{sum(lines[-1]['deaths'].values())} deaths\n"
            )
            sys.stdout.flush()


def main(arguments: Sequence[str]) -> int:
    """0 when nothing was wrong, 1 when anything was, 2 when not every run was lived through."""
    parser = argparse.ArgumentParser(prog="python -m lab.storms", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help=f"how many (1000), in whole sites of {TOGETHER}")
    parser.add_argument(
        "--first", type=int, default=0, help="seed of the first; its whole site is lived through (0)"
    )
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)), help="side by side")
    parser.add_argument("--keep", type=Path, help="file of JSON lines; sites that stand in it are not repeated")
    parser.add_argument(
        "--page", type=Path, help="Markdown file that the sum is written to, when all were lived through"
    )
    told = parser.parse_args(arguments)
    if not 1 <= told.runs <= MOST_RUNS or told.processes < 1 or told.first < 0:
        parser.error(f"--runs is from 1 to {MOST_RUNS}, --processes from 1, --first from 0")
    heard, first = Heard(told.keep), told.first - told.first % TOGETHER
    wanted = range(first, told.first + told.runs, TOGETHER)
    for lines in read_kept(told.keep) if told.keep else ():
        if lines[-1]["site"] in wanted and lines[-1]["site"] not in heard.sum.sites:
            heard.take(lines, keep=False)
    left = [site for site in wanted if site not in heard.sum.sites]
    children = Children()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))  # so that no site outlives us
    with ThreadPoolExecutor(told.processes) as pool:
        try:
            list(pool.map(lambda site: _live(site, heard, children), left))
        finally:
            children.end()
    sys.stdout.write(heard.sum.table() + "\n")
    if len(heard.sum.sites) < len(wanted):
        return 2
    if told.page:
        told.page.write_text(heard.sum.page(f"python -m lab.storms --runs {told.runs} --first {first}"))
    return int(bool(heard.sum.violations))


def _live(site: int, heard: Heard, children: Children) -> None:
    if children.ended:
        return
    lines: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="rekindle-storm-") as folder:
        try:
            run(
                Path(folder),
                "lab.storms.running",
                [str(site)],
                lambda line: lines.append(json.loads(line)),
                beside=children,
            )
        except ChildFailed as error:
            sys.stderr.write(f"seeds {site} to {site + TOGETHER - 1}: {error}\n")
            return
    heard.take(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

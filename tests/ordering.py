"""Which file of tests does a process take next, when several share them?

Left alone they begin with the files of most tests and end with those of one or two, which take the longest: first
all of them compute, then all wait for real schedulers, and at last one waits alone. So as many processes as there
are processors begin with files that compute, the others with files that wait, and each with the longest first.
`long_files.txt` says which are long, and which of them wait.
"""

import os
import re
from collections.abc import Mapping, Sized
from pathlib import Path
from typing import NamedTuple

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

ROOT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_name("long_files.txt")
STARTS = re.compile(r"^pytestmark = .*mark\.(?:slurm|e2e)", re.MULTILINE)


class Long(NamedTuple):
    """What is known of a file: seconds on a quiet machine, and whether it waits most of them."""

    seconds: float = 0.0
    waits: bool = False


STARTER = Long(30.0, waits=True)


def known_files() -> dict[str, Long]:
    """By path below the project's folder: those of the list, and whatever starts a scheduler or a site besides."""
    files = {str(path.relative_to(ROOT)): path.read_text() for path in (ROOT / "tests").rglob("test_*.py")}
    return {path: STARTER for path, text in files.items() if STARTS.search(text)} | long_files()


def long_files() -> dict[str, Long]:
    """The list; a line holds seconds, `waits` or `works`, and the path."""
    lines = [line.split() for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    return {path: Long(float(seconds), kind == "waits") for seconds, kind, path in lines}


def waiters(processes: int) -> int:
    """How many of them begin with files that wait."""
    return max(1, processes - (os.cpu_count() or 1))


def next_of(queue: Mapping[str, Sized], waits: bool, known: Mapping[str, Long]) -> str:
    """What a process takes that shall wait, or not: of its kind the longest, and of two the one of more tests."""

    def order(path: str) -> tuple[bool, float, int]:
        of = known.get(path, Long())
        return of.waits == waits, of.seconds, len(queue[path])

    return max(queue, key=order)


class LongFirst(LoadFileScheduling):
    """Whole files to processes, the longest first, and to some of the processes those that wait."""

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        self._known = known_files()

    def _assign_work_unit(self, node: WorkerController) -> None:
        waits = self.nodes.index(node) < waiters(len(self.nodes))
        self.workqueue.move_to_end(next_of(self.workqueue, waits, self._known), last=False)
        super()._assign_work_unit(node)

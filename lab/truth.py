"""What was really done, to which job, when? A truth file: one JSON object a line, which the product never reads.

It is written by whoever does the deed, at the moment of the deed: the stand-in for a training job on a real
machine, the simulated cluster in virtual time, the lab itself for what it does from outside. A case without a line
here was not put on, and its result counts neither as found nor as missed.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Injected:
    """One deed. `job` is the scheduler's number; `nodes` and `ranks` those that were struck; `at` epoch seconds."""

    case: str
    job: int
    attempt: int
    what: str
    at: float
    nodes: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    step: int | None = None


def note(path: Path, injected: Injected) -> None:
    """Put one deed at the end of the truth file. Many processes may write at once: a line is one write."""
    line = json.dumps(asdict(injected)) + "\n"
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def read(paths: Iterable[Path]) -> list[Injected]:
    """Every deed in these files, in the order of their times; a missing file holds none."""
    found = []
    for path in paths:
        if path.exists():
            found += [_read(line) for line in path.read_text().splitlines() if line]
    return sorted(found, key=lambda one: one.at)


def _read(line: str) -> Injected:
    told = json.loads(line)
    return Injected(**{**told, "nodes": tuple(told["nodes"]), "ranks": tuple(told["ranks"])})

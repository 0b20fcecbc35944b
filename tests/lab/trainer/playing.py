"""How does a test run the stand-in: four ranks of its local launcher, tiny steps?"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.truth import Injected, read

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 120  # in which every run must have ended
_STEP = re.compile(r"^step (\d+) \| loss (\S+) \| (\S+) s/it$", re.MULTILINE)


@dataclass(frozen=True)
class Played:
    """How a run ended, and what it wrote."""

    code: int
    out: str
    err: str
    deeds: list[Injected]

    @property
    def steps(self) -> list[int]:
        """The steps that were printed."""
        return [int(number) for number, _, _ in _STEP.findall(self.out)]

    @property
    def seconds(self) -> dict[int, float]:
        """How long each of them took."""
        return {int(number): float(seconds) for number, _, seconds in _STEP.findall(self.out)}

    @property
    def losses(self) -> dict[int, str]:
        """The loss of each."""
        return {int(number): loss for number, loss, _ in _STEP.findall(self.out)}


def command(folder: Path, orders: Sequence[Mapping[str, Any]], *words: str) -> list[str]:
    """The launcher with four ranks on two hosts, eight short steps, a checkpoint after each third."""
    launcher = [sys.executable, "-m", "lab.trainer", "local", "--ranks", "4", "--hosts", "gpu-01,gpu-02"]
    training = ["--folder", str(folder / "saved"), "--steps", "8", "--step-seconds", "0.01"]
    training += ["--checkpoint-every", "3", "--dialect", "plain", "--timeout-seconds", "5"]
    told = ["--truth", str(folder / "truth"), "--case", "a case", "--faults", json.dumps(list(orders))]
    return [*launcher, *training, *told, *words]


def play(folder: Path, orders: Sequence[Mapping[str, Any]], *words: str) -> Played:
    """Run it to its end."""
    folder.mkdir(exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "LAB_"))}
    run = subprocess.run(
        command(folder, orders, *words),
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return Played(run.returncode, run.stdout, run.stderr, read([folder / "truth"]))


def processes_of(folder: Path) -> list[int]:
    """The processes, zombies aside, that have this folder among their words."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and str(folder).encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found

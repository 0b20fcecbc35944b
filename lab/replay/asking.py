"""Are all verdicts that a run of the lab has kept the same when they are computed again, elsewhere?"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.replay.verdict import FOLDER

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 1800
HASH_SEEDS = (1, 2)  # whichever the run had, one of them is another


class ReplayFailed(RuntimeError):
    """The process that computes again ended badly; the sentence quotes its last words."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of it. `different`: verdicts that were not the same on each of the hash seeds, and where."""

    n: int
    different: tuple[str, ...]
    hash_seeds: tuple[int, ...]

    @property
    def identical(self) -> int:
        """How many were the same to the byte everywhere."""
        return self.n - len(self.different)

    def sentence(self) -> str:
        """For the card."""
        where = f" Not so: {'; '.join(self.different[:20])}." if self.different else ""
        return (
            f"Replay: {self.identical} of {self.n} verdicts identical, computed again from their stored inputs in"
            f" processes without a database, on hash seeds {' and '.join(map(str, self.hash_seeds))}.{where}"
        )


def replay(files: Sequence[Path]) -> Replay:
    """Compute everything in `files` again, once for each hash seed. Raises `ReplayFailed`."""
    told = [_ask(files, seed) for seed in HASH_SEEDS]
    different = dict.fromkeys(line for _n, lines in told for line in lines)
    return Replay(told[0][0], tuple(different), HASH_SEEDS)


def kept_in(folder: Path) -> list[Path]:
    """The files that the processes of a run have left in its folder."""
    return sorted(folder.glob(f"**/{FOLDER}/*.jsonl"))


def _ask(files: Sequence[Path], seed: int) -> tuple[int, list[str]]:
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    done = subprocess.run(
        [sys.executable, "-m", "lab.replay", *map(str, files)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["without a word"]
        raise ReplayFailed(f"the process of lab.replay ended with status {done.returncode}: {last[0][:500]}")
    told = json.loads(done.stdout)
    return int(told["n"]), list(told["different"])

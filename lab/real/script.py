"""How is the job of a case submitted? A batch script and words for sbatch, neither of which tells what will happen.

What the product can read of a job (its name, comment, paths, partition) carries a number, never the case's name;
the truth file lies elsewhere, and the trainer writes the same number into it.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.cases.case import Case, Sort
from lab.parts.running import PYTHON, ROOT
from lab.parts.training import OPT_IN
from lab.truth import Injected

TRAINING: Mapping[str, Any] = {"steps": 40, "step_seconds": 0.3, "checkpoint_every": 5}
"""A fault's job has to complete after it came back, within a minute."""
ENDLESS = 100_000  # steps of a trap's job: it runs as long as it is watched
STEPS_UNTIL_LOST = (
    150  # what a job needs, to be still there when the scheduler calls a node down after half a minute
)
NODE_PLACE = re.compile(r"node:(\d+)")


def batch_script(case: Case, tag: str, nodes: Sequence[str], *, folder: Path, truth: Path, port: int) -> str:
    """The script. `nodes`: of the case's partition; `folder` keeps the checkpoints; an attempt takes the port
    `port` + its number."""
    script = case.slurm
    if script is None:
        raise ValueError(f"{case.name} has no script for a real Slurm.")
    options = {**TRAINING, "steps": _steps(case), **script.training}
    words = [PYTHON, "-m", "lab.trainer", "--folder", str(folder), "--truth", str(truth), "--case", tag]
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        words += [option] if value is True else [option, str(value)]
    words += ["--faults", json.dumps([_order(order, nodes) for order in script.orders])]
    command = f"{shlex.join(words)} --port $(({port} + ${{SLURM_RESTART_COUNT:-0}}))"
    return f"#!/bin/sh\nexport PYTHONPATH={shlex.quote(str(ROOT))}\nexec srun --kill-on-bad-exit=1 {command}\n"


def _steps(case: Case) -> int:
    if case.sort is Sort.TRAP:
        return ENDLESS
    lost = case.slurm is not None and any(act.do == "slurmd_kill" for act in case.slurm.acts)
    return STEPS_UNTIL_LOST if lost else int(TRAINING["steps"])


def _order(order: Mapping[str, Any], nodes: Sequence[str]) -> dict[str, Any]:
    """`"host": "node:1"` means the second node of the case's partition, whatever its name is."""
    place = NODE_PLACE.fullmatch(str(order.get("host", "")))
    return {**order, "host": nodes[int(place.group(1))]} if place else dict(order)


def sbatch_words(case: Case, tag: str, place: int, partition: str) -> list[str]:
    """Words for sbatch; those of the case come last and win."""
    script = case.slurm
    if script is None:
        raise ValueError(f"{case.name} has no script for a real Slurm.")
    words = [f"-p{partition}", f"-N{script.nodes}", "--ntasks-per-node=1", "--exclusive", f"-Jtrain-{tag}-{place}"]
    return [*words, f"--comment={json.dumps(OPT_IN)}", "-otrain_%j.log", *script.sbatch]


def named(deeds: Sequence[Injected], case: Case) -> tuple[Injected, ...]:
    """The deeds with the name of the case in the place of its number."""
    return tuple(
        Injected(case.name, one.job, one.attempt, one.what, one.at, one.nodes, one.ranks, one.step) for one in deeds
    )

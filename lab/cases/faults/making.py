"""How is a fault written? Its script in the simulated cluster, its script on a real Slurm, and what is right."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lab.cases.case import Act, Case, OnSlurm, Simulated, Sort, Truth
from lab.simulate.demo import opt_in
from lab.simulate.play import Fault, Play
from lab.simulate.settings import Settings

COMMENT = opt_in(Settings().cluster_name)
STRIKE = 28  # step: the rhythm is known (20 steps), and the checkpoint of step 20 is 8 steps old
SECONDS = 300.0  # virtual: strike after about 160, advice, and the next attempt
AGAIN_SECONDS = 520.0  # until the fault has struck a second time and was judged
SILENCE_SECONDS = 480.0
SLURM_STEP = 12  # of a job on a real Slurm that saves at 5, 10, …


def names(prefix: str, count: int) -> tuple[str, ...]:
    """Node names of a cluster."""
    return tuple(f"{prefix}{number:0{len(str(count))}d}" for number in range(1, count + 1))


def job(*faults: Fault, **play: Any) -> Play:
    """Two nodes, a step each 5 s, a checkpoint each 10 steps; without end unless it breaks."""
    usual = Play(name="train", nodes=2, steps=100_000, step_seconds=5.0, startup_seconds=20.0, comment=COMMENT)
    return replace(usual, faults=faults, **play)


def text(name: str, step: int = STRIKE, **more: Any) -> Fault:
    """The text is printed, then the job ends with exit code 1 unless `more` says otherwise; in attempt 0 alone."""
    return replace(Fault("text", step=step, attempt=0, node=1, text=name), **more)


def told_by_others(name: str, step: int, *, node: int, gpu: int, exit_code: int) -> tuple[Fault, Fault]:
    """A text that tells itself how the tasks ended, as it was not the struck one that ended first."""
    end = Fault("silent_exit", step=step, attempt=0, node=node, gpu=gpu, exit_code=exit_code)
    return text(name, step, node=node, gpu=gpu, ends="goes_on"), end


def simulated(*jobs: Play, seconds: float = SECONDS, acts: tuple[Act, ...] = (), **settings: Any) -> Simulated:
    """All jobs are submitted at the start."""
    return Simulated(tuple((0.0, one) for one in jobs), seconds, acts, settings)


def order(kind: str, **more: Any) -> Mapping[str, Any]:
    """An order to the trainer, for rank 1 in its usual step unless `more` says otherwise."""
    whom = {} if {"rank", "ranks", "host", "all"} & set(more) else {"rank": 1}
    return {"kind": kind, "step": SLURM_STEP, **whom, **more}


def on_slurm(*orders: Mapping[str, Any], seconds: float = 90.0, **more: Any) -> OnSlurm:
    """A job of two nodes with a rank each, on a real Slurm."""
    return OnSlurm(orders=orders, seconds=seconds, **more)


def fault(group: str, name: str, says: str, truth: Truth, script: Simulated, **more: Any) -> Case:
    """A case in which something is broken."""
    return Case(name, Sort.FAULT, group, says, truth, script, **more)

"""How is a trap written? Its script, and always the same truth: nothing is to be done."""

from dataclasses import replace
from typing import Any

from lab.cases.case import NO_KIND, Act, Case, Did, OnSlurm, Simulated, Sort, Truth
from lab.simulate.demo import opt_in
from lab.simulate.play import Fault, Play
from lab.simulate.settings import Settings

GROUP = "trap"
COMMENT = opt_in(Settings().cluster_name)
"""The job asks to be recovered: only then can a false action be carried out."""


def job(*faults: Fault, **play: Any) -> Play:
    """Two nodes, a step each 5 s, a checkpoint each 10 steps; two minutes of silence may be a hang."""
    usual = Play(name="train", nodes=2, steps=100_000, step_seconds=5.0, startup_seconds=20.0, comment=COMMENT)
    return replace(usual, faults=faults, **play)


def speaks(text: str, step: int = 0, **more: Any) -> Fault:
    """The text is printed before step `step`, and the job goes on."""
    return Fault("text", step=step, text=text, ends="goes_on", **more)


def prints(text: str, pace: float = 0.1) -> dict[str, Any]:
    """An order to the trainer: the text before step 20. On a real Slurm limits are lower, and so is its pace."""
    return {"kind": "text", "text": text, "step": 20, "rank": 0, "ends": "goes_on", "pace": pace}


def simulated(*jobs: Play, seconds: float, acts: tuple[Act, ...] = (), **settings: Any) -> Simulated:
    """All jobs are submitted at the start."""
    return Simulated(tuple((0.0, one) for one in jobs), seconds, acts, settings)


def trap(
    name: str,
    says: str,
    why: str,
    script: Simulated,
    *,
    slurm: OnSlurm | None = None,
    ask: bool = False,
    unasked: bool = False,
    **more: Any,
) -> Case:
    """A case in which nothing is to be done; with `ask` a person may be asked. `unasked`: advice is for nobody."""
    actions = (Did.NONE, Did.ASK) if ask else (Did.NONE,)
    truth = Truth(NO_KIND, (), False, actions, why, unasked=unasked)
    return Case(name, Sort.TRAP, GROUP, says, truth, script, slurm, **more)

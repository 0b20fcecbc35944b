"""Cases and plays of these tests, short in virtual time."""

from typing import Any

from lab.cases.case import Act, Case, Did, Simulated, Sort, Truth
from lab.simulate.play import Fault, Play

ECC = Fault("ecc", step=60, attempt=0, node=1)
BROKEN_GPU = Truth("crash", ("hardware.gpu",), True, (Did.RESTART_EXCLUDE,), "the GPU is broken")
NOTHING = Truth("none", (), False, (Did.NONE,), "nothing is wrong")


def play(*faults: Fault, **more: Any) -> Play:
    """Three nodes, two steps a second."""
    return Play(**{"nodes": 3, "steps": 100_000, "faults": faults, **more})


def fault(name: str, *jobs: Play, seconds: float = 90.0, **script: Any) -> Case:
    """A broken GPU, or what the jobs say."""
    jobs = jobs or (play(ECC),)
    simulated = Simulated(tuple((1.0, one) for one in jobs), seconds, **script)
    return Case(name, Sort.FAULT, "hardware", "a GPU breaks", BROKEN_GPU, simulated)


def trap(name: str, *acts: Act, seconds: float = 90.0) -> Case:
    """A healthy job, and what is done to it."""
    return Case(name, Sort.TRAP, "trap", "nothing breaks", NOTHING, Simulated(((1.0, play()),), seconds, acts))

"""Cases as tests need them: a name that must not leak, a truth that is not asked."""

from typing import Any

from lab.cases.case import Case, Did, OnSlurm, Sort, Truth

NAME = "telltale-name"
TRUTH = Truth("crash", ("unknown",), False, (Did.RESTART,), "a test")


def a_case(name: str = NAME, sort: Sort = Sort.FAULT, **on_slurm: Any) -> Case:
    """A case whose script for Slurm is `on_slurm`."""
    return Case(name, sort, "signal", "a test", TRUTH, slurm=OnSlurm(**on_slurm))

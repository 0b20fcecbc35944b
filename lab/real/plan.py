"""Which nodes does each case get? Its own, never used before: no case disturbs another, none shares a history."""

from collections.abc import Sequence
from dataclasses import dataclass

from lab.cases.case import Case, Sort
from lab.real.outside import ALONE
from lab.slurm.layout import MOST_NODES, Partition

SPARE = 2  # nodes of a case's partition beside those its job needs: where it goes without a broken one


@dataclass(frozen=True, slots=True)
class Planned:
    """A case, its partition, and the number that stands for its name. `alone`: while nothing else runs."""

    case: Case
    tag: str
    partition: Partition
    alone: bool

    @property
    def nodes(self) -> int:
        """Nodes that its jobs may use at the same time."""
        return self.case.slurm.nodes if self.case.slurm else 0


def rounds(cases: Sequence[Case]) -> list[list[Planned]]:
    """Cases with a script for Slurm, in rounds of one private Slurm each; those that take longest first.

    A trap is watched for all of its time, a fault until nothing more can come: mostly a third of it.

    Several jobs of a case share its nodes: one runs after the other, on the same ones.
    """
    longest = sorted((case for case in cases if case.slurm), key=_usual_seconds, reverse=True)
    planned: list[list[Planned]] = [[]]
    used = 0
    for place, case in enumerate(longest, 1):
        script = case.slurm
        if script is None:
            continue
        wanted = script.nodes + (SPARE if script.jobs == 1 else SPARE - 1)
        if used + wanted > MOST_NODES:
            planned.append([])
            used = 0
        nodes = tuple(f"n{number:02d}" for number in range(used + 1, used + wanted + 1))
        used += wanted
        alone = any(act.do in ALONE for act in script.acts)
        tag = f"{place:02d}"
        planned[-1].append(Planned(case, tag, Partition(f"p{tag}", nodes), alone))
    return planned if planned[0] else []


def _usual_seconds(case: Case) -> float:
    whole = case.slurm.seconds if case.slurm else 0.0
    return whole if case.sort is Sort.TRAP else whole / 3

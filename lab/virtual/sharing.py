"""Which process gets which cases, so that all are over at about the same time?"""

from collections.abc import Sequence

from lab.cases.case import Case

SECOND = 3.0  # milliseconds that a virtual second costs, whatever happens in it
CASE_SECOND = 2.5  # and for each case
JOB_NODE_SECOND = 0.02  # and for each node of its jobs
ROUNDS = 40


def shares(cases: Sequence[Case], processes: int) -> list[list[Case]]:
    """At most `processes` lists, none of them empty; the same for the same cases.

    The long ones stay together: a virtual second of one case costs nearly as much as one of many.
    """
    ordered = sorted(cases, key=lambda case: (-_seconds(case), case.name))
    low, high = 0.0, _cost(ordered)
    for _ in range(ROUNDS):
        most = (low + high) / 2
        low, high = (low, most) if len(_cut(ordered, most)) <= processes else (most, high)
    return _cut(ordered, high)


def _cut(cases: Sequence[Case], most: float) -> list[list[Case]]:
    """One list after the other, each as long as its cost allows."""
    parts: list[list[Case]] = []
    for case in cases:
        if parts and _cost([*parts[-1], case]) <= most:
            parts[-1].append(case)
        else:
            parts.append([case])
    return parts


def _cost(cases: Sequence[Case]) -> float:
    longest = max((_seconds(case) for case in cases), default=0.0)
    return SECOND * longest + sum(_seconds(case) * (CASE_SECOND + JOB_NODE_SECOND * _nodes(case)) for case in cases)


def _seconds(case: Case) -> float:
    return case.simulated.seconds if case.simulated else 0.0


def _nodes(case: Case) -> int:
    return sum(play.nodes for _, play in case.simulated.jobs) if case.simulated else 0

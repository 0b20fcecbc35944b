"""Which attempt does a line of a store belong to? (decisions 8)

A line belongs to the attempt whose job and time, from the start to 300 s after the end, fit; with a label for the
restart count that must fit, too. A line of a node belongs to the attempt that ran there then. What fits several
belongs to none and is counted.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from detectors.stores.store import SECOND, Labels, Line

GRACE = 300  # seconds after the end in which lines of a job still arrive


@dataclass(frozen=True)
class Run:
    """An attempt as far as lines are assigned to it. `jobs`: what its job is called; times in ns since 1970."""

    attempt: int
    index: int
    jobs: tuple[str, ...]
    nodes: frozenset[str]
    start: int
    end: int | None

    def fits(self, ns: int, grace: int) -> bool:
        """Whether it ran at that moment, or ended less than `grace` seconds before."""
        return self.start <= ns and (self.end is None or ns <= self.end + grace * SECOND)


@dataclass
class Assigned:
    """Lines by attempt; `waiting`: the attempt may not be listed yet; `settled`: everything but those.

    `doubted`: attempts that a line fits beside others.
    """

    lines: dict[int, list[Line]] = field(default_factory=lambda: defaultdict(list))
    waiting: list[Line] = field(default_factory=list)
    settled: list[Line] = field(default_factory=list)
    nobody: int = 0
    several: int = 0
    doubted: set[int] = field(default_factory=set)


class Runs:
    """The attempts of a cluster by job and by node."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._by_job: dict[str, list[Run]] = defaultdict(list)
        self._by_node: dict[str, list[Run]] = defaultdict(list)
        for run in runs:
            for job in run.jobs:
                self._by_job[job].append(run)
            for node in run.nodes:
                self._by_node[node].append(run)

    def of_job_line(self, line: Line, labels: Labels) -> list[Run]:
        """Every attempt that the line of a job fits."""
        restart = line.labels.get(labels.restart, "") if labels.restart else ""
        return [
            run
            for run in self._by_job.get(line.labels.get(labels.job_id, ""), ())
            if run.fits(line.ns, GRACE) and (not restart or restart == str(run.index))
        ]

    def of_node_line(self, line: Line, labels: Labels) -> list[Run]:
        """Every attempt that ran on the line's node at its time."""
        node = line.labels.get(labels.node, "") if labels.node else ""
        found = self._by_node.get(node) or self._by_node.get(node.partition(".")[0]) or []
        return [run for run in found if run.fits(line.ns, 0)]


def assign(
    lines: Sequence[Line], runs: Runs, labels: Labels, *, of_nodes: bool, listed_until: int, oldest: int
) -> Assigned:
    """Assign lines of one selector.

    A line after the scheduler's last listing (`listed_until`, ns) may be an attempt's that is not listed yet, and
    waits until it is older than `oldest` (ns).
    """
    fitting = runs.of_node_line if of_nodes else runs.of_job_line
    found = Assigned()
    for line in lines:
        fits = fitting(line, labels)
        if not fits and oldest <= line.ns and line.ns > listed_until and not of_nodes:
            found.waiting.append(line)
            continue
        found.settled.append(line)
        if len(fits) == 1:
            found.lines[fits[0].attempt].append(line)
        found.nobody += not fits
        if len(fits) > 1:
            found.several += 1
            found.doubted.update(run.attempt for run in fits)
    return found


def safe_rank(labels: Labels, line: Line) -> int | None:
    """The rank that the line's label tells; `None` when it tells none."""
    text = line.labels.get(labels.rank, "") if labels.rank else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 7 else None


def safe_host(labels: Labels, line: Line, nodes: Sequence[str]) -> str | None:
    """The node of the attempt that the line's label tells: never one of another job."""
    text = line.labels.get(labels.node, "") if labels.node else ""
    return next((name for name in (text, text.partition(".")[0]) if name in nodes), None)


def labels_of(mapping: Mapping[str, str]) -> Labels:
    """The stored mapping; what it leaves out is not read."""
    return Labels(**{"job_id": "job_id", **mapping})

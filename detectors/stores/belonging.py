"""Which attempt does a line of a store belong to? (decisions 8)

A line belongs to the attempt whose job and time, from the start to 300 s after the end, fit; with a label for the
restart count that must fit, too. Without one, after a requeue, two facts tell attempts apart (docs/decisions 0011):
the line's node is one that only the other attempt had; or the line begins with a stamp of a time at which the next
attempt ran already, as a requeued job starts only when nothing of it runs any more. A line of a node belongs to the
attempt that ran there then. What fits several belongs to none and is counted.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from detectors.stores.store import SECOND, Labels, Line
from detectors.stores.written import written_at

GRACE = 300  # seconds after the end in which lines of a job still arrive
CLOCKS = 5  # seconds by which the clocks of a node, a store and the scheduler may differ


@dataclass(frozen=True)
class Run:
    """An attempt as far as lines are assigned to it. `jobs`: what its job is called; times in ns since 1970.

    `elsewhere`: nodes that other attempts of its job had, and not this one. `offsets`: the zones, in seconds, in
    which it prints each form of stamp, as far as its lines have shown.
    """

    attempt: int
    index: int
    jobs: tuple[str, ...]
    nodes: frozenset[str]
    start: int
    end: int | None
    elsewhere: frozenset[str] = frozenset()
    offsets: Mapping[str, float] = field(default_factory=dict)

    def fits(self, ns: int, grace: int, early: int = 0) -> bool:
        """Whether it ran at that moment, ended less than `grace` seconds before, or starts within `early`."""
        return self.start - early * SECOND <= ns and (self.end is None or ns <= self.end + grace * SECOND)

    def over(self, ns: int) -> bool:
        """Whether it has ended before that moment, whatever the clocks."""
        return self.end is not None and self.end + CLOCKS * SECOND < ns


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
        """Every attempt that may have written the line of a job."""
        restart = line.labels.get(labels.restart, "") if labels.restart else ""
        node = line.labels.get(labels.node, "") if labels.node else ""
        fits = [
            run
            for run in self._by_job.get(line.labels.get(labels.job_id, ""), ())
            if run.fits(line.ns, GRACE, CLOCKS)
            and (not restart or restart == str(run.index))
            and not run.elsewhere & {node, node.partition(".")[0]}
        ]
        return fits if len(fits) < 2 else _without_ended(line, fits)

    def of_node_line(self, line: Line, labels: Labels) -> list[Run]:
        """Every attempt that ran on the line's node at its time."""
        node = line.labels.get(labels.node, "") if labels.node else ""
        found = self._by_node.get(node) or self._by_node.get(node.partition(".")[0]) or []
        return [run for run in found if run.fits(line.ns, 0)]


def _without_ended(line: Line, fits: Sequence[Run]) -> list[Run]:
    """Those without which were over when the line was written, by its own stamp.

    Only that way round: a stamp that is too old for an attempt may stand in what it prints of an older log.
    """
    ordered = sorted(fits, key=lambda run: run.start)
    kept = []
    for run, after in pairwise(ordered):
        written = written_at(line, run.offsets)
        ahead = written is not None and written > line.ns + CLOCKS * SECOND  # no time of writing
        if written is None or ahead or written <= after.start + CLOCKS * SECOND:
            kept.append(run)
    return [*kept, ordered[-1]]


def assign(
    lines: Sequence[Line], runs: Runs, labels: Labels, *, of_nodes: bool, listed_until: int, oldest: int
) -> Assigned:
    """Assign lines of one selector.

    A line after the scheduler's last listing (`listed_until`, ns) that no attempt fits, or only one that has ended,
    may be an attempt's that is not listed yet, and waits until it is older than `oldest` (ns).
    """
    fitting = runs.of_node_line if of_nodes else runs.of_job_line
    found = Assigned()
    for line in lines:
        fits = fitting(line, labels)
        unlisted = not of_nodes and line.ns > max(listed_until, oldest - 1)
        if unlisted and all(run.over(line.ns) for run in fits):
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

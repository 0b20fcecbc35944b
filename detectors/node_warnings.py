"""Has the scheduler taken a node out of use for its hardware while a job trains on it? An early warning.

One query for a batch of attempts. Only what a program wrote counts, and only for hardware: an administrator's drain
is a wish (traps 12 and 13), and nothing is ever restarted for a flag (decisions 21).
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from detectors.attribution.facts import NodeFacts
from detectors.attribution.told import STREAM, reason_told
from detectors.catalogue.health import BASIS
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.records import Evidence, Finding
from detectors.catalogue.role import Role
from schedulers.states import JobState
from workloads.models import Attempt, Node

KEY = "drained:"
MOST = 5000  # nodes out of use looked through, those with the newest reasons first
MOST_OF_ONE = 20  # warnings that one attempt keeps: a flag that flaps must not fill its page
OUT = frozenset({"drain", "drained", "draining", "down", "error", "fail", "failing", "not_responding"})


class NodeWarnings:
    """The nodes of some attempts that are out of use for their hardware, as they stand now."""

    def __init__(self, attempts: Sequence[Attempt] = ()) -> None:
        clusters = {one.job.cluster_id for one in attempts if trains(one)}
        self._nodes: dict[tuple[int, str], NodeFacts] = {}
        if not clusters:
            return
        rows = Node.objects.filter(cluster__in=clusters, available=False, reason_at__isnull=False)
        for row in rows.exclude(reason="").order_by("-reason_at", "pk")[:MOST]:
            states = tuple(row.state.lower().split("+"))
            if OUT & set(states):
                self._nodes[row.cluster_id, row.name] = NodeFacts(
                    row.name, states, row.reason, row.reason_at, row.reason_by, row.booted_at
                )

    def of(self, attempt: Attempt, known: frozenset[str]) -> tuple[Finding, ...]:
        """Warnings that the attempt does not have yet; `known` are the keys of its anomalies."""
        room = MOST_OF_ONE - sum(key.startswith(KEY) for key in known)
        fresh = [found for found in self._open(attempt) if found.key not in known]
        return tuple(fresh[: max(room, 0)])

    def over(self, attempt: Attempt, warned: frozenset[str]) -> tuple[str, ...]:
        """Keys of open warnings whose node is back in use, or has another reason."""
        mine = {key for key in warned if key.startswith(KEY)}
        if not mine or not trains(attempt):
            return ()
        return tuple(sorted(mine - {found.key for found in self._open(attempt)}))

    def _open(self, attempt: Attempt) -> Iterable[Finding]:
        if not self._nodes or not trains(attempt):
            return
        for name in sorted(attempt.nodes):
            node = self._nodes.get((attempt.job.cluster_id, name))
            found = _finding(node, attempt.started_at) if node and attempt.started_at else None
            if found is not None:
                yield found


def trains(attempt: Attempt) -> bool:
    """Whether it runs, so that a warning about its nodes comes early."""
    return JobState(attempt.state) is JobState.RUNNING and attempt.started_at is not None


def _finding(node: NodeFacts, started_at: datetime) -> Finding | None:
    """A reason given since the attempt began, by a program, for hardware of today's machine (trap 14)."""
    told = reason_told(node)
    if told is None or told.role is not Role.ROOT or told.happened_at < started_at:
        return None
    if node.booted_at is not None and node.booted_at > told.happened_at:
        return None
    sentence = f"{told.sentence} ({'+'.join(node.states)}); its job trains on"
    return Finding(
        key=f"{KEY}{node.name}:{told.happened_at.timestamp():.0f}",
        kind=AnomalyKind.EARLY_WARNING,
        sentence=sentence,
        happened_at=told.happened_at,
        basis=BASIS,
        signature=told.signature,
        layer=told.layer,
        role=Role.ROOT,
        fingerprint=told.fingerprint,
        nodes=(node.name,),
        evidence=(Evidence(f"{STREAM}{node.name}", 0, told.evidence[0].line, told.happened_at, node.name),),
        confidence=told.confidence,
    )

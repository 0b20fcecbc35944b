"""What do others than the job tell about its nodes, and does it count? Health events and the scheduler's reasons.

They join a failure from 10 minutes before the last progress (or the end) to 5 minutes after the end, on the
attempt's own nodes (attribution section 6.2, Meta's rule). What an administrator writes is a wish, never evidence.
"""

import re
from dataclasses import dataclass
from datetime import timedelta

from detectors.attribution.classes import EXCLUDE
from detectors.attribution.facts import AttemptFacts, Facts, NodeFacts, Quote, Symptom
from detectors.catalogue.health import BASIS, layer_of
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.metric_signals import SIGNALS
from detectors.catalogue.role import Role

BEFORE = timedelta(minutes=10)
AFTER = timedelta(minutes=5)
LATE = timedelta(seconds=60)  # a checker looks once in a while: its clock starts later than the fault
WATCHERS = frozenset({"", "slurm", "root"})
"""By whom a reason is set that no person wrote: the scheduler, its node programs and health checks run as these."""
STREAM = "scheduler: node "
EVENTS = "health event: "
METRICS = "metric: "
KEY = "node:"
SLOWING = frozenset(one.id for one in SIGNALS.values() if one.slows)


@dataclass(frozen=True)
class Reason:
    """A row: what a reason that a program gives for taking a node out of use stands for."""

    pattern: re.Pattern[str]
    signature: str
    layer: Layer | None  # `None`: told by the words of the reason
    role: Role
    confidence: float


def _reason(pattern: str, signature: str, layer: Layer | None, role: Role, confidence: float) -> Reason:
    return Reason(re.compile(pattern, re.IGNORECASE), signature, layer, role, confidence)


REASONS: tuple[Reason, ...] = (
    # What follows from a job that cannot be killed is no cause of its end (trap 19).
    _reason(
        r"\A(?:Kill task failed|Epilog error|Duplicate jobid)", "slurm.epilogue", Layer.UNKNOWN, Role.CONFIRM, 0.5
    ),
    _reason(r"\ANode unexpectedly rebooted", "slurm.reason_down", Layer.HARDWARE_HOST, Role.ROOT, 0.9),
    _reason(r"\Agres/gpu count ", "slurm.reason_down", Layer.HARDWARE_GPU, Role.ROOT, 0.85),
    _reason(
        r"\A(?:Not responding|Low RealMemory|Prolog error|batch job complete failure|ResumeTimeout reached)",
        "slurm.reason_down",
        Layer.HARDWARE_HOST,
        Role.ROOT,
        0.75,
    ),
    _reason(
        r"\A(?:NHC\b|Node Health Check|health[ _-]?check|.{0,80}\bxid\b)", "health.check", None, Role.ROOT, 0.75
    ),
)
"""By how a reason begins. None of them leaves a node out alone, except where the scheduler itself measured it."""


def reasons_told(facts: Facts) -> tuple[Symptom, ...]:
    """The reasons of nodes that a program gave, as symptoms; a person's are passed over."""
    own = set(facts.attempt.nodes)
    told = (reason_told(node) for node in facts.nodes if node.name in own)
    return tuple(symptom for symptom in told if symptom is not None)


def taken_by_a_person(node: NodeFacts) -> bool:
    """Whether an administrator took the node out of use: whatever its state says then is his wish."""
    return bool(node.reason) and (node.reason_by not in WATCHERS or _row(node) is None)


def slowed_by(facts: Facts) -> tuple[Symptom, ...]:
    """What metrics tell of the one node that holds up a slow attempt; nothing when they tell of several.

    Each of them was told only because it showed in three of five minutes (reference, 6.5). On several nodes it is
    what they share: power, cooling, a switch.
    """
    own = set(facts.attempt.nodes)
    told = [one for one in facts.health if one.signature in SLOWING and not one.refuted and own & set(one.nodes)]
    told = [one for one in told if not before_boot(one, facts)]
    return tuple(told) if len({node for one in told for node in one.nodes}) == 1 else ()


def is_reason(symptom: Symptom) -> bool:
    """Whether it is a reason that the scheduler shows for a node."""
    return symptom.key.startswith(KEY)


def joins(symptom: Symptom, attempt: AttemptFacts) -> bool:
    """Whether what somebody told lies in the window of the failure."""
    anchor = attempt.last_step_at or attempt.ended_at
    early = anchor is not None and symptom.happened_at < anchor - BEFORE
    late = attempt.ended_at is not None and symptom.happened_at > attempt.ended_at + AFTER
    return not early and not late


def before_boot(symptom: Symptom, facts: Facts) -> bool:
    """Whether its node has started since, and before the failure: it may be another machine by now (trap 14).

    A node that starts after the failure takes nothing back: it is what a broken one does.
    """
    if symptom.basis != BASIS:
        return False
    attempt = facts.attempt
    failed_at = attempt.ended_at or attempt.last_step_at
    booted = {node.name: node.booted_at for node in facts.nodes}
    starts = [booted[name] for name in symptom.nodes if booted.get(name) is not None]
    return any(
        start is not None and symptom.happened_at < start and (failed_at is None or start <= failed_at)
        for start in starts
    )


def reason_told(node: NodeFacts) -> Symptom | None:
    """What the reason of a node stands for, when a program gave it; `None` for a person's and for unknown words."""
    row = _row(node)
    if row is None or node.reason_at is None or node.reason_by not in WATCHERS:
        return None
    layer = row.layer or layer_of(node.reason) or Layer.HARDWARE_HOST
    line = f"{'+'.join(node.states)}: {node.reason} [{node.reason_by or 'scheduler'}]"
    return Symptom(
        key=f"{KEY}{node.name}",
        kind=AnomalyKind.CRASH,
        signature=row.signature,
        layer=layer,
        role=row.role,
        sentence=f"The scheduler's reason for {node.name}: {node.reason[:200]}",
        happened_at=node.reason_at,
        action=EXCLUDE if row.role is Role.ROOT else "none",
        basis=BASIS,
        nodes=(node.name,),
        evidence=(Quote(f"{STREAM}{node.name}", 0, line[:500], node.reason_at, node.name),),
        confidence=row.confidence,
    )


def _row(node: NodeFacts) -> Reason | None:
    return next((row for row in REASONS if row.pattern.match(node.reason)), None)

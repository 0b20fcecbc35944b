"""What does the scheduler's own word about the end prove?

A return code proves little: most of them are victims'. Only the words below are causes by themselves, and only
when nothing stronger stands in the log (attribution sections 4.8b and 4.8c).
"""

import signal
from dataclasses import dataclass
from datetime import datetime

from detectors.attribution.facts import AttemptFacts, Facts, Symptom
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role
from schedulers.states import JobState

# Written at the moment of the decision, while the state's own time comes after the processes were killed.
DECISION_LINES = (
    "slurm.cancelled",
    "slurm.time_limit",
    "slurm.preempt",
    "slurm.requeue",
    "slurm.signal",
)
NEVER = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
"""Stands where no fact has a time."""

SECONDARY_SIGNALS = frozenset({signal.SIGABRT, signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
"""Signals that a watchdog, a launcher or the scheduler sends: look earlier."""


@dataclass(frozen=True)
class Ending:
    """What one state or exit code says."""

    signature: str
    layer: Layer
    sentence: str
    confidence: float
    role: Role = Role.ROOT


STATES = {
    JobState.NODE_FAIL: Ending("state.node_fail", Layer.HARDWARE_HOST, "The scheduler lost a node", 0.97),
    JobState.BOOT_FAIL: Ending("state.boot_fail", Layer.HARDWARE_HOST, "A node did not boot", 0.9),
    JobState.OUT_OF_MEMORY: Ending("state.out_of_memory", Layer.SYSTEM_MEMORY, "Out of memory", 0.95),
    JobState.TIMEOUT: Ending("state.timeout", Layer.SCHEDULER, "Time limit reached", 0.98),
    JobState.DEADLINE: Ending("state.deadline", Layer.SCHEDULER, "Deadline reached", 0.98),
    JobState.PREEMPTED: Ending("state.preempted", Layer.SCHEDULER, "Preempted", 0.98),
    JobState.CANCELLED: Ending("state.cancelled", Layer.SCHEDULER, "Cancelled", 0.98),
    JobState.REQUEUED: Ending("state.requeued", Layer.SCHEDULER, "Requeued by the scheduler", 0.9),
}

EXIT_CODES = {
    93: Ending("state.exit_93", Layer.APPLICATION, "Exit code 93: asked not to be restarted", 0.95),
    126: Ending("state.exit_126", Layer.USER, "The job's command cannot be executed", 0.85),
    127: Ending("state.exit_127", Layer.USER, "The job's command was not found", 0.85),
}


def ending_of(facts: Facts) -> Symptom | None:
    """The end of the attempt as a symptom, `None` when it has not ended or the word proves nothing."""
    attempt = facts.attempt
    found = STATES.get(attempt.state)
    if found is None and attempt.state is JobState.FAILED:
        found = EXIT_CODES.get(attempt.exit_code or 0) or _by_signal(attempt)
    if found is None:
        return None
    return Symptom(
        key=f"ending:{found.signature}",
        kind=AnomalyKind.CRASH,
        signature=found.signature,
        layer=found.layer,
        role=found.role,
        sentence=found.sentence,
        happened_at=_moment(facts),
        basis="line" if found.layer is Layer.SCHEDULER and _decision_lines(facts) else "state",
        nodes=lost_nodes(facts) if found.signature == "state.node_fail" else (),
        confidence=found.confidence,
    )


def lost_nodes(facts: Facts) -> tuple[str, ...]:
    """Nodes of the attempt that are down now; never the whole node list."""
    return tuple(node.name for node in facts.nodes if node.down and node.name in facts.attempt.nodes)


def signal_of(attempt: AttemptFacts) -> int:
    """The signal that ended the job, from the signal itself or a shell's 128 + n; 0 for none."""
    if attempt.exit_signal and 0 < attempt.exit_signal < signal.NSIG:
        return attempt.exit_signal
    code = attempt.exit_code or 0
    return code - 128 if 128 < code < 128 + signal.NSIG else 0


def _by_signal(attempt: AttemptFacts) -> Ending | None:
    number = signal_of(attempt)
    if not number or number in SECONDARY_SIGNALS:
        return None
    try:
        name = signal.Signals(number).name
    except ValueError:
        return None
    return Ending("state.signal", Layer.UNKNOWN, f"Killed by {name}, cause unknown", 0.5, Role.CANDIDATE)


def _moment(facts: Facts) -> datetime:
    """When the scheduler decided: its line in the log, else the end it reports, else the last thing seen."""
    attempt, lines = facts.attempt, _decision_lines(facts)
    if lines:
        return min(lines)
    known = [attempt.ended_at, attempt.last_step_at, attempt.started_at]
    known += [symptom.happened_at for symptom in facts.symptoms]
    return next((moment for moment in known if moment is not None), NEVER)


def _decision_lines(facts: Facts) -> list[datetime]:
    return [s.happened_at for s in facts.symptoms if s.signature in DECISION_LINES]

"""What does the scheduler's own word about the end prove?

A return code proves little: most of them are victims'. Only the words below are causes by themselves, and only
when nothing stronger stands in the log (attribution sections 4.8b and 4.8c).
"""

import signal
from dataclasses import dataclass
from datetime import datetime

from detectors.attribution.classes import EXCLUDE, ONE_OR_ALL, STOP
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
HOLD = "slurm.hold"
NEVER = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
"""Stands where no fact has a time."""

SECONDARY_SIGNALS = frozenset({signal.SIGABRT, signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
"""Signals that a watchdog, a launcher or the scheduler sends: look earlier."""


@dataclass(frozen=True)
class Ending:
    """What one state or exit code says; the signatures are the catalogue's where it has one."""

    signature: str
    layer: Layer
    sentence: str
    confidence: float
    action: str = "none"
    role: Role = Role.ROOT


STATES = {
    JobState.NODE_FAIL: Ending(
        "slurm.state.node_fail", Layer.HARDWARE_HOST, "The scheduler lost a node", 0.97, EXCLUDE
    ),
    JobState.BOOT_FAIL: Ending("slurm.state.boot_fail", Layer.HARDWARE_HOST, "A node did not boot", 0.9, EXCLUDE),
    JobState.OUT_OF_MEMORY: Ending("slurm.state.oom", Layer.SYSTEM_MEMORY, "Out of memory", 0.95, "restart"),
    JobState.TIMEOUT: Ending("slurm.state.timeout", Layer.SCHEDULER, "Time limit reached", 0.98),
    JobState.DEADLINE: Ending("slurm.state.deadline", Layer.SCHEDULER, "Deadline reached", 0.98),
    JobState.PREEMPTED: Ending("slurm.state.preempted", Layer.SCHEDULER, "Preempted", 0.98),
    JobState.CANCELLED: Ending("slurm.state.cancelled", Layer.SCHEDULER, "Cancelled", 0.98),
    JobState.REQUEUED: Ending("slurm.state.requeued", Layer.SCHEDULER, "Requeued by the scheduler", 0.9),
}

EXIT_CODES = {
    93: Ending("slurm.state.stopped", Layer.APPLICATION, "Exit code 93: asked not to be restarted", 0.95, STOP),
    126: Ending("slurm.state.command", Layer.USER, "The job's command cannot be executed", 0.85, ONE_OR_ALL),
    127: Ending("slurm.state.command", Layer.USER, "The job's command was not found", 0.85, ONE_OR_ALL),
}


def ending_of(facts: Facts) -> Symptom | None:
    """The end of the attempt as a symptom, `None` when it has not ended or the word proves nothing.

    Of one that waits: that the scheduler holds it itself.
    """
    attempt = facts.attempt
    if attempt.state is JobState.HELD:
        return next((s for s in facts.symptoms if s.signature == HOLD and s.basis == "state"), None)
    found = STATES.get(attempt.state)
    if found is None and attempt.state is JobState.FAILED:
        found = _by_code(attempt) or _by_signal(attempt)
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
        nodes=lost_nodes(facts) if found.signature == "slurm.state.node_fail" else (),
        confidence=found.confidence,
        action=found.action,
        fingerprint=next((s.fingerprint for s in facts.symptoms if s.signature == found.signature), ""),
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


def _by_code(attempt: AttemptFacts) -> Ending | None:
    """A script that trained may end with any code of its last command: then it says nothing."""
    found = EXIT_CODES.get(attempt.exit_code or 0)
    return None if found and found.action == ONE_OR_ALL and attempt.stepped else found


def _by_signal(attempt: AttemptFacts) -> Ending | None:
    number = signal_of(attempt)
    if not number or number in SECONDARY_SIGNALS:
        return None
    try:
        name = signal.Signals(number).name
    except ValueError:
        return None
    return Ending(
        "slurm.state.signal", Layer.UNKNOWN, f"Killed by {name}, cause unknown", 0.5, "by_code", Role.CANDIDATE
    )


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

"""What is the verdict on what was found, as far as text and scheduler allow? No database stands behind it.

Where the scheduler does not say how the attempt ended, it is taken to be over when the text shows the symptom of an
end; its state is then the one that says that nobody knows how. A hang, slow steps or nothing leave it running.
"""

from dataclasses import dataclass
from datetime import datetime

from detectors.attribution.attributing import ENGINE, attribute
from detectors.attribution.classes import FLUSHED
from detectors.attribution.facts import AttemptFacts, Facts, Versions
from detectors.attribution.judgement import Judgement
from detectors.attribution.symptoms import is_cause, is_victims, symptom_of
from detectors.attribution.witnesses import read_witnesses
from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.crash import STEPS_TRAINED_ON
from detectors.catalogue.kind import JUDGED_ALIVE, AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.records import Finding
from detectors.catalogue.role import Role
from detectors.diagnosing.accounting import Told
from detectors.diagnosing.folding import Found
from schedulers.states import FAILURES, FINAL, JobState

RECOVERED = ("cause.recovered", "cause.out_of_step")
DECIDED = {
    "slurm.time_limit": JobState.TIMEOUT,
    "slurm.time_limit.batch": JobState.TIMEOUT,
    "slurm.preempt": JobState.PREEMPTED,
}
"""Lines of the scheduler that tell the end of a job, whatever else the text shows."""
REPORTED = (
    "elastic.failed",
    "elastic.rootcause",
    "elastic.block_exit",
    "ds.launch_exit",
    "slurm.oom_event",
    "dl.exited",
)
"""Reports of a launcher, of Slurm or of a program that a process of the job has failed: it is over, whatever the
reason was."""
CANCELLED = "slurm.cancelled"  # of a step it may be the answer to a task that failed: only where nothing did


@dataclass(frozen=True)
class Diagnosis:
    """The judgement and its facts. `nothing`: nothing is wrong, as far as one can see. `assumed`: the end is."""

    facts: Facts
    judgement: Judgement
    nothing: bool
    assumed: bool


def diagnose(found: Found, told: Told) -> Diagnosis:
    """The verdict on one attempt. The same input gives the same bytes, whenever it is asked for."""
    known = catalogue()
    found.ended |= _survived(found, told)
    state, assumed = _state(found, told)
    symptoms = tuple(
        symptom_of(finding, known, refuted=key in found.ended)
        for key, finding in sorted(found.findings.items())
        if finding.kind is not AnomalyKind.BLIND
    )
    facts = Facts(
        attempt=_attempt(found, told, state),
        versions=Versions(ENGINE, known.version),
        symptoms=symptoms,
        ranks=tuple(sorted(found.ranks.items())),
        witnesses=read_witnesses(found.witnesses),
    )
    judgement = attribute(facts, found.until)
    return Diagnosis(facts, judgement, _nothing(found, state, judgement), assumed)


def _state(found: Found, told: Told) -> tuple[JobState, bool]:
    """The scheduler's word; else what the text shows, and that it is taken from there."""
    if told.state is not None:
        return told.state, False
    open_ones = [finding for key, finding in found.findings.items() if key not in found.ended]
    signatures = {one.signature for one in open_ones}
    decided = next((state for name, state in DECIDED.items() if name in signatures), None)
    if decided is not None:
        return decided, True
    if any(one.kind is AnomalyKind.CRASH and is_cause(one.kind, one.role, one.basis) for one in open_ones):
        return JobState.GONE, True
    if any(one.kind in JUDGED_ALIVE for one in open_ones):
        return JobState.RUNNING, False
    if CANCELLED in signatures:
        return JobState.CANCELLED, True
    over = any(
        is_victims(one.kind, one.role, one.layer) or one.signature in (*REPORTED, *FLUSHED) for one in open_ones
    )
    return (JobState.GONE, True) if over and found.progress.phase != "ended" else (JobState.RUNNING, False)


def _survived(found: Found, told: Told) -> set[str]:
    """Keys of what the attempt trained on after, by the order of the lines of a single text.

    What a program prints of its steps may be kept back until it ends: where the text shows that a process ended,
    or the scheduler that the attempt failed, the order of lines proves nothing.
    """
    if found.streams != 1 or told.state in FINAL:
        return set()
    gone = {key for key, finding in found.findings.items() if _trained_on(finding, found)}
    ends = (finding for key, finding in found.findings.items() if key not in gone | found.ended)
    return set() if any(_of_an_end(finding) for finding in ends) else gone


def _trained_on(finding: Finding, found: Found) -> bool:
    first, last = found.progress.first_step, found.progress.last_step
    if finding.kind not in (AnomalyKind.CRASH, AnomalyKind.HANG) or not finding.evidence:
        return False
    if finding.basis in ("step", "state"):  # found by what came after all lines, or by no line at all
        return False
    if first is None or last is None:
        return False
    # Before the first step of a text nobody knows the step: it is taken to be the one before.
    since = finding.last_step if finding.last_step is not None else first - 1
    return last >= since + STEPS_TRAINED_ON


def _of_an_end(finding: Finding) -> bool:
    of_process = finding.role in (Role.SECONDARY, Role.CONFIRM) and finding.kind is AnomalyKind.CRASH
    return of_process and finding.layer in (Layer.FRAMEWORK, Layer.FRAMEWORK_COMM, Layer.SCHEDULER)


def _nothing(found: Found, state: JobState, judgement: Judgement) -> bool:
    """Whether there is nothing to say: no failure is shown, and no open symptom may be one."""
    rule = next((rule.id for rule in judgement.rules if rule.fired and rule.id.startswith("cause.")), "")
    if state in FAILURES or rule == "cause.scheduler":
        return False
    if state is JobState.COMPLETED or rule in RECOVERED:
        return True
    open_ones = [finding for key, finding in found.findings.items() if key not in found.ended]
    may_be = any(is_cause(one.kind, one.role, one.basis) or one.kind in JUDGED_ALIVE for one in open_ones)
    return not may_be and state not in FINAL


def _attempt(found: Found, told: Told, state: JobState) -> AttemptFacts:
    progress = found.progress
    return AttemptFacts(
        cluster=told.cluster,
        job_number=told.number,
        job_epoch=0,
        index=told.restarts,
        user=told.user,
        partition=told.partition,
        state=state,
        scheduler_word=told.word,
        reason=told.reason,
        nodes=found.hosts,
        exit_code=told.exit_code,
        exit_signal=told.exit_signal,
        started_at=told.started_at,
        ended_at=told.ended_at,
        phase=progress.phase,
        first_step=progress.first_step,
        last_step=progress.last_step,
        last_step_at=_known(progress.last_step_at, found.until),
        last_checkpoint_step=progress.last_checkpoint_step,
        loaded_checkpoint_step=progress.loaded_checkpoint_step,
    )


def _known(at: datetime | None, until: datetime) -> datetime | None:
    return None if at is None else min(at, until)

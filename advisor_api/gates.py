"""May an advice be carried out now, and if not, which gate is closed?

Every gate is read again at each hand-out and before each command (decisions 18): none of them is remembered.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from advisor_api.acting import Acting
from advisor_api.models import Advice, Pause
from advisor_api.pausing import covers
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.operation import Operation
from detectors.catalogue.layer import Layer
from workloads.mode import Mode
from workloads.models import Cluster, Job
from workloads.opt_in import read_stored

WAITS_FOR_APPROVAL = "waits for approval"


@dataclass(frozen=True)
class _Question:
    advice: Advice
    cluster: Cluster
    job: Job
    pauses: tuple[Pause, ...]
    acting: Acting
    now: datetime


def may_act(  # noqa: PLR0917  # one signature for all who ask
    advice: Advice, cluster: Cluster, job: Job, pauses: Iterable[Pause], acting: Acting, now: datetime
) -> tuple[bool, str]:
    """`(True, "")`, or `(False, sentence)` with the first closed gate. Reads `advice.verdict`.

    `pauses`: those of the cluster that hold at `now` (`active_pauses`); `acting`: `acting_on` the jobs that are
    asked about. No queries.
    """
    question = _Question(advice, cluster, job, tuple(pauses), acting, now)
    closed = next((sentence for gate in GATES if (sentence := gate(question))), "")
    return not closed, closed


def closed_for_approval(  # noqa: PLR0917  # as above
    advice: Advice, cluster: Cluster, job: Job, pauses: Iterable[Pause], acting: Acting, now: datetime
) -> str:
    """The first gate that would keep an advice from being carried out if it were approved, or `""`."""
    question = _Question(advice, cluster, job, tuple(pauses), acting, now)
    return next((sentence for gate in GATES if gate is not _state and (sentence := gate(question))), "")


def _state(question: _Question) -> str:
    state = AdviceState(question.advice.state)
    if state is AdviceState.AWAITING_APPROVAL:
        return WAITS_FOR_APPROVAL
    return "" if state is AdviceState.PENDING else f"it is {state.label.lower()}"


def _operation(question: _Question) -> str:
    return "it asks a person" if question.advice.operation == Operation.WAIT else ""


def _expiry(question: _Question) -> str:
    until = question.advice.expires_at
    return f"it expired at {until:%Y-%m-%d %H:%M:%S} UTC" if until <= question.now else ""


def _enabled(question: _Question) -> str:
    return "" if question.cluster.enabled else f"{question.cluster.name} is not watched"


def _mode(question: _Question) -> str:
    """Advice of monitor mode is never carried out; without an approval nothing is in approve mode."""
    mode, then = Mode(question.cluster.mode), Mode(question.advice.mode_at_decision)
    if mode is Mode.MONITOR:
        return f"{question.cluster.name} is in monitor mode"
    if then is Mode.MONITOR:
        return "it was decided in monitor mode: a new mode is for new advice"
    if mode is Mode.APPROVE and then is not Mode.APPROVE:
        return f"{question.cluster.name} is in approve mode now, and nobody has approved this"
    return ""


def _acknowledged(question: _Question) -> str:
    if question.cluster.acknowledge_scheduler_actions:
        return ""
    return f"acknowledgeSchedulerActions is not set for {question.cluster.name}"


def _pause(question: _Question) -> str:
    for pause in question.pauses:
        if question.now < pause.until and covers(pause, question.job):
            of = question.cluster.name if pause.scope == "cluster" else f"{pause.scope} {pause.value}"
            return f"{of} is paused until {pause.until:%Y-%m-%d %H:%M} UTC: {pause.reason}"
    return ""


def _partition(question: _Question) -> str:
    allowed = set(question.cluster.partitions)
    own = set(filter(None, question.job.partition.split(",")))
    if not allowed or (own and own <= allowed):
        return ""
    return f"partition {question.job.partition or '(none)'} is not among those of {question.cluster.name}"


def _failure_class(question: _Question) -> str:
    verdict = question.advice.verdict
    layer = Layer(verdict.layer) if verdict is not None else Layer.UNKNOWN
    return question.acting.why_not(question.job, layer.domain)


def _environment(question: _Question) -> str:
    wanted = read_stored(question.job.opt_in).environment
    if wanted in {"", question.cluster.environment}:
        return ""
    return f"the job's comment names the environment {wanted!r}, the cluster's is {question.cluster.environment!r}"


def _opt_in(question: _Question) -> str:
    wish = read_stored(question.job.opt_in)
    if question.cluster.opt_out:
        return "the job's comment asks to be left alone" if wish.wants_peace else ""
    if wish.wants_action:
        return ""
    if question.job.opt_in_error:
        return f"the job's comment was not understood: {question.job.opt_in_error}"
    return "the job's comment does not ask for mode action"


GATES: tuple[Callable[[_Question], str], ...] = (
    _state,
    _operation,
    _expiry,
    _enabled,
    _mode,
    _acknowledged,
    _pause,
    _partition,
    _failure_class,
    _environment,
    _opt_in,
)

"""What happened to a job, what did Rekindle do about it, and what is left to do, in one sentence each?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from advisor_api.deciding import NAMING
from advisor_api.models import Advice
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.operation import Operation
from audit.models import AuditEvent
from console.advice_lines import AdviceLine, without
from console.recovery import sequence_of
from detectors.models import Verdict
from workloads.mode import Mode
from workloads.models import Attempt


@dataclass(frozen=True)
class InShort:
    """Three sentences. `approval` is the advice that waits for a yes or no, if one does."""

    happened: str
    done: str
    left: str
    approval: int | None = None


def in_short(
    attempts: Sequence[Attempt],
    lines: Sequence[AdviceLine],
    verdicts: Mapping[int, Verdict],
    alone: Mapping[int, AuditEvent],
) -> InShort | None:
    """Of the newest attempt that was judged; none when there was none. `alone` is by attempt index."""
    for attempt in reversed(attempts):
        verdict = verdicts.get(attempt.pk)
        happened = _happened(attempt, verdict) if verdict else ""
        line = next((line for line in reversed(lines) if line.advice.attempt_id == attempt.pk), None)
        if line is not None:
            done, left = _of_advice(line)
            waits = line.state is AdviceState.AWAITING_APPROVAL
            return InShort(happened, done, left, line.advice.pk if waits else None)
        if event := alone.get(attempt.index):
            because = str((event.payload or {}).get("because") or event.sentence).rstrip(".")
            return InShort(happened, _("Rekindle left it alone: %(because)s.") % {"because": because}, _nothing())
    return None


def _happened(attempt: Attempt, verdict: Verdict) -> str:
    names = {"number": attempt.index, "verdict": verdict.sentence.rstrip(".")}
    return _("Attempt %(number)s: %(verdict)s.") % names


def _of_advice(line: AdviceLine) -> tuple[str, str]:
    advice, names = line.advice, {"said": line.sentence}
    if line.state is AdviceState.AWAITING_APPROVAL:
        waits = _("Rekindle waits for a yes or no: %(said)s.") % names
        return waits, _("Decide before %(time)s.") % {"time": f"{advice.expires_at:%H:%M:%S} UTC"}
    if line.operation is Operation.WAIT and advice.rule == "early_warning":
        told = ", ".join(str(node) for node in advice.excluded_nodes)
        return _("Rekindle lets it train: %(said)s.") % names, _have_looked_at(told or _("its nodes"))
    if line.operation is Operation.WAIT:
        by_person = _("Look at the evidence below, and restart or stop it yourself.")
        return _("Rekindle asks a person: %(said)s.") % names, by_person
    if line.state is AdviceState.CONVERGED:
        return _carried_out(line)
    if line.state is AdviceState.ABANDONED:
        names |= {"why": _small(_(line.reason.label))}
        if advice.mode_at_decision != Mode.MONITOR:
            return _("Rekindle advised this: %(said)s. It is over: %(why)s.") % names, _by_hand(line)
        return _("Rekindle would have done this: %(said)s. It is over: %(why)s.") % names, _by_hand(line)
    if line.may:
        return _("Rekindle is about to do this: %(said)s.") % names, _("Nothing: the outcome shows here.")
    names |= {"why": line.why.rstrip(".")}
    return _("Rekindle would do this: %(said)s. It does nothing, because %(why)s.") % names, _by_hand(line)


def _carried_out(line: AdviceLine) -> tuple[str, str]:
    advice = line.advice
    names = {"attempt": advice.attempt.label, "without": without(advice), "because": advice.because}
    if line.operation is Operation.TERMINATE:
        stopped = _("Rekindle stopped it, because %(because)s.") % names
        return stopped, _("Its owner has to mend the cause and submit it again.")
    if line.operation is not Operation.RESTART:
        return _("Rekindle released it, because %(because)s.") % names, _nothing()
    names["outcome"], left = _outcome(advice)
    if names["without"]:
        return _("Rekindle restarted %(attempt)s%(without)s, because %(because)s; %(outcome)s.") % names, left
    return _("Rekindle restarted %(attempt)s on the nodes it gets, because %(because)s; %(outcome)s.") % names, left


def _outcome(advice: Advice) -> tuple[str, str]:
    """What came of a restart, and what is left to do."""
    sequence = sequence_of(advice)
    shows = _("Nothing: the outcome shows here.")
    blamed = ", ".join(str(node) for node in advice.excluded_nodes if advice.rule in NAMING)
    if sequence is None:
        return _("it waits for nodes"), shows
    if sequence.completed_at:
        done = _("it trained on from its checkpoint and completed")
        return done, _have_looked_at(blamed) if blamed else _nothing()
    if sequence.resumed_at:
        trains = _("it trains again, beyond the step where it had stopped")
        return trains, _have_looked_at(blamed) if blamed else _nothing()
    if sequence.closed_at:
        return _("it made no new step"), _("Look at what came of it in the events below.")
    if sequence.restarted_at:
        return _("it runs again, and has not yet made a step beyond the last one"), shows
    return _("it waits for nodes"), shows


def _nothing() -> str:
    return _("Nothing.")


def _have_looked_at(nodes: str) -> str:
    return _("Nothing for this job. Have %(nodes)s looked at.") % {"nodes": nodes}


def _by_hand(line: AdviceLine) -> str:
    return {
        Operation.RESTART: _("Restart it yourself if you agree."),
        Operation.TERMINATE: _("Stop it yourself if you agree."),
        Operation.RELEASE: _("Release it yourself if you agree."),
    }[line.operation]


def _small(text: str) -> str:
    return text[:1].lower() + text[1:]

"""What happened to a job, what did Rekindle do about it, and what is left to do, in one sentence each?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from advisor_api.deciding import NAMING
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.operation import Operation
from audit.models import AuditEvent
from console.advice_lines import AdviceLine, advice_sentence
from console.recovery import sequence_of
from detectors.models import Verdict
from workloads.mode import Mode
from workloads.models import Attempt

NOTHING = "Nothing."


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
        happened = f"Attempt {attempt.index}: {verdict.sentence.rstrip('.')}." if verdict else ""
        line = next((line for line in reversed(lines) if line.advice.attempt_id == attempt.pk), None)
        if line is not None:
            done, left = _of_advice(line)
            waits = line.state is AdviceState.AWAITING_APPROVAL
            return InShort(happened, done, left, line.advice.pk if waits else None)
        if event := alone.get(attempt.index):
            because = str((event.payload or {}).get("because") or event.sentence).rstrip(".")
            return InShort(happened, f"Rekindle left it alone: {because}.", NOTHING)
    return None


def _of_advice(line: AdviceLine) -> tuple[str, str]:
    advice, said = line.advice, line.sentence
    if line.state is AdviceState.AWAITING_APPROVAL:
        return f"Rekindle waits for a yes or no: {said}.", f"Decide before {_clock(advice.expires_at)}."
    if line.operation is Operation.WAIT and advice.rule == "early_warning":
        told = ", ".join(str(node) for node in advice.excluded_nodes) or "its nodes"
        return f"Rekindle lets it train: {said}.", f"Nothing for this job. Have {told} looked at."
    if line.operation is Operation.WAIT:
        return f"Rekindle asks a person: {said}.", "Look at the evidence below, and restart or stop it yourself."
    if line.state is AdviceState.CONVERGED:
        return _carried_out(line)
    by_hand = f"{_verb(line)} it yourself if you agree."
    if line.state is AdviceState.ABANDONED:
        tried = "advised" if advice.mode_at_decision != Mode.MONITOR else "would have done"
        return f"Rekindle {tried} this: {said}. It is over: {_small(line.reason.label)}.", by_hand
    if line.may:
        return f"Rekindle is about to do this: {said}.", "Nothing: the outcome shows here."
    return f"Rekindle would do this: {said}. It does nothing, because {line.why.rstrip('.')}.", by_hand


def _carried_out(line: AdviceLine) -> tuple[str, str]:
    advice = line.advice
    if line.operation is not Operation.RESTART:
        past = {Operation.TERMINATE: "stopped it", Operation.RELEASE: "released it"}[line.operation]
        todo = "Its owner has to mend the cause and submit it again." if past == "stopped it" else NOTHING
        return f"Rekindle {past}, because {advice.because}.", todo
    sequence = sequence_of(advice)
    outcome, left = "it waits for nodes", "Nothing: the outcome shows here."
    if sequence is not None:
        if sequence.completed_at:
            outcome, left = "it trained on from its checkpoint and completed", NOTHING
        elif sequence.resumed_at:
            outcome, left = "it trains again, beyond the step where it had stopped", NOTHING
        elif sequence.closed_at:
            outcome, left = "it made no new step", "Look at what came of it in the events below."
        elif sequence.restarted_at:
            outcome = "it runs again, and has not yet made a step beyond the last one"
    blamed = [str(node) for node in advice.excluded_nodes if advice.rule in NAMING]
    if blamed and left == NOTHING:
        left = f"Nothing for this job. Have {', '.join(blamed)} looked at."
    how = _small(advice_sentence(advice)).replace("restart ", "restarted ", 1)
    return f"Rekindle {how}; {outcome}.", left


def _verb(line: AdviceLine) -> str:
    return {Operation.RESTART: "Restart", Operation.TERMINATE: "Stop", Operation.RELEASE: "Release"}[line.operation]


def _clock(at: datetime) -> str:
    return f"{at:%H:%M:%S} UTC"


def _small(text: str) -> str:
    return text[:1].lower() + text[1:]

"""What does the scheduler's word about the end of an attempt prove? (reference, 4.8b and 4.8c)

A finished, cancelled, preempted or timed-out attempt is no failure and gives no finding (trap 22).
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from detectors.catalogue.catalogue import catalogue, table
from detectors.catalogue.detector import Known, State, Step
from detectors.catalogue.fingerprints import fingerprint
from detectors.catalogue.readings import Reading
from detectors.catalogue.records import Context, Finding
from schedulers.states import JobState

NAME = "ending"
CLOCK_DOUBT = timedelta(seconds=5)  # between the site's clock and the scheduler's

_STATES = {
    JobState.NODE_FAIL: "slurm.state.node_fail",
    JobState.BOOT_FAIL: "slurm.state.boot_fail",
    JobState.OUT_OF_MEMORY: "slurm.state.oom",
}


def fold(state: State, readings: Sequence[Reading], known: Known, context: Context, now: datetime) -> Step:
    """One finding, in the first turn that sees the attempt ended by a failure.

    None for what a command of ours may have made of it: whatever the program answers to that is no failure.
    """
    if state.get("state") == context.state.value:
        return Step(state, known)
    found = _finding(context, known, now)
    if found is None:
        return Step({}, known)
    return Step({"state": context.state.value}, known, (found,))


def reading_of(exit_code: int | None, exit_signal: int | None) -> tuple[str, str]:
    """The signature and the words for an exit code and signal; a shell's 128 + n is signal n."""
    for row in table("exits"):
        if exit_signal and exit_signal in row["signals"]:
            return row["signature"], row["says"]
    for row in table("exits"):
        if not exit_signal and exit_code in row["codes"]:
            return row["signature"], row["says"]
    return "slurm.state.failed", "no known meaning" if exit_code or exit_signal else "no exit code"


def _finding(context: Context, known: Known, now: datetime) -> Finding | None:
    detail = ""
    if context.state is JobState.FAILED and _ended_by_us(context):
        return None
    if context.state is JobState.FAILED:
        name, words = reading_of(context.exit_code, context.exit_signal)
        detail = f" ({_codes(context)}: {words})"
    elif context.state in _STATES:
        name = _STATES[context.state]
    else:
        return None
    signature = catalogue().signature(name)
    phase: Any = known.progress.phase
    return Finding(
        key=f"state:{context.state.value}",
        kind=signature.anomaly_kind,
        sentence=f"{signature.says}{detail}.",
        happened_at=context.ended_at or now,
        basis="state",
        signature=name,
        layer=signature.layer,
        role=signature.role,
        fingerprint=fingerprint(signature.layer, name, _codes(context), phase=phase),
        step=known.progress.last_step,
        confidence=signature.confidence,
    )


def _ended_by_us(context: Context) -> bool:
    began, ended = context.command_at, context.ended_at
    return began is not None and (ended is None or ended >= began - CLOCK_DOUBT)


def _codes(context: Context) -> str:
    if context.exit_signal:
        return f"signal {context.exit_signal}"
    return f"exit code {context.exit_code}" if context.exit_code is not None else "no exit code"

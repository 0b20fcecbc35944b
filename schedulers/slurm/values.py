"""What does one value in an answer of Slurm mean? Each function raises `ValueError` with a sentence."""

import re
from datetime import UTC, datetime

from schedulers.observation import LATEST
from schedulers.states import JobState

NOTHING = frozenset({"", "(null)", "N/A", "n/a", "NONE", "None", "Unknown"})

STATES = {
    "PENDING": JobState.PENDING,
    "CONFIGURING": JobState.CONFIGURING,
    "POWER_UP_NODE": JobState.CONFIGURING,
    "RUNNING": JobState.RUNNING,
    "RESIZING": JobState.RUNNING,
    "SIGNALING": JobState.RUNNING,
    "SUSPENDED": JobState.SUSPENDED,
    "STOPPED": JobState.SUSPENDED,
    "COMPLETING": JobState.COMPLETING,
    "STAGE_OUT": JobState.COMPLETING,
    "COMPLETED": JobState.COMPLETED,
    "FAILED": JobState.FAILED,
    "NODE_FAIL": JobState.NODE_FAIL,
    "BOOT_FAIL": JobState.BOOT_FAIL,
    "OUT_OF_MEMORY": JobState.OUT_OF_MEMORY,
    "TIMEOUT": JobState.TIMEOUT,
    "DEADLINE": JobState.DEADLINE,
    "PREEMPTED": JobState.PREEMPTED,
    "CANCELLED": JobState.CANCELLED,
    "REQUEUED": JobState.REQUEUED,
    "REQUEUE_HOLD": JobState.HELD,
    "RESV_DEL_HOLD": JobState.HELD,
    "SPECIAL_EXIT": JobState.HELD,
}


def moment(text: str) -> datetime | None:
    """Epoch seconds as aware UTC, `LATEST` at most; `None` for Slurm's words for no time."""
    if text in NOTHING or text == "0":
        return None
    if not re.fullmatch(r"\d{1,12}", text, re.ASCII):
        raise ValueError(f"'{text[:80]}' is no time in epoch seconds; SLURM_TIME_FORMAT=%s was not heeded.")
    try:
        return min(datetime.fromtimestamp(int(text), UTC), LATEST)
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(f"'{text}' is a time beyond the calendar.") from error


def whole(text: str, name: str) -> int:
    """A number without sign."""
    if not re.fullmatch(r"\d{1,18}", text, re.ASCII):
        raise ValueError(f"{name} is '{text[:80]}' and no number.")
    return int(text)


def optional_whole(text: str, name: str) -> int | None:
    """A number, or `None` for Slurm's words for nothing."""
    return None if text in NOTHING else whole(text, name)


def optional(text: str) -> str:
    """Free text, empty for Slurm's words for nothing."""
    return "" if text in ("(null)", "N/A") else text


def state(word: str, priority: int | None = None) -> JobState:
    """Ours for Slurm's word; a waiting job of priority 0 is held. Words of later versions are UNKNOWN."""
    known = STATES.get(word, JobState.UNKNOWN)
    if word == "RESV_DEL_HOLD" and priority:
        return JobState.PENDING  # observed: the word stays when somebody has let the job go
    if known is JobState.PENDING and priority == 0:
        return JobState.HELD
    return known


def exit_status(text: str) -> tuple[int, int]:
    """`(code, signal)` of `3:0`, or of a raw wait status such as `768` (22.05's squeue; 0:9 there is `9`)."""
    first, colon, second = text.partition(":")
    code = whole(first, "The exit status")
    if colon:
        return code, whole(second, "The exit signal")
    # Observed: a job whose output cannot be opened has both parts; scontrol then shows the signal alone.
    signal = code & 0x7F
    return (0, signal) if signal else (code >> 8, 0)

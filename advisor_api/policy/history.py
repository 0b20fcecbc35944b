"""Did earlier attempts of this job get anywhere, and did they fail in the same way?

*Advance* is a higher saved checkpoint; where no attempt of the job shows a checkpoint, ten steps beyond the
old maximum. What cannot be known neither counts nor resets (reference: attribution section 7.2).
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass

STEPS_THAT_COUNT = 10  # attribution section 7.2
EXCUSED_ATTEMPTS = 2  # a new bad host each time: 3 attempts without checkpoint become 5 (section 7.2, rule 4)


@dataclass(frozen=True)
class Past:
    """What one attempt came to. `names_new_host`: hardware on a host that no earlier attempt had blamed."""

    index: int
    fingerprint: str = ""
    first_step: int | None = None
    last_step: int | None = None
    last_checkpoint_step: int | None = None
    loaded_checkpoint_step: int | None = None
    readable: bool = True
    names_new_host: bool = False


@dataclass(frozen=True)
class Counts:
    """The numbers that stop rules look at, and `checkpoint`, the step of the one that the attempt began from."""

    attempts_without_checkpoint: int  # in a row, this one included
    restarts_for_cause: int  # earlier attempts with this fingerprint since the last advance
    failures_at_this_step: int  # this one and those of the same cause within one step of it
    checkpoint: int | None = None
    failures_at_loading: int = 0  # in a row, this one included: of one cause, from one checkpoint, without a step


class _Advance(enum.Enum):
    ADVANCED = enum.auto()
    SAME = enum.auto()
    UNKNOWN = enum.auto()


def count(history: Sequence[Past]) -> Counts:
    """The counters of the last attempt of `history` (oldest first, at least one)."""
    advances = _advances(history)
    current = history[-1]
    stuck = 0
    while stuck < len(history) and advances[-1 - stuck] is not _Advance.ADVANCED:
        stuck += 1
    run = history[len(history) - stuck :]
    idle = [
        past
        for past, advance in zip(run, advances[len(history) - stuck :], strict=True)
        if advance is _Advance.SAME
    ]
    excused = min(EXCUSED_ATTEMPTS, sum(past.names_new_host for past in idle))
    # The attempt that advanced last and then failed is where the first restart of this run came from.
    earlier = history[max(0, len(history) - stuck - 1) : -1] if stuck else []
    same = [past for past in earlier if past.fingerprint and past.fingerprint == current.fingerprint]
    here = [past for past in same if _same_step(past, current)]
    return Counts(
        len(idle) - excused, len(same), 1 + len(here), _began_from(history), _failures_at_loading(history)
    )


def _began_from(history: Sequence[Past]) -> int | None:
    """The checkpoint that the last attempt said it loaded, or the newest that an earlier one had saved."""
    if history[-1].loaded_checkpoint_step is not None:
        return history[-1].loaded_checkpoint_step
    saved = [past.last_checkpoint_step for past in history[:-1] if past.last_checkpoint_step is not None]
    return max(saved, default=None)


def _failures_at_loading(history: Sequence[Past]) -> int:
    current, found = history[-1], 0
    checkpoint = _began_from(history)
    if checkpoint is None or not current.fingerprint:
        return 0
    for place in range(len(history), 0, -1):
        past = history[place - 1]
        moved = past.last_step is not None and past.last_step > checkpoint
        same = past.fingerprint == current.fingerprint and _began_from(history[:place]) == checkpoint
        if moved or not same or not past.readable:
            break
        found += 1
    return found


def _same_step(past: Past, current: Past) -> bool:
    if past.last_step is None or current.last_step is None:
        return False
    return abs(past.last_step - current.last_step) <= 1


def _advances(history: Sequence[Past]) -> list[_Advance]:
    saves = any(past.last_checkpoint_step is not None for past in history)
    best: int | None = None
    found = []
    for past in history:
        reached = past.last_checkpoint_step if saves else past.last_step
        if reached is not None and reached >= _least(past, best, saves):
            found.append(_Advance.ADVANCED)
        elif not past.readable and reached is None:
            found.append(_Advance.UNKNOWN)
        else:
            found.append(_Advance.SAME)
        if reached is not None:
            best = reached if best is None else max(best, reached)
    return found


def _least(past: Past, best: int | None, saves: bool) -> int:
    """The lowest checkpoint or step that is an advance over `best`."""
    if saves:
        return 0 if best is None else best + 1
    return (best if best is not None else past.first_step or 0) + STEPS_THAT_COUNT

"""What follows from our own command on the attempt, and is therefore no evidence against it? (design 5.9)

A command that was announced while the attempt ran ends its processes: the scheduler says so in the log, ranks die
of signals, connections break, the program may answer with any exit code. None of it tells what was wrong before.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Protocol, TypeVar

from detectors.attribution.facts import AttemptFacts, Facts, Symptom
from detectors.attribution.tiers import tier_of
from detectors.catalogue.health import BASIS
from detectors.catalogue.layer import Layer
from schedulers.states import JobState

CLOCK_DOUBT = timedelta(seconds=5)  # between the site's clock and those of the scheduler and the nodes (section 3)
TICK = timedelta(milliseconds=50)  # a file's time is that of the last tick of its machine's clock
OUR_ENDS = frozenset({JobState.CANCELLED, JobState.FAILED, JobState.REQUEUED, JobState.COMPLETING})
"""What a requeue or a cancel makes of an attempt; a lost node, memory or a time limit is never our doing."""
BROKEN = 2  # up to this tier a symptom names broken hardware, which no command of ours breaks
OF_NODES = ("slurm.io_err", "slurm.launch_fail", "slurm.reason_down")
"""What the scheduler says of nodes as soon as it takes down a step; a node failure it says for no command."""

ENDS_AN_ATTEMPT = ("slurm.requeue", "slurm.cancelled")
"""What the scheduler says once in the life of an attempt, with the local time of a node, in whatever zone. Where
the attempt still ran when we announced our command, it speaks of that command."""


class _Timed(Protocol):
    @property
    def at(self) -> float: ...


T = TypeVar("T", bound=_Timed)


def commanded(attempt: AttemptFacts) -> bool:
    """Whether we announced a command before it had ended."""
    began, ended = attempt.command_at, attempt.ended_at
    return began is not None and (ended is None or ended >= began - CLOCK_DOUBT)


def ended_by_us(attempt: AttemptFacts) -> bool:
    """Whether its end may be what our command did."""
    return commanded(attempt) and attempt.state in OUR_ENDS


def follows(symptom: Symptom, attempt: AttemptFacts) -> bool:
    """Whether a symptom came after our command, and may come from it.

    What others tell of a node does not, nor do messages of its hardware. The scheduler's own words bear the stamps
    of other clocks.
    """
    if attempt.command_at is None or not commanded(attempt) or symptom.basis == BASIS:
        return False
    if tier_of(symptom).number <= BROKEN and not symptom.signature.startswith(OF_NODES):
        return False
    if symptom.signature in ENDS_AN_ATTEMPT:
        return True
    doubt = CLOCK_DOUBT if symptom.layer is Layer.SCHEDULER else TICK if symptom.basis == "file" else timedelta(0)
    return symptom.happened_at >= attempt.command_at - doubt


def without_own_doing(facts: Facts) -> Facts:
    """The same facts as if nobody had looked after our command; equal ones where there was none."""
    if facts.attempt.command_at is None or not commanded(facts.attempt):
        return facts
    until, told = facts.attempt.command_at.timestamp(), facts.witnesses
    return replace(
        facts,
        symptoms=tuple(one for one in facts.symptoms if not follows(one, facts.attempt)),
        witnesses=replace(
            told,
            waits=_before(told.waits, until),
            edges=_before(told.edges, until),
            polled=_before(told.polled, until),
            analysed=_before(told.analysed, until),
            recorded=_before(told.recorded, until),
        ),
    )


def _before(rows: Iterable[T], until: float) -> tuple[T, ...]:
    return tuple(row for row in rows if row.at < until)

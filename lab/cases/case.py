"""What is a case? One thing that is done to a job or a cluster, and what is right to say and to do about it.

The truth of a case is written down from what is done, before the product is asked, and is never changed to agree
with what the product says. The product never reads it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from lab.simulate.play import Play


class Sort(StrEnum):
    """Is something broken, or does it only look so?"""

    FAULT = "fault"
    TRAP = "trap"


class Did(StrEnum):
    """What can be advised on an attempt, as the score card counts it. The policy's operations with their nodes."""

    RESTART = "restart"  # RESTART that names no node
    RESTART_EXCLUDE = "restart_exclude"  # RESTART that names nodes
    STOP = "stop"  # TERMINATE
    ASK = "ask"  # WAIT: a person is asked
    NONE = "none"  # no advice


NO_KIND = "none"


@dataclass(frozen=True, slots=True)
class Truth:
    """What is right.

    `kind` is an anomaly kind (crash, hang, straggler, nan, no_checkpoint, idle), or `none` for a trap. `layers` are
    the layers that may be named, the best one first; empty for a trap and where no verdict is asked for. `culprit`:
    whether the node that was struck is to blame (its names stand in the truth file). `held`: the scheduler ends the
    attempt that was struck at once and holds the next one: that one is asked about. `actions` are those that are
    right on the attempt that was struck, the best one first; `later` those on the last attempt that was struck when
    the fault strikes again (empty: not asked). `unasked`: nobody has asked for action, so advice may be given and
    must not be carried out.
    """

    kind: str
    layers: tuple[str, ...]
    culprit: bool
    actions: tuple[Did, ...]
    why: str  # one sentence: why this is right
    later: tuple[Did, ...] = ()
    unasked: bool = False
    held: bool = False


@dataclass(frozen=True, slots=True)
class Act:
    """Something done from outside, `at` seconds after the start of the case (`on_step`: once job 0 made that step).

    `do` and `words` are those of `lab.simulate.outside` in the simulated cluster, of `lab.real.outside` on Slurm.
    """

    do: str
    words: tuple[str, ...] = ()
    at: float = 0.0
    on_step: int | None = None


@dataclass(frozen=True, slots=True)
class Simulated:
    """How the case is put on in the simulated cluster: jobs, acts, and for how many virtual seconds it is watched.

    Every case has a cluster of its own. `settings` are those of `lab.simulate.settings.Settings`; `jobs` are plays
    and the second at which they are submitted.
    """

    jobs: tuple[tuple[float, Play], ...]
    seconds: float
    acts: tuple[Act, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OnSlurm:
    """How the case is put on on a real Slurm: the orders of `lab.trainer`, options, and acts from outside.

    `orders` are the trainer's fault schedule (`lab.trainer.orders`), `training` its options (steps, dialect, …),
    `sbatch` further words for sbatch, `jobs` how many such jobs are submitted, `seconds` how long it is watched at
    most.
    """

    orders: tuple[Mapping[str, Any], ...] = ()
    training: Mapping[str, Any] = field(default_factory=dict)
    sbatch: tuple[str, ...] = ()
    acts: tuple[Act, ...] = ()
    nodes: int = 2
    jobs: int = 1
    seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class Case:
    """One line of `./run lab --list`. `group` is the row of the score card that it belongs to."""

    name: str
    sort: Sort
    group: str
    says: str
    truth: Truth
    simulated: Simulated | None = None
    slurm: OnSlurm | None = None
    short: tuple[str, ...] = ()  # in the reduced run of CI: any of "simulated", "slurm"
    representative: bool = False  # in the 20 faults and 10 traps of the full run on a real Slurm
    trap: int | None = None  # its number in the list of traps

    def __str__(self) -> str:
        return self.name

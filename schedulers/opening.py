"""Which schedulers are there, and how is one opened?"""

from collections.abc import Callable

from schedulers.port import Scheduler
from schedulers.slurm.adapter import Slurm
from schedulers.transport import LocalTransport, Transport

SCHEDULERS: dict[str, Callable[[Transport, float], Scheduler]] = {"slurm": Slurm}


def open_scheduler(
    kind: str, path: str, config: str, seconds: float, transport: Transport | None = None
) -> Scheduler:
    """The scheduler `kind`, whose commands lie in the folder `path` and read the configuration `config`.

    `seconds` limits each command. A given `transport` replaces the local one, and `path` and `config` with it.
    Raises `ValueError` for a kind that is not in `SCHEDULERS`.
    """
    if kind not in SCHEDULERS:
        raise ValueError(f"There is no scheduler '{kind[:40]}'; known are: {', '.join(sorted(SCHEDULERS))}.")
    return SCHEDULERS[kind](transport or LocalTransport(path, config), seconds)

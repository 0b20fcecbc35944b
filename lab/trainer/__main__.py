"""`srun python -m lab.trainer …`: one rank of the stand-in. `python -m lab.trainer local --ranks N …`: all of them.

Under torchrun with `--engine torch` the ranks meet in PyTorch's own collectives. Faults are orders in JSON, for
example `[{"attempt": 0, "step": 12, "rank": 1, "kind": "sigkill"}]`; all kinds stand in `lab.trainer.orders`.
"""

import atexit
import os
import sys
import time
from collections.abc import Sequence

from lab.dialects.dialect import Stage
from lab.dialects.known import DIALECTS
from lab.trainer import local
from lab.trainer.deeds.signals import die_with_parent
from lab.trainer.gloo import Gloo, NoTorch, torch_of
from lab.trainer.here import Here
from lab.trainer.options import BadOption, BadOrder, Options, read
from lab.trainer.place import Place, place_of
from lab.trainer.ring import Collective, Meeting
from lab.trainer.training import Training, cry

LINGER_SECONDS = 0.5
"""Under Slurm a process ends so long after its last word. A real one takes longer, to give back its GPU.

Where a task ends at once, `srun --kill-on-bad-exit` may cut off what it said last (observed: 9 of 300)."""
LAST_RANK_SPEAKS = frozenset({"megatron"})
"""Dialects in which the last rank prints the steps; in all others it is the first."""


def main(words: Sequence[str]) -> int:
    """Train until the last step or the first fault that is ours. 2 when the options are wrong."""
    if "LAB_LAUNCHER" in os.environ:
        die_with_parent(int(os.environ["LAB_LAUNCHER"]))
    try:
        if words[:1] == ["local"]:
            return local.main(words[1:])
        options = read(words)
        if options.engine == "torch":
            torch_of()
    except (BadOption, BadOrder, NoTorch) as error:
        print(f"lab.trainer: {error}", file=sys.stderr)
        return 2
    place = place_of(os.environ)
    if place.job:
        atexit.register(time.sleep, LINGER_SECONDS)
    training = _training(options, place)
    training.break_before_meeting()
    training.open()
    meeting = _meet(options, place)
    if options.engine != "torch":  # which does it by itself
        cry(place.rank)
    training.train(meeting)
    return 0


def _training(options: Options, place: Place) -> Training:
    stage = Stage(
        number=place.job,
        name=place.name,
        attempt=place.attempt,
        nodes=place.hosts,
        gpus=place.per_host,
        steps=options.steps,
        step_seconds=options.step_seconds,
        folder=str(options.folder),
    )
    here = Here(
        place=place,
        stage=stage,
        dialect=DIALECTS[options.dialect],
        folder=options.folder,
        address=options.address,
        truth=options.truth,
        case=options.case,
    )
    speaker = place.world - 1 if options.dialect in LAST_RANK_SPEAKS else 0
    return Training(
        here=here,
        orders=options.orders,
        steps=options.steps,
        step_seconds=options.step_seconds,
        checkpoint_every=options.checkpoint_every,
        speaks=place.rank == speaker,
    )


def _meet(options: Options, place: Place) -> Meeting:
    if options.engine == "torch":
        return Gloo(place, options.address, options.timeout_seconds)
    return Collective(place.rank, place.world, options.address, options.wait_seconds, options.timeout_seconds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

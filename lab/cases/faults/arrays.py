"""What happens when tasks of one job array fail: all of them, those on one node, or some by chance?"""

from functools import partial

from lab.cases.case import Case, Did, Simulated, Truth
from lab.cases.faults.making import fault, job, simulated, text
from lab.simulate.play import Fault, Play

_fault = partial(fault, "several")
ARRAY = 900
RESTART, EXCLUDE = (Did.RESTART,), (Did.RESTART_EXCLUDE,)
STRUCK = frozenset({5, 12})


def _task(place: int, *faults: Fault, steps: int = 20) -> Play:
    return job(*faults, nodes=1, steps=steps, array_job=ARRAY, array_task=place)


ARRAYS: tuple[Case, ...] = (
    _fault(
        "array-with-a-bug",
        "every task of an array dies of an exception after a few steps",
        Truth(
            "crash",
            ("application",),
            False,
            RESTART,
            "an exception after a step may be tried again once; when the whole array dies of it, nothing is tried "
            "again and its owner is asked once",
            (Did.ASK, Did.NONE),
        ),
        simulated(
            *(_task(place, text("exception", 3 + place % 4, node=0, gpu=0, attempt=None)) for place in range(24)),
            seconds=600.0,
        ),
        short=("simulated",),
    ),
    _fault(
        "array-with-a-bad-node",
        "one node kills every task of an array that starts on it with a bus error, the others go on",
        Truth(
            "crash",
            ("hardware.host", "unknown", "framework"),
            True,
            RESTART,
            "once may be chance; a second death on the same host while others are clean is the host, not the array",
            EXCLUDE,
        ),
        Simulated(
            tuple(
                (at, _task(place, Fault("signal", step=1, node_name="n02", gpu=3, exit_code=135), steps=100_000))
                for place, at in enumerate((0.0, 0.0, 0.0, 0.0, 400.0, 900.0))
            ),
            1140.0,
        ),
        short=("simulated",),
    ),
    _fault(
        "array-by-chance",
        "two of sixteen tasks of an array die of an exception, the others complete",
        Truth(
            "crash",
            ("application",),
            False,
            RESTART,
            "a task that dies by chance is a job of its own: it is tried again, and the array goes on",
            RESTART,
        ),
        simulated(
            *(
                _task(place, *((text("exception", 8, node=0, gpu=0),) if place in STRUCK else ()))
                for place in range(16)
            ),
            seconds=600.0,
        ),
        short=("simulated",),
    ),
)

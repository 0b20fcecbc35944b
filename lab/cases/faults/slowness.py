"""Which jobs go on, but slower than they did?"""

from functools import partial

from lab.cases.case import Case, Did, Truth
from lab.cases.faults.making import fault, job, simulated, text
from lab.simulate.play import Fault

_fault = partial(fault, "slow")
NOTHING_OR_ASK = (Did.ASK, Did.NONE)
UNKNOWN = ("unknown",)
NOBODY = "all ranks wait for the slowest, so the rhythm names nobody: a person may be asked, a restart is not due"
STEP_SECONDS = 10.0
SLOW_FROM = 80  # step: 13 minutes of its own rhythm

SLOWNESS: tuple[Case, ...] = (
    _fault(
        "slow-steady",
        "from one step on every step takes half as long again",
        Truth("straggler", UNKNOWN, False, NOTHING_OR_ASK, NOBODY),
        simulated(
            job(Fault("slow", step=SLOW_FROM, attempt=0, factor=1.5), step_seconds=STEP_SECONDS), seconds=2300
        ),
        short=("simulated",),
    ),
    _fault(
        "slow-growing",
        "each step takes one hundredth longer than the one before",
        Truth("straggler", UNKNOWN, False, NOTHING_OR_ASK, NOBODY),
        simulated(
            job(
                Fault("slow", step=SLOW_FROM, attempt=0, factor=1.0, growth=0.01),
                step_seconds=STEP_SECONDS,
                dialect="nemo",
            ),
            seconds=2600,
        ),
    ),
    _fault(
        "slow-every-second-step",
        "every second step takes two and a half times as long",
        Truth("straggler", UNKNOWN, False, NOTHING_OR_ASK, NOBODY),
        simulated(
            job(
                Fault("slow", step=SLOW_FROM, attempt=0, factor=2.5, every=2),
                step_seconds=STEP_SECONDS,
                dialect="torchtitan",
            ),
            seconds=2300,
        ),
    ),
    _fault(
        "slow-file-server",
        "a file server answers late: two jobs become slow at the same time",
        Truth(
            "straggler",
            ("system.filesystem",),
            False,
            NOTHING_OR_ASK,
            "several jobs that become slow together share something: one incident, and no restart",
        ),
        simulated(
            *(
                job(
                    text("server_slow", SLOW_FROM, ends="goes_on"),
                    Fault("slow", step=SLOW_FROM, attempt=0, factor=1.8),
                    name=name,
                    step_seconds=STEP_SECONDS,
                )
                for name in ("train-a", "train-b")
            ),
            seconds=2300,
        ),
    ),
)

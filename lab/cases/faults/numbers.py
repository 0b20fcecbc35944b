"""Which numbers and which data are wrong, and which are never saved?"""

from functools import partial

from lab.cases.case import Case, Did, Truth
from lab.cases.faults.making import AGAIN_SECONDS, STRIKE, fault, job, names, on_slurm, order, simulated, text
from lab.simulate.play import Fault

_numbers, _data, _storage = partial(fault, "numbers"), partial(fault, "data"), partial(fault, "storage")
RESTART, STOP = (Did.RESTART,), (Did.STOP,)

NUMBERS: tuple[Case, ...] = (
    _numbers(
        "nan-loss",
        "the loss is no number from one step on, in every attempt",
        Truth(
            "nan",
            ("application", "unknown"),
            False,
            RESTART,
            "back to the last checkpoint once; when it comes again at that step, a restart cannot help",
            STOP,
        ),
        simulated(job(Fault("nan", step=STRIKE)), seconds=AGAIN_SECONDS),
        slurm=on_slurm(order("nan", all=True, attempt=None), seconds=140, training={"steps": 100_000}),
        short=("simulated",),
        representative=True,
    ),
    _numbers(
        "nan-gradient-check",
        "the framework's own check finds a gradient that is no number on one rank and ends the job",
        Truth(
            "crash",
            ("hardware.gpu", "application", "unknown"),
            False,
            RESTART,
            "one bad result may be the GPU or the code: once more, and the same GPU again would be blamed",
        ),
        simulated(job(text("nan_checked", node=3, gpu=5), nodes=4, step_seconds=4.0), node_names=names("mc", 6)),
    ),
    _data(
        "data-error-at-one-position",
        "one sample cannot be decoded: every attempt fails at the same position",
        Truth(
            "crash",
            ("data",),
            False,
            RESTART,
            "once more after completed steps; the same position a second time is the data's fault",
            STOP,
        ),
        simulated(job(text("data_error", attempt=None), dialect="huggingface"), seconds=AGAIN_SECONDS),
        slurm=on_slurm(order("data_error", attempt=None, position=12), seconds=110),
        short=("simulated",),
        representative=True,
    ),
    _data(
        "corrupt-checkpoint",
        "the newest checkpoint of the run was cut off: every attempt fails when it loads it",
        Truth(
            "crash",
            ("data", "system.filesystem"),
            False,
            (Did.RESTART, Did.ASK),
            "an older checkpoint may be good; the same file a second time would fail for ever",
            (Did.STOP, Did.ASK),
        ),
        simulated(
            job(text("checkpoint_corrupt", step=1, attempt=None, node=0), dialect="torchtitan", name="resumed"),
            seconds=360,
        ),
        slurm=on_slurm(order("corrupt_checkpoint", rank=0, attempt=None), seconds=120),
    ),
    _storage(
        "saves-no-more",
        "the job trains on, and from one step on no checkpoint is saved",
        Truth(
            "no_checkpoint",
            ("unknown", "system.filesystem"),
            False,
            (Did.ASK, Did.NONE),
            "a restart would lose what was trained since the last checkpoint: a person is asked",
        ),
        simulated(job(Fault("no_save", step=61, attempt=0)), seconds=900),
    ),
)

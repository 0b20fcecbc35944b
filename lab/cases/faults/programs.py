"""What goes wrong in the user's own code and settings?"""

from functools import partial

from lab.cases.case import Case, Did, Truth
from lab.cases.faults.making import (
    AGAIN_SECONDS,
    fault,
    job,
    names,
    on_slurm,
    order,
    simulated,
    text,
    told_by_others,
)

_fault = partial(fault, "program")
AT_START = 1  # before the first step
AT_START_SECONDS = 150.0
RESTART, EXCLUDE, STOP = (Did.RESTART,), (Did.RESTART_EXCLUDE,), (Did.STOP,)
EVERY_TIME = "every start fails in the same way, and no node is to blame"

PROGRAMS: tuple[Case, ...] = (
    _fault(
        "exception-one-rank",
        "an exception on one rank, in the same step of every attempt",
        Truth(
            "crash",
            ("application",),
            False,
            RESTART,
            "after completed steps it is worth one restart, and a stop when it comes again without progress",
            STOP,
        ),
        simulated(job(text("exception", attempt=None)), seconds=AGAIN_SECONDS),
        slurm=on_slurm(order("raise", attempt=None), seconds=110),
        short=("simulated",),
        representative=True,
    ),
    _fault(
        "exception-everywhere",
        "an exception on all ranks before the first step",
        Truth("crash", ("application",), False, STOP, EVERY_TIME),
        simulated(
            job(text("exception_everywhere", AT_START, attempt=None), dialect="torchtitan"),
            seconds=AT_START_SECONDS,
        ),
        slurm=on_slurm(order("raise", all=True, step=1, attempt=None), seconds=80),
        short=("slurm",),
        representative=True,
    ),
    _fault(
        "import-error-one-host",
        "a package is missing on one host of eight",
        Truth(
            "crash",
            ("user", "hardware.host"),
            True,
            EXCLUDE,
            "what is missing on one host alone is that host's environment, and the others can do without it",
        ),
        simulated(
            job(text("import_error", AT_START, node=5, attempt=0), nodes=8, dialect="nemo"),
            seconds=AT_START_SECONDS,
            node_names=names("dgx-", 12),
        ),
        slurm=on_slurm(order("import_error", host="node:1", step=0, attempt=None), seconds=90),
        short=("simulated", "slurm"),
        representative=True,
    ),
    _fault(
        "import-error-everywhere",
        "a name is missing in the image that all hosts use",
        Truth("crash", ("user",), False, STOP, EVERY_TIME),
        simulated(
            job(text("import_error_everywhere", AT_START, attempt=None), nodes=4, dialect="huggingface"),
            seconds=AT_START_SECONDS,
        ),
        slurm=on_slurm(order("import_error", all=True, step=0, attempt=None), seconds=80),
    ),
    _fault(
        "bad-argument",
        "an option that the program does not know",
        Truth("crash", ("user",), False, STOP, EVERY_TIME),
        simulated(
            job(text("bad_argument", AT_START, attempt=None, exit_code=2), dialect="plain"),
            seconds=AT_START_SECONDS,
        ),
        slurm=on_slurm(order("bad_argument", all=True, step=0, attempt=None), seconds=80),
        representative=True,
    ),
    _fault(
        "bad-settings",
        "a value in the file of settings that the program refuses",
        Truth("crash", ("user",), False, STOP, EVERY_TIME),
        simulated(job(text("bad_settings", AT_START, attempt=None), dialect="composer"), seconds=AT_START_SECONDS),
    ),
    _fault(
        "shape-mismatch",
        "two parts of the model do not fit, on all ranks in the first step",
        Truth("crash", ("application",), False, STOP, EVERY_TIME),
        simulated(
            job(text("shape_mismatch", AT_START, attempt=None), nodes=4, dialect="deepspeed"),
            seconds=AT_START_SECONDS,
        ),
        slurm=on_slurm(order("shape_mismatch", all=True, step=1, attempt=None), seconds=80),
    ),
    _fault(
        "checkpoint-of-another-model",
        "the checkpoint that is loaded belongs to another model",
        Truth("crash", ("user",), False, STOP, EVERY_TIME),
        simulated(job(text("checkpoint_mismatch", AT_START, attempt=None)), seconds=AT_START_SECONDS),
    ),
    _fault(
        "file-missing",
        "a file of the tokenizer is not where the settings say, on all ranks",
        Truth("crash", ("user",), False, STOP, EVERY_TIME),
        simulated(
            job(text("file_missing", AT_START, attempt=None), dialect="huggingface"), seconds=AT_START_SECONDS
        ),
    ),
    _fault(
        "not-authorised",
        "the store of models refuses the user's token",
        Truth("crash", ("user",), False, STOP, EVERY_TIME),
        simulated(job(text("refused", AT_START, attempt=None), dialect="nemo"), seconds=AT_START_SECONDS),
    ),
    _fault(
        "port-in-use",
        "a process that was left over listens where the ranks want to meet",
        Truth(
            "crash",
            ("application",),
            False,
            RESTART,
            "the left-over process is gone, or the port another, next time",
        ),
        simulated(job(text("port_in_use", AT_START, node=0, gpu=0), dialect="torchtitan"), seconds=240),
        slurm=on_slurm(order("port_in_use", rank=0, step=0), seconds=100),
        representative=True,
    ),
    _fault(
        "cascade-of-exception-64",
        "an exception on rank 37; 63 ranks run into their watchdog two minutes later (PyTorch 2.1)",
        Truth(
            "crash",
            ("application",),
            False,
            RESTART,
            "the exception came first, all others only waited for that rank, and it is worth one restart",
        ),
        simulated(
            job(*told_by_others("cascade_exception", 24, node=4, gpu=5, exit_code=134), nodes=8, step_seconds=25.0),
            seconds=920,
            node_names=names("lx", 10),
        ),
    ),
)

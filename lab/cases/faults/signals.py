"""Which processes die of a signal?"""

from functools import partial

from lab.cases.case import Case, Did, Truth
from lab.cases.faults.making import STRIKE, fault, job, names, on_slurm, order, simulated, text
from lab.simulate.play import Fault

_fault = partial(fault, "signal")
RESTART = (Did.RESTART,)
ONCE_MORE = "who sent the signal and why is not known: once more on the same nodes, and nobody is blamed"
ECHO = "the signal alone is an echo of something unseen (143 and 134 are secondary): once more on the same nodes"

SIGNALS: tuple[Case, ...] = (
    _fault(
        "sigkill",
        "one process is killed by SIGKILL, and nothing says why",
        Truth("crash", ("unknown", "framework"), False, RESTART, ONCE_MORE),
        simulated(job(Fault("sigkill", step=STRIKE, attempt=0, node=1))),
        slurm=on_slurm(order("sigkill")),
        short=("simulated", "slurm"),
        representative=True,
    ),
    _fault(
        "sigterm",
        "one process gets SIGTERM",
        Truth("crash", ("unknown", "framework", "framework.comm"), False, RESTART, ECHO),
        simulated(job(Fault("signal", step=STRIKE, attempt=0, node=1, exit_code=143), dialect="deepspeed")),
        slurm=on_slurm(order("sigterm")),
    ),
    _fault(
        "sigsegv",
        "one process dies of a segmentation fault",
        Truth("crash", ("framework", "unknown"), False, RESTART, ONCE_MORE),
        simulated(job(Fault("signal", step=STRIKE, attempt=0, node=0, gpu=6, exit_code=139), dialect="nemo")),
        slurm=on_slurm(order("sigsegv")),
        representative=True,
    ),
    _fault(
        "sigabrt",
        "one process aborts itself",
        Truth("crash", ("framework", "unknown", "framework.comm"), False, RESTART, ECHO),
        simulated(job(Fault("signal", step=STRIKE, attempt=0, node=1, exit_code=134), dialect="plain")),
        slurm=on_slurm(order("sigabrt")),
    ),
    _fault(
        "killed-under-torchrun",
        "one process is killed; torchrun ends the others and prints its summary",
        Truth("crash", ("unknown", "framework"), False, RESTART, ONCE_MORE),
        simulated(
            job(text("killed_in_a_group", gpu=3), nodes=4, dialect="torchtitan", step_seconds=3.0), seconds=240
        ),
    ),
    _fault(
        "remote-process-exited",
        "one process dies of a segmentation fault; 32 ranks only see that the connection to it closed",
        Truth(
            "crash",
            ("framework", "unknown"),
            False,
            RESTART,
            "the process died first: what the others say of the network is its echo, and no host is excluded",
        ),
        simulated(
            job(text("remote_exited", node=3, gpu=1, exit_code=139), nodes=16, step_seconds=6.0),
            seconds=340,
            node_names=names("c", 20),
        ),
    ),
)

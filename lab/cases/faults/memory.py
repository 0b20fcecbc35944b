"""Where is not enough memory?"""

from functools import partial

from lab.cases.case import Case, Did, Truth
from lab.cases.faults.making import AGAIN_SECONDS, STRIKE, fault, job, names, on_slurm, order, simulated, text
from lab.simulate.play import Fault

_fault = partial(fault, "memory")
RESTART, STOP = (Did.RESTART,), (Did.STOP,)

MEMORY: tuple[Case, ...] = (
    _fault(
        "host-memory-limit",
        "one rank grows until its job's memory limit kills it, in every attempt at the same step",
        Truth(
            "crash",
            ("application", "system.memory"),
            False,
            RESTART,
            "out of memory after completed steps is worth one restart, and a stop when it comes again at that step",
            STOP,
        ),
        simulated(job(Fault("oom", step=STRIKE, node=1, gpu=5)), seconds=AGAIN_SECONDS),
        slurm=on_slurm(order("memory", attempt=None), seconds=140),
        representative=True,
    ),
    _fault(
        "host-memory-in-the-kernel-log",
        "the kernel kills one rank; its lines and the step daemon's reach the log, the scheduler says FAILED",
        Truth(
            "crash",
            ("application", "system.memory"),
            False,
            RESTART,
            "the kernel confirms that the job's own memory was used up: once more, no host is to blame",
        ),
        simulated(job(text("host_memory", exit_code=137), dialect="deepspeed"), seconds=360),
    ),
    _fault(
        "gpu-memory-at-start",
        "the model is too big: all ranks run out of GPU memory before the first step",
        Truth("crash", ("application",), False, STOP, "no restart makes the model smaller"),
        simulated(job(text("cuda_memory_at_start", 1, attempt=None), nodes=4, dialect="nemo"), seconds=150),
    ),
    _fault(
        "gpu-memory-later",
        "one rank runs out of GPU memory at one step of every attempt",
        Truth(
            "crash",
            ("application",),
            False,
            RESTART,
            "after completed steps it may be one long sample: once more, and a stop when it comes again",
            STOP,
        ),
        simulated(job(text("cuda_memory_later", attempt=None), dialect="torchtitan"), seconds=AGAIN_SECONDS),
    ),
    _fault(
        "gpu-memory-held-by-another",
        "a process that was left over on one host holds most of a GPU's memory",
        Truth(
            "crash",
            ("hardware.host",),
            True,
            (Did.RESTART_EXCLUDE,),
            "a foreign process on the GPU is that host's trouble and stays there",
        ),
        simulated(
            job(text("cuda_memory_foreign", 1, node=2, gpu=6), nodes=4),
            seconds=150,
            node_names=names("a100-", 8),
        ),
    ),
    _fault(
        "shared-memory-full",
        "the shared memory of a host is full: a worker of the data loader dies of a bus error",
        Truth(
            "crash",
            ("user", "system.memory", "system.filesystem"),
            False,
            RESTART,
            "what was left in the shared memory goes with the job, so one restart may help",
        ),
        simulated(job(text("shared_memory", node=1), dialect="huggingface")),
        slurm=on_slurm(order("shm_full")),
    ),
)

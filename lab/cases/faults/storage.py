"""Which file systems fail?"""

from functools import partial

from lab.cases.case import Case, Did, Truth
from lab.cases.faults.making import fault, job, names, on_slurm, order, simulated, text

_fault = partial(fault, "storage")
EXCLUDE, STOP = (Did.RESTART_EXCLUDE,), (Did.STOP,)
WAIT = (Did.RESTART, Did.ASK)
SHARED = "storage that all hosts share failed: the same nodes once it answers again, and none is to blame"

STORAGE: tuple[Case, ...] = (
    _fault(
        "checkpoint-folder-full",
        "the shared folder of checkpoints is full: nobody can save",
        Truth(
            "crash",
            ("system.filesystem",),
            False,
            STOP,
            "every retry fails at its next checkpoint and may cut the last good one short",
        ),
        simulated(job(text("no_space", 41, attempt=None)), seconds=360),
        slurm=on_slurm(order("disk_full", rank=0, step=10, attempt=None)),
        short=("simulated",),
        representative=True,
    ),
    _fault(
        "quota-used-up",
        "the user's quota is used up, and 399 other ranks see their communicators aborted",
        Truth("crash", ("user",), False, STOP, "only the user can make room, and every retry fails"),
        simulated(
            job(text("quota", 21, attempt=None, node=0, gpu=0), nodes=50, step_seconds=8.0),
            seconds=320,
            node_names=names("q", 54),
        ),
    ),
    _fault(
        "read-only-on-one-host",
        "the file system of one host went read-only",
        Truth(
            "crash",
            ("system.filesystem", "hardware.host"),
            True,
            EXCLUDE,
            "storage that fails on one host alone is that host's trouble",
        ),
        simulated(job(text("read_only", node=2, gpu=0), nodes=4, dialect="deepspeed"), node_names=names("wn", 8)),
        slurm=on_slurm(order("read_only", host="node:1", step=10)),
        representative=True,
    ),
    _fault(
        "disk-of-one-host",
        "the local disk of one host stops answering",
        Truth(
            "crash",
            ("hardware.host", "system.filesystem"),
            True,
            EXCLUDE,
            "the kernel of that host says that its disk is broken",
        ),
        simulated(job(text("disk_error", node=3, gpu=4), nodes=6, dialect="torchtitan"), node_names=names("wn", 9)),
    ),
    _fault(
        "stale-file-handles",
        "an NFS server comes back as another one: the handles of every host are stale",
        Truth("crash", ("system.filesystem",), False, WAIT, SHARED),
        simulated(job(text("stale_handles"), nodes=4, dialect="nemo"), seconds=420),
    ),
    _fault(
        "lustre-evicts-everybody",
        "a Lustre server evicts the clients of every host",
        Truth("crash", ("system.filesystem",), False, WAIT, SHARED),
        simulated(
            job(text("lustre_evicted"), nodes=8, dialect="composer"), seconds=420, node_names=names("cn", 10)
        ),
    ),
)

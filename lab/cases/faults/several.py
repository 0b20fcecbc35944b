"""What happens when two things break at once, or one thing breaks job after job?"""

from functools import partial

from lab.cases.case import Case, Did, Simulated, Truth
from lab.cases.faults.making import STRIKE, fault, job, names, on_slurm, order, simulated, text
from lab.simulate.play import Fault

_fault = partial(fault, "several")
RESTART, EXCLUDE = (Did.RESTART,), (Did.RESTART_EXCLUDE,)
_BAD = Fault("signal", step=1, node_name="n02", gpu=3, exit_code=135)

SEVERAL: tuple[Case, ...] = (
    _fault(
        "two-gpus-at-once",
        "two nodes lose a GPU within the same second",
        Truth("crash", ("hardware.gpu",), True, EXCLUDE, "both nodes say themselves that their hardware is broken"),
        simulated(
            job(
                text("off_the_bus", node=1, gpu=2, ends="goes_on"),
                text("remapping_failure", node=4, gpu=6),
                nodes=6,
            ),
            node_names=names("gpu-", 10),
        ),
        slurm=on_slurm(
            order("text", text="off_the_bus", rank=0, ends="goes_on"),
            order("text", text="ecc", rank=1),
            seconds=100,
        ),
    ),
    _fault(
        "broken-gpu-and-a-bug",
        "a double-bit error and, a moment later on the same node, an exception of the program",
        Truth(
            "crash",
            ("hardware.gpu",),
            True,
            EXCLUDE,
            "within seconds of broken hardware an exception may be its echo",
        ),
        simulated(
            job(
                text("ecc", node=2, gpu=1, ends="goes_on"),
                text("exception", node=2, gpu=7),
                nodes=4,
                dialect="nemo",
            ),
            node_names=names("gpu-", 8),
        ),
    ),
    _fault(
        "bad-node-job-after-job",
        "one node kills every job that starts on it with a bus error, and says nothing else",
        Truth(
            "crash",
            ("hardware.host", "unknown", "framework"),
            True,
            RESTART,
            "once may be chance; a second death on the same host while others are clean is the host",
            EXCLUDE,
        ),
        Simulated(
            tuple((at, job(_BAD, name=f"train-{place}")) for place, at in enumerate((0.0, 200.0, 400.0))),
            640.0,
        ),
        slurm=on_slurm(
            order("sigkill", host="node:0", step=1, attempt=None), jobs=2, seconds=150, training={"steps": 30}
        ),
    ),
    _fault(
        "two-gpus-of-many",
        "two of sixty nodes lose a GPU within the same second",
        Truth("crash", ("hardware.gpu",), True, EXCLUDE, "both nodes say themselves that their hardware is broken"),
        simulated(
            job(
                text("off_the_bus", node=1, gpu=2, ends="goes_on"),
                text("remapping_failure", node=4, gpu=6),
                nodes=6,
            ),
            node_names=names("gpu-", 60),
        ),
    ),
    _fault(
        "bad-node-hour-after-hour",
        "one node kills every job that starts on it with a bus error; the jobs come a quarter of an hour apart",
        Truth(
            "crash",
            ("hardware.host", "unknown", "framework"),
            True,
            RESTART,
            "once may be chance; a second death on the same host while others are clean is the host",
            EXCLUDE,
        ),
        Simulated(
            tuple((at, job(_BAD, name=f"train-{place}")) for place, at in enumerate((0.0, 900.0, 1800.0))),
            2040.0,
        ),
    ),
    _fault(
        "black-hole",
        "a node ends every job that starts on it at once and without a word, and so it is always free",
        Truth(
            "crash",
            ("hardware.host", "unknown"),
            True,
            RESTART,
            "the second death as soon on the same host is the host, and would eat all retries",
            EXCLUDE,
        ),
        simulated(job(Fault("silent_exit", step=1, node_name="n01"), nodes=1)),
    ),
    _fault(
        "popular-node",
        "programs of four users fail by their own mistakes on the same two nodes, one after the other",
        Truth(
            "crash",
            ("application",),
            False,
            RESTART,
            "what a program says of itself is not its node's fault, however many ran there",
            (Did.RESTART, Did.STOP, Did.ASK),
        ),
        Simulated(
            tuple(
                (at, job(text("exception", 3), name=f"train-{place}"))
                for place, at in enumerate((0, 400, 800, 1200))
            ),
            1500.0,
        ),
    ),
    _fault(
        "storage-of-four-jobs",
        "a file server comes back as another one under four jobs within a minute",
        Truth(
            "crash",
            ("system.filesystem",),
            False,
            (Did.RESTART, Did.ASK),
            "storage that several jobs share failed: one incident, and no node is to blame",
        ),
        simulated(*(job(text("stale_handles", STRIKE + place), name=f"train-{place}") for place in range(4))),
    ),
)

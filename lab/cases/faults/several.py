"""What happens when two things break at once, or one thing breaks job after job?"""

from functools import partial

from lab.cases.case import Case, Did, Simulated, Truth
from lab.cases.faults.making import fault, job, names, on_slurm, order, simulated, text
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
)

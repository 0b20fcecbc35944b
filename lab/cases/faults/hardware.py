"""Which GPUs and hosts break? On a machine without GPUs their words are replayed."""

from functools import partial
from typing import Any

from lab.cases.case import Case, Did, Truth
from lab.cases.faults.making import (
    AGAIN_SECONDS,
    SECONDS,
    STRIKE,
    fault,
    job,
    names,
    on_slurm,
    order,
    simulated,
    text,
    told_by_others,
)
from lab.simulate.play import Fault

_fault = partial(fault, "hardware")
RESTART, EXCLUDE = (Did.RESTART,), (Did.RESTART_EXCLUDE,)
BROKEN = "the node's own kernel or driver says that its hardware is broken: it is left out, and the job goes on"


def _broken(
    name: str,
    says: str,
    layers: tuple[str, ...],
    what: str,
    *,
    node: int = 1,
    gpu: int = 2,
    nodes: int = 2,
    **more: Any,
) -> Case:
    """Hardware of one node breaks and says so; the node is to blame. `more` is for the job and the case."""
    of_case = {key: more.pop(key) for key in ("slurm", "short", "representative") if key in more}
    prefix = more.pop("prefix", "gpu-")
    script = simulated(
        job(text(what, node=node, gpu=gpu), nodes=nodes, **more),
        node_names=names(prefix, nodes + 4),
        seconds=SECONDS,
    )
    return _fault(name, says, Truth("crash", layers, True, EXCLUDE, BROKEN), script, **of_case)


HARDWARE: tuple[Case, ...] = (
    _broken(
        "xid-48-ecc",
        "Xid 48, 63 and 95: a double-bit error in the memory of one GPU",
        ("hardware.gpu",),
        "ecc",
        gpu=5,
        nodes=4,
        node=2,
        slurm=on_slurm(order("text", text="ecc")),
        short=("simulated", "slurm"),
        representative=True,
    ),
    _broken(
        "xid-79-off-the-bus",
        "Xid 79: a GPU has fallen off the bus",
        ("hardware.gpu",),
        "off_the_bus",
        gpu=0,
        nodes=16,
        node=11,
        dialect="nemo",
        slurm=on_slurm(order("text", text="off_the_bus")),
    ),
    _broken(
        "xid-64-no-spare-rows",
        "Xid 64 and 154: no spare row is left, the node has to be booted",
        ("hardware.gpu",),
        "remapping_failure",
        dialect="torchtitan",
        prefix="h100-",
    ),
    _broken(
        "xid-62-controller-halt",
        "Xid 62: the micro-controller of a GPU stopped",
        ("hardware.gpu",),
        "controller_halt",
        node=0,
        gpu=7,
        dialect="deepspeed",
    ),
    _broken(
        "xid-120-firmware",
        "Xid 120 and 154: the firmware of a GPU crashed",
        ("system.driver", "hardware.gpu"),
        "firmware_error",
        nodes=8,
        node=7,
        gpu=1,
    ),
    _broken(
        "xid-74-nvlink",
        "Xid 74 from both ends of an NVLink",
        ("hardware.nvlink",),
        "link_error",
        nodes=4,
        node=3,
        gpu=3,
        dialect="composer",
        prefix="b",
    ),
    _broken(
        "xid-149-nvlink5",
        "Xid 149, sub-code 4: the signal of this end of a link is bad (Blackwell)",
        ("hardware.nvlink",),
        "blackwell_link",
        node=0,
        gpu=1,
        prefix="gb",
    ),
    _broken(
        "sxid-nvswitch",
        "a fatal error of an NVSwitch",
        ("hardware.nvlink",),
        "switch_fatal",
        nodes=4,
        node=1,
        gpu=4,
        dialect="huggingface",
    ),
    _broken(
        "gpu-lost-in-listing",
        "the program only says 'launch failure'; the health check's nvidia-smi says that the GPU is lost",
        ("hardware.gpu",),
        "lost_in_listing",
        gpu=6,
        dialect="plain",
        prefix="node",
    ),
    _broken(
        "machine-check",
        "an uncorrected memory error of the host",
        ("hardware.host",),
        "machine_check",
        nodes=8,
        node=5,
        prefix="dl",
    ),
    _broken(
        "driver-library-mismatch",
        "one node was updated and not booted: its driver and its library do not fit",
        ("system.driver",),
        "driver_mismatch",
        nodes=4,
        node=2,
        gpu=0,
        dialect="megatron",
        prefix="wn",
    ),
    _fault(
        "xid-94-contained",
        "Xid 94, a contained memory error, on the same GPU in every attempt that runs there",
        Truth(
            "crash",
            ("hardware.gpu",),
            True,
            RESTART,
            "contained once: the node may be used again; the same GPU a second time within a day is left out",
            EXCLUDE,
        ),
        simulated(
            job(text("contained_memory_error", attempt=None, node="", node_name="gpu-2", gpu=4)),
            seconds=AGAIN_SECONDS,
            node_names=names("gpu-", 4),
        ),
    ),
    _fault(
        "xid-119-firmware-hangs",
        "Xid 119 again and again: the firmware of a GPU does not answer, and the job hangs",
        Truth(
            "hang",
            ("system.driver", "hardware.gpu"),
            True,
            EXCLUDE,
            "the driver names the GPU whose firmware does not answer, and it needs a reset",
        ),
        simulated(
            job(text("firmware_timeout", node=1, gpu=3, ends="hang"), nodes=4),
            seconds=480,
            node_names=names("gpu-", 8),
        ),
    ),
    _fault(
        "xid-31-page-fault",
        "Xid 31 and 'illegal memory access' on one rank, then Xid 45 on all GPUs of the node",
        Truth(
            "crash",
            ("application",),
            False,
            RESTART,
            "a page fault that the program caused: Xid 45 is its echo, and no node is to blame for either",
        ),
        simulated(job(text("illegal_access", gpu=5), dialect="torchtitan")),
        short=("simulated",),
    ),
    _fault(
        "xid-13-burst",
        "a burst of Xid 13 from one kernel on one GPU",
        Truth(
            "crash", ("application",), False, RESTART, "one burst is one mistake of the program, and not hardware"
        ),
        simulated(job(text("graphics_exception", gpu=1), nodes=4)),
    ),
    _fault(
        "kernel-panic",
        "the kernel of one node panics; the node is lost, and Slurm queues the job again",
        Truth(
            "crash",
            ("hardware.host",),
            True,
            (Did.NONE, Did.RESTART_EXCLUDE),
            "the lost node is out of use, and Slurm has queued the job again by itself",
        ),
        simulated(
            job(
                text("kernel_panic", node=2, ends="goes_on"),
                Fault("node_down", step=STRIKE, attempt=0, node=2),
                nodes=4,
            ),
            seconds=340,
            node_timeout_seconds=60.0,
        ),
    ),
    _fault(
        "cascade-of-lost-gpu-512",
        "a GPU falls off the bus; 511 watchdogs speak two minutes later, with clocks seconds apart (PyTorch 2.6)",
        Truth(
            "crash",
            ("hardware.gpu",),
            True,
            EXCLUDE,
            "the lost GPU came first; hundreds of others only waited for it",
        ),
        simulated(
            job(*told_by_others("cascade_bus", 24, node=37, gpu=6, exit_code=134), nodes=64, step_seconds=25.0),
            seconds=920,
            node_names=names("r", 70),
        ),
    ),
)

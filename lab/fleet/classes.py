"""What breaks in the fleet, what only looks so, and what is right to say and to do about each?

The truth follows the reference on attribution (sections 6 and 7) and on traps, and was written before the product
was asked.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from lab.cases.case import Case, Did, Sort, Truth
from lab.fleet.published import LLAMA_CAUSES, NVLINK_OF_FAULTY_GPU
from lab.simulate.play import Fault

AT_ONCE = 0  # of a fault's step: at the next moment of the attempt


@dataclass(frozen=True, slots=True)
class Kind:
    """One class of the fleet with its pseudo-case. `faults` are its variants, drawn with equal chance.

    `mended`: it comes again in every attempt until its user has mended the program. A job of fewer than
    `least_nodes` nodes does not notice it.
    """

    case: Case
    faults: tuple[Fault, ...]
    mended: bool = False
    least_nodes: int = 1

    @property
    def name(self) -> str:
        """Its name, a row of the fleet's table."""
        return self.case.name

    @property
    def harmful(self) -> bool:
        """Whether something is broken."""
        return self.case.sort is Sort.FAULT

    def fault(self, dice: random.Random, *, node: str | int = 0, step: int = AT_ONCE, attempt: int | None) -> Fault:
        """One of its faults at its place."""
        return replace(dice.choice(self.faults), node=node, step=step, attempt=attempt, gpu=dice.randrange(8))


def _fault(
    name: str,
    group: str,
    says: str,
    truth: Truth,
    *faults: Fault,
    mended: bool = False,
    least_nodes: int = 1,
) -> Kind:
    return Kind(Case(f"fleet.{name}", Sort.FAULT, group, says, truth), faults, mended, least_nodes)


def _trap(name: str, says: str, why: str, *faults: Fault, actions: tuple[Did, ...] = (Did.NONE,)) -> Kind:
    truth = Truth("none", (), False, actions, why)
    return Kind(Case(f"fleet.{name}", Sort.TRAP, "trap", says, truth), faults)


def _text(name: str, exit_code: int = 1, ends: str = "failed") -> Fault:
    return Fault("text", text=name, exit_code=exit_code, ends=ends)


_NAMED = (Did.RESTART_EXCLUDE,)
_ONCE = (Did.RESTART,)
_ONCE_THEN_STOP = "an error of the program or its data may be an accident once, and comes again if it is none"

GPU = _fault(
    "gpu",
    "hardware",
    "a GPU fails",
    Truth("crash", ("hardware.gpu",), True, _NAMED, "the driver names a broken GPU"),
    _text("off_the_bus"),
    _text("controller_halt"),
)
FIRMWARE = _fault(
    "firmware",
    "hardware",
    "the firmware of a GPU crashes",
    Truth(
        "crash", ("system.driver", "hardware.gpu"), True, _NAMED, "the driver names the GPU whose firmware crashed"
    ),
    _text("firmware_error"),
)
GPU_MEMORY = _fault(
    "gpu_memory",
    "hardware",
    "a GPU's memory fails",
    Truth("crash", ("hardware.gpu",), True, _NAMED, "the driver names an uncorrectable error"),
    Fault("ecc"),
    _text("ecc"),
    _text("remapping_failure"),
)
NVLINK = _fault(
    "nvlink",
    "hardware",
    "NVLink fails",
    Truth("crash", ("hardware.nvlink",), True, (Did.RESTART, Did.RESTART_EXCLUDE), "NVLink once"),
    _text("link_error"),
)
NETWORK = _fault(
    "network",
    "network",
    "a network port or cable fails",
    Truth("crash", ("hardware.network",), True, (Did.RESTART_EXCLUDE, Did.RESTART), "several name one peer"),
    _text("completion_errors"),
    _text("port_down"),
    _text("card_broken"),
    least_nodes=3,
)
HOST = _fault(
    "host",
    "hardware",
    "a node stops answering",
    Truth("crash", ("hardware.host",), True, (Did.NONE, *_NAMED), "Slurm calls it down and requeues the job"),
    Fault("node_down"),
)
SOFTWARE = _fault(
    "software",
    "signal",
    "a process dies by a signal, once",
    Truth("crash", ("unknown", "framework"), False, _ONCE, "nothing names a node"),
    Fault("signal", exit_code=139),
    Fault("sigkill"),
)
HANG = _fault(
    "hang",
    "silence",
    "the job falls silent without a word and stays",
    Truth("hang", ("unknown", "framework.comm"), False, _ONCE, "silence beyond the job's own rhythm names nobody"),
    Fault("hang"),
)
EXCEPTION = _fault(
    "program",
    "program",
    "an exception of the program at one step, until it is mended",
    Truth("crash", ("application",), False, _ONCE, _ONCE_THEN_STOP, later=(Did.STOP,)),
    _text("exception"),
    mended=True,
)
START = _fault(
    "program_start",
    "program",
    "the program fails before its first step, until it is mended",
    Truth("crash", ("application", "user"), False, (Did.STOP,), "every retry fails in the same way"),
    _text("import_error_everywhere"),
    _text("bad_argument", exit_code=2),
    _text("bad_settings"),
    _text("checkpoint_mismatch"),
    mended=True,
)
CUDA_MEMORY = _fault(
    "cuda_memory",
    "memory",
    "the program wants more GPU memory than there is, until it is mended",
    Truth(
        "crash",
        ("application",),
        False,
        _ONCE,
        "once more when steps had passed",
        later=(Did.STOP,),
    ),
    _text("cuda_memory_later"),
    mended=True,
)
HOST_MEMORY = _fault(
    "host_memory",
    "memory",
    "the program wants more memory than its job has, until it is mended",
    Truth("crash", ("system.memory",), False, _ONCE, "once more, then it is the program", later=(Did.STOP,)),
    Fault("oom"),
    _text("host_memory", exit_code=137),
    mended=True,
)
DATA = _fault(
    "data",
    "data",
    "the data cannot be read at one position, until they are mended",
    Truth("crash", ("data",), False, _ONCE, _ONCE_THEN_STOP, later=(Did.STOP,)),
    _text("data_error"),
    mended=True,
)
SWITCH = _fault(
    "switch",
    "several",
    "a switch fails under many jobs at once",
    Truth(
        "crash",
        ("hardware.network", "framework.comm"),
        False,
        (Did.RESTART, Did.ASK),
        "a common cause: no node is to blame, and restarts in masses are for a person to allow",
    ),
    _text("port_flap_late"),
    least_nodes=2,
)
STORAGE = _fault(
    "storage",
    "storage",
    "the shared file system stalls, and the job does not survive it",
    Truth("crash", ("system.filesystem",), False, (Did.RESTART, Did.ASK), "wait, then on the same nodes"),
    _text("stale_handles"),
    _text("lustre_evicted"),
)

EVALUATION = _trap("evaluation", "one long evaluation", "a phase is no hang", Fault("pause"))
LONG_SAVE = _trap("long_save", "one save that takes long", "a phase is no hang", Fault("pause"))
STALL = _trap(
    "stall",
    "the shared file system stands still for a while",
    "it goes on by itself; one incident for a person at most, and no mass restart",
    Fault("pause"),
    actions=(Did.NONE, Did.ASK),
)
CANCELLED = _trap("cancelled", "its user cancels it", "a wish is no failure", Fault("cancel"))
TIME_LIMIT = _trap("time_limit", "it asked for too little time", "a limit is no failure", Fault("timeout"))
PREEMPTED = _trap("preempted", "it makes room for others", "Slurm deals with it itself", Fault("preempt"))
PLAIN = _trap("plain", "nothing happens to it", "it is healthy")

KINDS: tuple[Kind, ...] = (
    GPU,
    FIRMWARE,
    GPU_MEMORY,
    NVLINK,
    NETWORK,
    HOST,
    SOFTWARE,
    HANG,
    EXCEPTION,
    START,
    CUDA_MEMORY,
    HOST_MEMORY,
    DATA,
    SWITCH,
    STORAGE,
    EVALUATION,
    LONG_SAVE,
    STALL,
    CANCELLED,
    TIME_LIMIT,
    PREEMPTED,
    PLAIN,
)
"""Every class, in the order of the table."""


def _machine_weights() -> dict[Kind, float]:
    counts = LLAMA_CAUSES
    faulty = counts["Faulty GPU"]
    return {
        GPU: faulty * (1 - NVLINK_OF_FAULTY_GPU)
        + sum(counts[name] for name in ("Silent Data Corruption", "GPU Thermal Interface + Sensor")),
        FIRMWARE: counts["GPU System Processor"],
        GPU_MEMORY: counts["GPU HBM3 Memory"] + counts["GPU SRAM Memory"],
        NVLINK: faulty * NVLINK_OF_FAULTY_GPU,
        NETWORK: counts["Network Switch/Cable"] + counts["NIC"],
        HOST: sum(
            counts[name]
            for name in (
                "Host Maintenance",
                "SSD",
                "Power Supply",
                "Server Chassis",
                "IO Expansion Board",
                "CPU",
                "System Memory",
            )
        ),
        HANG: counts["NCCL Watchdog Timeouts"],
        SOFTWARE: counts["Software Bug"] + counts["Dependency"],
    }


MACHINE: Mapping[Kind, float] = _machine_weights()
"""How often which class strikes a node: LLAMA's 419 interruptions by cause."""
HARDWARE_PART = 1 - MACHINE[SOFTWARE] / sum(MACHINE.values())
"""META's rate for each node-day counts the infrastructure alone: software comes on top of it."""

PROGRAM: Mapping[Kind, float] = {EXCEPTION: 0.35, START: 0.2, CUDA_MEMORY: 0.2, HOST_MEMORY: 0.1, DATA: 0.15}
"""Assumed: how errors of users divide. PHILLY lists their causes and no shares that fit these classes."""

"""How strong is a symptom as a cause? Tiers of attribution section 6.2: a lower number wins."""

from collections.abc import Callable
from dataclasses import dataclass

from detectors.attribution.facts import Symptom
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role


@dataclass(frozen=True)
class Tier:
    """One row: the first that holds gives the tier."""

    number: int
    id: str
    because: str
    holds: Callable[[Symptom], bool]


def _named(*beginnings: str) -> Callable[[Symptom], bool]:
    return lambda symptom: symptom.signature.startswith(beginnings)


_FAILURES = frozenset({AnomalyKind.CRASH, AnomalyKind.HANG, AnomalyKind.NAN})
_DRIVER_OR_HARDWARE = frozenset(
    {
        Layer.HARDWARE_GPU,
        Layer.HARDWARE_NVLINK,
        Layer.HARDWARE_NETWORK,
        Layer.HARDWARE_HOST,
        Layer.SYSTEM_DRIVER,
    }
)
_LOST = (
    "slurm.state.node_fail",
    "slurm.state.boot_fail",
    "gpu.",
    "kernel.mce",
    "kernel.panic",
    "fabricmanager.fatal",
    "nvrm.gsp_timeout",
    "slurm.node_failure",
    "slurm.io_err",
    "slurm.launch_fail",
    "slurm.reason_down",
)
_MEMORY = ("kernel.oom", "slurm.task_oom", "slurm.oom_event", "slurm.mem_limit", "slurm.state.oom")
_STORAGE = (
    "fs.stale",
    "fs.eio",
    "fs.enospc",
    "fs.edquot",
    "fs.eshutdown",
    "fs.enotconn",
    "fs.erofs",
    "s3.",
    "ckpt.writer",
    "kernel.fs_ro",
    "kernel.lustre",
    "kernel.nfs",
)
_BROKEN_LINKS = ("store.connect", "store.clients", "gloo.", "mpi.fatal", "mpi.daemon_failed", "ucx.connect")
_SIGNALS = ("proc.", "py.fatal", "slurm.task_signal", "slurm.task_killed", "slurm.state.signal", "kernel.segv")


def _lost(symptom: Symptom) -> bool:
    fatal_code = symptom.signature.startswith(("xid.", "sxid")) and symptom.role is Role.ROOT
    return symptom.signature.startswith(_LOST) or (fatal_code and symptom.layer in _DRIVER_OR_HARDWARE)


def _hardware_text(symptom: Symptom) -> bool:
    return symptom.layer in _DRIVER_OR_HARDWARE and symptom.role is Role.ROOT


def _network_doubt(symptom: Symptom) -> bool:
    return symptom.layer is Layer.HARDWARE_NETWORK or symptom.signature.startswith(_BROKEN_LINKS)


TIERS: tuple[Tier, ...] = (
    Tier(1, "tier.lost", "a node or a GPU was lost", _lost),
    Tier(3, "tier.memory", "the host ran out of memory", _named(*_MEMORY)),
    Tier(4, "tier.scheduler", "the scheduler decided it", lambda symptom: symptom.layer is Layer.SCHEDULER),
    Tier(5, "tier.storage", "storage failed or was full", _named(*_STORAGE)),
    Tier(5, "tier.storage_layer", "storage failed", lambda symptom: symptom.layer is Layer.SYSTEM_FILESYSTEM),
    Tier(2, "tier.hardware", "the message names broken hardware", _hardware_text),
    Tier(9, "tier.silence", "a collective or the job stood still", lambda s: s.kind is AnomalyKind.HANG),
    Tier(8, "tier.network", "a connection broke", _network_doubt),
    Tier(7, "tier.signal", "a process was killed by a signal", _named(*_SIGNALS)),
    Tier(6, "tier.exception", "the program raised an error", lambda symptom: True),
)
WARNING = Tier(2, "tier.warning", "broken hardware is told of while the job trains", lambda symptom: True)
VICTIM = Tier(10, "tier.victim", "a victim's message, never a cause", lambda symptom: True)


def tier_of(symptom: Symptom) -> Tier:
    """The tier of a symptom; `VICTIM` for secondary and confirming messages and for what is no failure."""
    proves_memory = symptom.role is Role.CONFIRM and symptom.signature.startswith(_MEMORY)
    if symptom.kind not in _FAILURES or not (symptom.role in (Role.ROOT, Role.CANDIDATE) or proves_memory):
        return VICTIM
    return next(tier for tier in TIERS if tier.holds(symptom))

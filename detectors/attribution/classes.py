"""Which symptoms call for the same answer? By the action of their catalogue entry, and by what section 7.1 adds."""

STOP, EXCLUDE, ONE_OR_ALL, ON_REPEAT = "stop", "restart_exclude", "exclude_one_or_stop", "restart_then_exclude"
"""Actions of catalogue entries that decide here; the others lead to a restart."""

BY_INNER_TEXT = "by_inner_text"
"""The message passes on an error of something else."""

ALSO_STOP = ("torch.shape",)
"""Every retry fails in the same way, though the entry allows one restart."""

ALSO_ON_REPEAT = ("cuda.illegal_access", "xid.13", "xid.31", "slurm.task_killed", "slurm.task_signal")
"""The program's at first; on the same host again, while others are clean, that host's."""

LOCAL_FOLDERS = ("/tmp/", "/dev/shm/", "/local/", "/var/")  # noqa: S108  # folders that every node has of its own

MEMORY = ("kernel.oom", "slurm.task_oom", "slurm.mem_limit", "slurm.oom_event", "slurm.state.oom")
STORAGE = ("fs.stale", "fs.eio", "fs.eshutdown", "fs.enotconn", "s3.", "ckpt.writer", "kernel.lustre", "kernel.nfs")
AKIN = (
    (
        "fs.stale",
        "fs.eio",
        "fs.eshutdown",
        "fs.enotconn",
        "kernel.lustre",
        "kernel.nfs",
        "dl.timeout",
        "ckpt.writer",
    ),
    ("fs.erofs", "kernel.fs_ro"),
    ("s3.", "hf.hub_net"),
    (
        "nccl.ib.completion",
        "nccl.ib.port_error",
        "nccl.ib.modify_qp",
        "nccl.connect",
        "nccl.ofi",
        "ucx.transport",
        "ucx.adapter",
        "libfabric.peer",
        "ib.qp",
        "mpi.fabric",
        "kernel.mlx5_link",
    ),
)
"""What one shared thing says in different words: a file server that does not answer, one that turned read-only, a
store of objects, a fabric. A full disk, a quota, a broken file and a broken card of a host have no kin."""
IN_JOB_RECOVERY = ("elastic.restart", "nvrx.cycle_event", "nvrx.section", "nvrx.hb_initial", "nvrx.inprocess")
"""Somebody inside the job repairs it already: hold off while it lives."""

OF_A_PROCESS = ("proc.", "py.", "mpi.", "launch.", "ray.", "elastic.child_failed", "slurm.task_ended", "ds.launch")
"""A process has ended, or was told to: nothing is said of how processes speak with each other."""

FLUSHED = ("nccl.ib.flush",)
"""Work of a network adapter that was thrown away because its connection was already broken."""

NAMED_AT_MOST = 32
"""Hosts or ranks that one symptom lists, however many show it: the detector's own limit."""


def belongs(signature: str, family: tuple[str, ...]) -> bool:
    """Whether a signature begins with a member of a class, e.g. `kernel.oom` or `s3.`."""
    return signature.startswith(family)


def kin_of(signature: str) -> str:
    """The name of a signature's family: its first member; the signature itself where it has no kin."""
    return next((family[0] for family in AKIN if belongs(signature, family)), signature)


def akin(one: str, other: str) -> bool:
    """Whether two signatures can be words of one cause: the same one, or of one family. Nothing is akin to none."""
    return bool(one) and bool(other) and kin_of(one) == kin_of(other)


def stops(signature: str, action: str) -> bool:
    """Whether every retry fails in the same way."""
    return action == STOP or signature in ALSO_STOP


def tells_on_repeat(signature: str, action: str) -> bool:
    """Whether the host that shows it twice is to be left out."""
    return action == ON_REPEAT or signature in ALSO_ON_REPEAT

"""Which signatures call for the same answer? Classes of attribution section 7.1."""

PROVED_STOP = (
    "py.import",
    "py.argparse",
    "py.config",
    "torch.shape",
    "torch.unused",
    "ckpt.mismatch",
    "ckpt.megatron_args",
    "nccl.version_mismatch",
    "nccl.dup_gpu",
    "nccl.usage",
    "pg.mismatch",
    "fs.edquot",
    "hf.auth",
    "ds.elastic_nodes",
    "num.megatron_app",
    "num.deepspeed_min",
    "num.foundry_spike",
    "nvrx.early_term",
    "nvrx.no_restart",
    "state.exit_93",
    "state.exit_126",
    "state.exit_127",
    "slurm.hold",
)
"""Every retry fails in the same way: stop at the first proof."""

ENVIRONMENT = (
    "py.import",
    "state.exit_126",
    "state.exit_127",
    "fs.erofs",
    "fs.enospc",
    "fs.enotconn",
    "fs.eshutdown",
    "cuda.nodevice",
    "cuda.driver_old",
    "cuda.ordinal",
    "cuda.notinit",
    "nccl.ib.regmr",
    "nccl.bootstrap_noif",
    "nvml.driver_mismatch",
)
"""On one host alone it is that host's environment; on all hosts it is the job's."""

LOCAL_FOLDERS = ("/tmp/", "/dev/shm/", "/local/", "/var/")  # noqa: S108  # folders that every node has of its own

STOP_ON_ALL_HOSTS = (
    "cuda.nodevice",
    "cuda.driver_old",
    "cuda.ordinal",
    "nccl.ib.regmr",
    "nccl.bootstrap_noif",
    "fs.erofs",
    "fs.enospc",
)

EXCLUDE_ON_REPEAT = (
    "cuda.illegal",
    "cuda.launch_failure",
    "cuda.hw_stack",
    "cublas.exec",
    "xid.",
    "nvml.usage",
    "nvlink.postrx",
    "nccl.ib.",
    "nccl.connect",
    "store.connect",
    "kernel.hungtask",
    "kernel.softlockup",
    "py.fatal",
    "proc.",
    "state.signal",
    "slurm.task_signal",
    "fs.stale",
    "fs.eio",
    "dl.timeout",
    "num.megatron",
    "pg.heartbeat_stuck",
)
"""Restarted once; the host (and GPU) that shows it again is left out."""

MEMORY = ("kernel.oom", "slurm.task_oom", "slurm.mem_limit", "slurm.oom_event", "state.out_of_memory")
STORAGE = ("fs.stale", "fs.eio", "fs.eshutdown", "fs.enotconn", "s3.", "ckpt.writer", "kernel.lustre", "kernel.nfs")
IN_JOB_RECOVERY = ("elastic.restart", "nvrx.cycle_event", "nvrx.section", "nvrx.hb_initial", "nvrx.inprocess")
"""Somebody inside the job repairs it already: hold off while it lives."""


def belongs(signature: str, family: tuple[str, ...]) -> bool:
    """Whether a signature begins with a member of a class, e.g. `cuda.illegal` or `xid.`."""
    return signature.startswith(family)

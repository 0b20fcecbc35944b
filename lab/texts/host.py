"""What do the kernel, the file systems and Slurm say when a host or its storage breaks?"""

from lab.dialects.dialect import clock, steady
from lab.texts.struck import Spoken, Struck, Text, say

FOLDER = "/scratch/train/ckpt"


def kernel(struck: Struck, *lines: str) -> tuple[str, ...]:
    """Lines of the kernel log of the struck node, as they reach the job's log."""
    return tuple(f"{struck.host}: {line}" for line in lines)


def os_error(rank: int, number: int, says: str, path: str, after: float) -> tuple[Spoken, ...]:
    """The traceback of a rank whose checkpoint cannot be written."""
    head = f"[rank{rank}]:"
    return say(
        after,
        f"{head} Traceback (most recent call last):",
        f'{head}   File "/opt/train/loop.py", line 141, in save',
        f"{head}     writer.write(shard)",
        f'{head}   File "/opt/train/storage.py", line 58, in write',
        f'{head}     with open(draft, "wb") as file:',
        f"{head} OSError: [Errno {number}] {says}: '{path}'",
    )


def shard(rank: int) -> str:
    """The file a rank writes."""
    return f"{FOLDER}/step_00000240/shard_{rank:05d}.pt.draft"


def kernel_panic(struck: Struck) -> tuple[Spoken, ...]:
    """The last words of a node that a console server collects."""
    seconds = 81_233.0 + steady(struck.job, "up")
    return say(
        0,
        *kernel(
            struck,
            f"[{seconds:.6f}] BUG: unable to handle page fault for address: ffffb2c180a4d0f8",
            f"[{seconds + 0.000031:.6f}] Oops: 0002 [#1] PREEMPT SMP NOPTI",
            f"[{seconds + 0.21:.6f}] Kernel panic - not syncing: Fatal exception",
            f"[{seconds + 0.35:.6f}] ---[ end Kernel panic - not syncing: Fatal exception ]---",
        ),
    )


def machine_check(struck: Struck) -> tuple[Spoken, ...]:
    """An uncorrected memory error of the host kills the process that read it."""
    return say(
        0,
        *kernel(
            struck,
            "mce: [Hardware Error]: CPU 17: Machine Check Exception: 5 Bank 9: bd80000000100134",
            "mce: [Hardware Error]: RIP 33:<00007f4c11a0be42> {0} TSC 1d0ff31ac2e80 ADDR 5ab3c80100 MISC 86",
            "mce: [Hardware Error]: PROCESSOR 0:606a6 TIME 1795000000 SOCKET 0 APIC 22 microcode d0003b9",
            f"mce: Uncorrected hardware memory error at 5ab3c80100; killing python3:{struck.process}",
        ),
    )


def host_memory(struck: Struck) -> tuple[Spoken, ...]:
    """The kernel kills the rank because its job's memory is used up, and Slurm's step daemon tells it."""
    group = f"/slurm/uid_4100/job_{struck.job}/step_0/task_{struck.gpu}"
    kills = (
        f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=step_0,mems_allowed=0-1,"
        f"oom_memcg=/slurm/uid_4100/job_{struck.job},task_memcg={group},task=python3,pid={struck.process},uid=4100",
        f"Memory cgroup out of memory: Killed process {struck.process} (python3) total-vm:1184021740kB, "
        "anon-rss:501224832kB, file-rss:184512kB, shmem-rss:2097152kB, UID:4100 pgtables:1012340kB oom_score_adj:0",
    )
    step = f"StepId={struck.job}.0"
    return (
        *say(0, *kernel(struck, *kills)),
        *say(
            0.5,
            f"slurmstepd-{struck.host}: error: Detected 1 oom_kill event in {step}. "
            "Some of the step tasks have been OOM Killed.",
        ),
    )


def disk_error(struck: Struck) -> tuple[Spoken, ...]:
    """The local disk of one node stops answering while data is read from it."""
    return (
        *say(
            0,
            *kernel(
                struck,
                "nvme nvme1: I/O 412 QID 7 timeout, reset controller",
                "nvme nvme1: Disabling device after reset failure: -5",
                "Buffer I/O error on dev nvme1n1p2, logical block 77193216, async page read",
            ),
        ),
        *os_error(struck.rank, 5, "Input/output error", "/local/cache/shard_00412.bin", 0.8),
    )


def stale_handles(struck: Struck) -> tuple[Spoken, ...]:
    """An NFS server comes back as another one: every node's handles are stale."""
    lines: list[Spoken] = []
    for place, host in enumerate(struck.nodes):
        lines += say(0.2 * place, f"{host}: nfs: server 172.24.9.14 not responding, still trying")
    for place, host in enumerate(struck.nodes):
        rank = struck.first_rank(host)
        lines += os_error(rank, 116, "Stale file handle", shard(rank), 40.0 + 0.3 * place)
    return tuple(lines)


def lustre_evicted(struck: Struck) -> tuple[Spoken, ...]:
    """A Lustre server evicts the clients of every node."""
    lines: list[Spoken] = []
    for place, host in enumerate(struck.nodes):
        ost = "work2-OST0031"
        evicted = (
            f"LustreError: 167-0: {ost}-osc-ff1100{place:02x}d2c80000: This client was evicted by {ost}; "
            "in progress operations using this service will fail."
        )
        rank = struck.first_rank(host)
        lines += say(0.3 * place, f"{host}: {evicted}")
        lines += os_error(rank, 108, "Cannot send after transport endpoint shutdown", shard(rank), 4 + place * 0.3)
    return tuple(sorted(lines, key=lambda one: one.after_seconds))


def no_space(struck: Struck) -> tuple[Spoken, ...]:
    """The shared folder of checkpoints is full: the ranks of every node fail to save."""
    lines: list[Spoken] = []
    for place, host in enumerate(struck.nodes):
        rank = struck.first_rank(host)
        lines += os_error(rank, 28, "No space left on device", shard(rank), 0.1 * place)
    return tuple(lines)


def quota(struck: Struck) -> tuple[Spoken, ...]:
    """The user's quota is used up; afterwards every other rank only sees its collectives being aborted."""
    lines = [*os_error(struck.rank, 122, "Disk quota exceeded", shard(struck.rank), 0)]
    for place, rank in enumerate(struck.others()[:400]):
        aborted = f"[rank{rank}]: RuntimeError: NCCL communicator was aborted on rank {rank}."
        lines += say(2.0 + 0.002 * place + struck.skew(struck.host_of(rank)) * 0.1, aborted)
    return tuple(sorted(lines, key=lambda one: one.after_seconds))


def read_only(struck: Struck) -> tuple[Spoken, ...]:
    """The file system of one node went read-only."""
    return (
        *say(
            0,
            *kernel(
                struck,
                "EXT4-fs error (device sdb1): ext4_journal_check_start:83: comm python3: Detected aborted journal",
                "EXT4-fs (sdb1): Remounting filesystem read-only",
            ),
        ),
        *os_error(struck.rank, 30, "Read-only file system", "/local/ckpt/shard.draft", 0.6),
    )


def server_slow(struck: Struck) -> tuple[Spoken, ...]:
    """A file server answers late, to every node alike; nothing fails."""
    return tuple(
        line
        for place, host in enumerate(struck.nodes)
        for line in say(0.5 * place, f"{host}: nfs: server 172.24.9.21 not responding, still trying")
    )


def driver_mismatch(struck: Struck) -> tuple[Spoken, ...]:
    """One node was updated and not booted: its driver and its library do not fit."""
    head = f"[rank{struck.rank}]:"
    return (
        *say(0, f"{struck.host}: Failed to initialize NVML: Driver/library version mismatch (550.90, 550.127)"),
        *say(
            0.3,
            f"{head} Traceback (most recent call last):",
            f'{head}   File "/opt/train/pretrain.py", line 31, in <module>',
            f"{head}     torch.cuda.set_device(local_rank)",
            f"{head} RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment, e.g. "
            "changing env variable CUDA_VISIBLE_DEVICES after program start. Setting the available devices to 0.",
        ),
    )


def killed_in_a_group(struck: Struck) -> tuple[Spoken, ...]:
    """torchrun's summary of a rank that was killed: the others get SIGTERM from their agents."""
    when = clock(struck.at).replace(" ", "_")
    others = [struck.process_of(rank) for rank in struck.others() if struck.host_of(rank) == struck.host]
    api = "torch/distributed/elastic/multiprocessing/api.py"
    stamp = f"{clock(struck.at)[5:].replace('-', '').replace(' ', ' ')}.118000 {struck.process + 5}"
    bar = "=" * 60
    return (
        *say(0, *(f"W{stamp} {api}:897] Sending process {one} closing signal SIGTERM" for one in others)),
        *say(
            0.3,
            f"E{stamp} {api}:869] failed (exitcode: -9) local_rank: {struck.gpu} (pid: {struck.process}) of "
            "binary: /opt/venv/bin/python3",
        ),
        *say(
            0.5,
            bar,
            "/opt/train/pretrain.py FAILED",
            "-" * 60,
            "Failures:",
            "  <NO_OTHER_FAILURES>",
            "-" * 60,
            "Root Cause (first observed failure):",
            "[0]:",
            f"  time      : {when}",
            f"  host      : {struck.host}",
            f"  rank      : {struck.rank} (local_rank: {struck.gpu})",
            f"  exitcode  : -9 (pid: {struck.process})",
            "  error_file: <N/A>",
            f"  traceback : Signal 9 (SIGKILL) received by PID {struck.process}",
            bar,
        ),
    )


TEXTS: dict[str, Text] = {
    "kernel_panic": kernel_panic,
    "machine_check": machine_check,
    "host_memory": host_memory,
    "disk_error": disk_error,
    "stale_handles": stale_handles,
    "lustre_evicted": lustre_evicted,
    "no_space": no_space,
    "quota": quota,
    "read_only": read_only,
    "server_slow": server_slow,
    "driver_mismatch": driver_mismatch,
    "killed_in_a_group": killed_in_a_group,
}

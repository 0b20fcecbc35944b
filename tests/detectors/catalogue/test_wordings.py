"""Is the same failure known however a library words it, and is what only sounds like it left alone?"""

import pytest

from detectors.catalogue.linear import encoded
from detectors.catalogue.matching import matcher

WORDINGS: list[tuple[str, str]] = [
    ("ray: a limit of threads reaches C++", "what(): thread: Resource temporarily unavailable [system:11]"),
    ("a limit of threads reaches the C++ runtime", "  what():  Resource temporarily unavailable"),
    ("a limit of processes", "BlockingIOError: [Errno 11] Resource temporarily unavailable"),
    ("shared memory is too small to write", "RuntimeError: unable to write to file </torch_76_3625483894>"),
    (
        "shared memory is full",
        "RuntimeError: unable to write to file </torch_31_95_6>: No space left on device (28)",
    ),
    (
        "shared memory cannot be mapped",
        "RuntimeError: unable to mmap 128 bytes from file </torch_9_1>: Cannot allocate",
    ),
    ("torch.save fails on the device", "RuntimeError: write(): fd 29 failed with Input/output error"),
    ("HDF5 fails on the device", "OSError: cannot read (errno = 5, error message = 'Input/output error')"),
    ("a Rust library fails on the device", "Error: Input/output error (os error 5)"),
    ("a shell command fails on the device", "cp: error writing '/scratch/out.bin': Input/output error"),
    ("a Rust library meets a quota", 'IoError(Os { code: 122, message: "Disk quota exceeded" })'),
    ("HDF5 meets a quota", "OSError: cannot write (errno = 122, error message = 'Disk quota exceeded')"),
    (
        "a step does not fit its allocation",
        "srun: error: Task launch for 4.1 failed on node n1: Unable to layout tasks",
    ),
    ("two settings of Slurm differ", "srun: fatal: cpus-per-task set by two different environment variables A B"),
    ("sbatch refuses", "sbatch: error: Invalid generic resource (gres) specification"),
    ("Slurm's command gives up", "srun: fatal: Could not establish a configuration source"),
    (
        "an image without a shell",
        "pyxis:     enroot-switchroot: failed to execute: /bin/bash: No such file or directory",
    ),
    ("a container that says nothing more", "slurmstepd: error: pyxis: couldn't start container"),
    (
        "a checkpoint of arrays lacks one",
        'ValueError: NOT_FOUND: Error opening "zarr" driver: Metadata does not exist',
    ),
    ("a checkpoint of arrays is cut", "ValueError: DATA_LOSS: Error reading local file, 12 bytes expected"),
    (
        "the hub is slow",
        "urllib3.exceptions.ReadTimeoutError: HTTPSConnectionPool(host='cdn-lfs.hf.co', port=443): late",
    ),
    ("too many files are open", "RuntimeError: received 0 items of ancdata"),
    (
        "a checkpoint of another size",
        "E: The checkpoint used a DP world size of 8 but the current world size is 16.",
    ),
    (
        "the shell's word of a kill",
        "/w/slurm_script: line 31:  6521 Killed apptainer exec train.sif python train.py",
    ),
    ("no node answers a launch", "srun: error: timeout waiting for task launch, started 0 of 1 tasks"),
    (
        "a Rust library cannot write",
        "SafetensorError: Error while serializing: I/O error: Invalid argument (os error 22)",
    ),
    (
        "a compiler is missing what it needs",
        "subprocess.CalledProcessError: Command '['g++', 'a.cpp']' returned non-zero",
    ),
    (
        "a compiler's cache is stale",
        "torch._inductor.exc.InductorError: OSError: [Errno 116] Stale file handle: 'a.so'",
    ),
    (
        "a process of Ray is gone",
        "Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file.",
    ),
    (
        "another host is slow",
        "urllib3.exceptions.ReadTimeoutError: HTTPSConnectionPool(host='a.org', port=443): late",
    ),
]
KNOWN_AS = [
    *["user.threads"] * 3,
    *["fs.shm_full"] * 3,
    *["fs.wrapped"] * 4,
    *["user.quota"] * 2,
    *["slurm.refused"] * 3,
    "slurm.fatal",
    "user.image",
    "pyxis.start",
    "user.checkpoint",
    "ckpt.cut",
    "hf.hub_slow",
    "fs.descriptors",
    "user.checkpoint",
    "slurm.task_killed",
    "slurm.task_launch",
    "fs.wrapped",
    "fw.toolchain",
    "fs.stale",
    "ray.died",
    "data.remote",
]


def _fault(line: str) -> str | None:
    raw = encoded(line)
    fault = matcher().match(raw, matcher().candidates(raw)).fault
    return fault.signature.id if fault is not None else None


@pytest.mark.parametrize(
    ("line", "name"),
    [(line, name) for (_, line), name in zip(WORDINGS, KNOWN_AS, strict=True)],
    ids=[why for why, _ in WORDINGS],
)
def test_a_failure_is_known_by_its_other_words(line: str, name: str) -> None:
    assert _fault(line) == name


@pytest.mark.parametrize(
    "line",
    [
        "Some common causes include: (1) the process was killed by the OOM killer, (3) it crashed due to SIGSEGV",
        "Input/output error rate: 0 of 1200",
        "the lock is taken: Resource temporarily unavailable, trying again",
        "torch.save: write(): fd 29 wrote 512 bytes",
        "srun: launching task 0",
        "the file </out/torch_12.log> was written",
        "thrown while requesting HEAD https://huggingface.co/m (host='huggingface.co', port=443): Read timed out.",
        "pyxis: starting container ...",
        "the encoder reports I/O error: 0 of 12 files (os error none)",
    ],
)
def test_what_only_sounds_like_it_is_no_failure(line: str) -> None:
    assert _fault(line) is None

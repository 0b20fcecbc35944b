"""How does a file system fail for one process only? It is mounted where nobody else sees it, and goes with it.

A full disk is a real one: a tmpfs of 64 KiB over the folder, in a mount namespace of the process's own. Whoever may
not mount gets the nearest that is possible without, and it is said.
"""

import atexit
import ctypes
import mmap
import multiprocessing
import os
import resource
import signal
import sys
from pathlib import Path

from lab.trainer import checkpoint
from lab.trainer.deeds.signals import die_with_parent
from lab.trainer.here import Here, say
from lab.trainer.orders import Order

CLONE_NEWNS = 0x00020000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
SMALL_BYTES = 64 * 1024
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  # shared memory itself, not a folder for drafts


def fill_disk(order: Order, here: Here) -> None:
    """Save on a file system that holds 64 KiB: ENOSPC."""
    here.folder.mkdir(parents=True, exist_ok=True)
    try:
        _mount_small(here.folder)
    except PermissionError:
        _say("mounting is not allowed here; a limit on file size stands in for the full disk (EFBIG, not ENOSPC).")
        resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL_BYTES, resource.RLIM_INFINITY))
    checkpoint.save(here.folder, here.step)


def forbid_writing(order: Order, here: Here) -> None:
    """Save on a file system that was made read-only: EROFS."""
    here.folder.mkdir(parents=True, exist_ok=True)
    try:
        _own_mounts()
        _mount(str(here.folder), here.folder, "", MS_BIND)
        _mount("none", here.folder, "", MS_BIND | MS_REMOUNT | MS_RDONLY)
    except PermissionError:
        _say("mounting is not allowed here; a folder without permission to write stands in (EACCES, not EROFS).")
        here.folder.chmod(0o500)
        atexit.register(here.folder.chmod, 0o700)
    checkpoint.save(here.folder, here.step)


def fill_shared_memory(order: Order, here: Here) -> None:
    """A worker of the data loader touches shared memory that is not there: SIGBUS; its parent says so."""
    try:
        _mount_small(SHARED_MEMORY)
        limited = False
    except PermissionError:
        _say("mounting is not allowed here; the worker's shared memory is cut off instead.")
        limited = True
    worker = multiprocessing.get_context("fork").Process(target=_touch, args=(os.getpid(), limited), daemon=True)
    worker.start()
    worker.join()
    if worker.exitcode == -signal.SIGBUS:
        say(
            [
                "ERROR: Unexpected bus error encountered in worker. "
                "This might be caused by insufficient shared memory (shm)."
            ]
        )
        raise RuntimeError(
            f"DataLoader worker (pid {worker.pid}) is killed by signal: Bus error. "
            "It is possible that dataloader's workers are out of shared memory. "
            "Please try to raise your shared memory limit."
        )
    raise RuntimeError(f"DataLoader worker (pid(s) {worker.pid}) exited unexpectedly")


def _touch(parent: int, limited: bool) -> None:
    die_with_parent(parent)
    descriptor = os.open(SHARED_MEMORY / f"torch_{os.getpid()}", os.O_RDWR | os.O_CREAT, 0o600)
    os.unlink(SHARED_MEMORY / f"torch_{os.getpid()}")
    os.ftruncate(descriptor, 4 * SMALL_BYTES)
    memory = mmap.mmap(descriptor, 4 * SMALL_BYTES)
    if limited:
        os.ftruncate(descriptor, SMALL_BYTES)
    for offset in range(0, 4 * SMALL_BYTES, mmap.PAGESIZE):
        memory[offset] = 1


def _mount_small(folder: Path) -> None:
    _own_mounts()
    _mount("none", folder, "tmpfs", 0, f"size={SMALL_BYTES}")


def _own_mounts() -> None:
    """A mount namespace of this process's own, from which nothing comes back to the machine's."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS):
        raise _error("unshare")
    _mount("none", Path("/"), "", MS_REC | MS_PRIVATE)


def _mount(source: str, target: Path, kind: str, flags: int, options: str = "") -> None:
    words = (source.encode(), str(target).encode(), kind.encode() or None)
    if ctypes.CDLL(None, use_errno=True).mount(*words, ctypes.c_ulong(flags), options.encode() or None):
        raise _error(f"mount {target}")


def _error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")


def _say(words: str) -> None:
    print(f"lab.trainer: {words}", file=sys.stderr, flush=True)

"""How does a process die of a signal, or stand still?"""

import ctypes
import multiprocessing
import os
import signal
import time
from multiprocessing.queues import Queue

from lab.trainer.here import Here, say
from lab.trainer.orders import Order

DAY_SECONDS = 86_400
PR_SET_PDEATHSIG = 1


def kill(order: Order, here: Here) -> None:
    """SIGKILL."""
    os.kill(os.getpid(), signal.SIGKILL)


def terminate(order: Order, here: Here) -> None:
    """SIGTERM, which nobody catches."""
    os.kill(os.getpid(), signal.SIGTERM)


def read_nowhere(order: Order, here: Here) -> None:
    """A read of address 0: SIGSEGV from the processor itself."""
    ctypes.string_at(0)


def abort(order: Order, here: Here) -> None:
    """SIGABRT, as from a failed assertion in C++."""
    os.abort()


def stop(order: Order, here: Here) -> None:
    """SIGSTOP: everybody else waits."""
    os.kill(os.getpid(), signal.SIGSTOP)


def hold_gil(order: Order, here: Here) -> None:
    """Sleep in C without letting go of the interpreter: no thread of this process runs."""
    ctypes.PyDLL(None).sleep(int(order.words.get("seconds", DAY_SECONDS)))


def sleep(order: Order, here: Here) -> None:
    """Come late to the collective, or never."""
    time.sleep(order.words.get("seconds", DAY_SECONDS))


def spin(order: Order, here: Here) -> None:
    """Print the same for ever and make no step."""
    lines = order.words.get(
        "lines", [f"[rank{here.place.rank}]: still waiting for the metadata of shard 17, retrying"]
    )
    while True:
        if here.speaks_for(order):
            say(lines)
        time.sleep(order.words.get("seconds", 1.0))


def load_for_ever(order: Order, here: Here) -> None:
    """A worker of the data loader never answers; the parent waits for its batch."""
    context = multiprocessing.get_context("fork")
    batches: Queue[bytes] = context.Queue()
    worker = context.Process(target=_never, args=(os.getpid(),), daemon=True, name="pt_data_worker")
    worker.start()
    batches.get()


def die_with_parent(parent: int) -> None:
    """Let the kernel kill this process when its parent `parent` has gone, however it went."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def _never(parent: int) -> None:
    die_with_parent(parent)
    signal.pause()

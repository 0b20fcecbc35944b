"""How does a program fail by itself: by an exception, an import, an argument, a shape, a broken record?"""

import argparse
import builtins
import importlib
import json
import os
import resource
import signal
import socket
import sys

from lab.trainer import checkpoint
from lab.trainer.deeds.matrix import Matrix
from lab.trainer.here import Here, say
from lab.trainer.orders import Order
from lab.trainer.ring import listen

MISSING_MODULE = "flash_attn_lab_build"
MEBIBYTE = 1024 * 1024


def raise_error(order: Order, here: Here) -> None:
    """An unhandled exception; `error` is the name of one of Python's own."""
    kind = getattr(builtins, order.words.get("error", "RuntimeError"), None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        kind = RuntimeError
    raise kind(order.words.get("message", "optimizer state is inconsistent with the parameters"))


def import_missing(order: Order, here: Here) -> None:
    """Import a module that this host does not have."""
    importlib.import_module(order.words.get("module", MISSING_MODULE))


def read_arguments(order: Order, here: Here) -> None:
    """The argument parser of a training script meets a word that it does not know: usage, one line, exit code 2."""
    parser = argparse.ArgumentParser(prog="pretrain_gpt.py")
    parser.add_argument("--micro-batch-size", type=int, default=1)
    parser.add_argument("--seq-length", type=int, default=4096)
    parser.parse_args(order.words.get("words", ["--use-flash-attn-v4"]))


def multiply_shapes(order: Order, here: Here) -> None:
    """Multiply two matrices that do not fit."""
    Matrix.ones(8, 768) @ Matrix.ones(1024, 768)


def load_damaged(order: Order, here: Here) -> None:
    """Cut off the newest checkpoint (save one first if there is none) and, unless `quiet`, read it back."""
    try:
        checkpoint.damage(here.folder)
    except FileNotFoundError:
        checkpoint.save(here.folder, max(1, here.step - 1))
        checkpoint.damage(here.folder)
    if not order.words.get("quiet", False):
        checkpoint.load(here.folder)


def read_record(order: Order, here: Here) -> None:
    """Read the record at this position of the training set; it was cut off when it was written."""
    position = order.words.get("position", here.step)
    record = json.dumps({"position": position, "text": "the quick brown fox " * 4})
    json.loads(record[: len(record) // 2])


def listen_twice(order: Order, here: Here) -> None:
    """Somebody else has bound the port of the ranks' meeting."""
    with socket.create_server(here.address):
        listen(here.address)


def eat_memory(order: Order, here: Here) -> None:
    """Allocate until a limit stops it.

    `failed`: our own limit on address space, and Python's MemoryError. `killed`: the same, and then SIGKILL, as by
    the kernel. `outside`: no limit of ours; `mebibytes` are taken and kept, and whoever limits the job has to act.
    """
    wanted, ends = order.words.get("mebibytes", 256), order.words.get("ends", "failed")
    taken: list[bytearray] = []
    if ends != "outside":
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()  # noqa: SIM115
        resource.setrlimit(resource.RLIMIT_AS, (used + wanted * MEBIBYTE, resource.RLIM_INFINITY))
    try:
        while ends != "outside" or len(taken) * 16 < wanted:
            taken.append(bytearray(16 * MEBIBYTE))
            taken[-1][:: resource.getpagesize()] = b"\1" * -(-16 * MEBIBYTE // resource.getpagesize())
    except MemoryError:
        taken.clear()
        if ends == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        raise
    signal.pause()


def leave(order: Order, here: Here) -> None:
    """Exit with a code, without a word."""
    sys.exit(order.words.get("code", 1))


def break_gpu(order: Order, here: Here) -> None:
    """A double bit error, as the driver and CUDA tell it; then the end."""
    place = here.place
    say([f"{place.host}: NVRM: Xid (PCI:0000:4e:00): 48, pid={os.getpid()}, name=python, DBE (double bit error)"])
    say([f"[rank{place.rank}]: RuntimeError: CUDA error: uncorrectable ECC error encountered"])
    sys.exit(1)

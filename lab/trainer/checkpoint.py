"""How is a checkpoint saved so that a death in the middle leaves the one before?

A checkpoint is one file: a line of JSON (step, length and SHA-256 of the weights), then the weights. It is written
as a draft, synced, and renamed; then the tracker file is, in the same way, made to point to it.
"""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

TRACKER = "latest_checkpointed_iteration.txt"
KEPT = 3
WEIGHTS_BYTES = 96 * 1024  # more than the full file systems of `disk_full` hold
DAMAGED = "PytorchStreamReader failed reading zip archive: failed finding central directory"
"""What torch.load says of a file that was cut off."""


def save(folder: Path, step: int, in_the_middle: Callable[[], None] = lambda: None) -> None:
    """Save a step, and forget all but the newest. `OSError` from the file system; then nothing has changed."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = hashlib.sha256(str(step).encode()).hexdigest().encode() * (WEIGHTS_BYTES // 64)
    head = {"step": step, "length": len(weights), "sha256": hashlib.sha256(weights).hexdigest()}
    _replace(path_of(folder, step), json.dumps(head).encode() + b"\n" + weights, in_the_middle)
    _replace(folder / TRACKER, str(step).encode())
    for old in sorted(folder.glob("iter_*.ckpt"))[:-KEPT]:
        old.unlink()


def load(folder: Path) -> int:
    """The step of the checkpoint that the tracker names, 0 without a tracker.

    `RuntimeError` when the file is damaged, `FileNotFoundError` when it is gone: as a framework, we start neither
    from an older one nor from nothing by ourselves.
    """
    try:
        step = int((folder / TRACKER).read_text())
    except FileNotFoundError:
        return 0
    head, _, weights = path_of(folder, step).read_bytes().partition(b"\n")
    try:
        told = json.loads(head)
        whole = (told["length"], told["sha256"]) == (len(weights), hashlib.sha256(weights).hexdigest())
    except (ValueError, KeyError, TypeError):
        whole = False
    if not whole:
        raise RuntimeError(DAMAGED)
    return int(told["step"])


def damage(folder: Path) -> None:
    """Cut the newest checkpoint off in its middle. `FileNotFoundError` when there is none."""
    path = path_of(folder, int((folder / TRACKER).read_text()))
    os.truncate(path, path.stat().st_size // 2)


def path_of(folder: Path, step: int) -> Path:
    """The file of a step."""
    return folder / f"iter_{step:07d}.ckpt"


def _replace(path: Path, content: bytes, in_the_middle: Callable[[], None] = lambda: None) -> None:
    draft = path.with_suffix(".draft")
    with draft.open("wb") as file:
        file.write(content[: len(content) // 2])
        file.flush()
        in_the_middle()
        file.write(content[len(content) // 2 :])
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)  # the rename itself
    finally:
        os.close(descriptor)

"""How is a record added to a file that somebody else reads and moves away?

One line is one `write` to the end of the file, under a lock: readers and other workers never see half of one. The
file is opened by its name for each record, so that one which was moved away (rotated) is begun anew. A record that
may have been written before a worker died is looked for before it is written again.
"""

import fcntl
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LOOKED_THROUGH = 1 << 20  # bytes of the file's end in which an earlier try is looked for
OPENINGS = 5


class FileTrouble(Exception):
    """The record is not in the file; the message says why."""


def append(folder: Path, name: str, body: Mapping[str, Any], *, again: bool) -> None:
    """Add `body` as one line to `folder/name`, which is made with mode 0600. Raises `FileTrouble`.

    `name` has no folder in it. `again`: an earlier try may have written it; then its `key` is looked for first.
    """
    if "/" in name or name in {"", ".", ".."} or "\0" in name:
        raise FileTrouble(f"{name[:64]!r} is no plain file name.")
    line = json.dumps(body, allow_nan=False, sort_keys=True).encode() + b"\n"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = _open(folder / name)
        try:
            if not (again and _holds(handle, str(body["key"]).encode())):
                _write(handle, line)
        finally:
            os.close(handle)
    except OSError as error:
        raise FileTrouble(f"{name} cannot be written: {error.strerror or type(error).__name__}.") from error


def _open(path: Path) -> int:
    """The file of that name at this moment, locked: our own regular file, and no link to another."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    for _ in range(OPENINGS):
        handle = os.open(path, flags, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            seen = os.fstat(handle)
            if not stat.S_ISREG(seen.st_mode) or seen.st_uid != os.geteuid() or seen.st_nlink > 1:
                raise FileTrouble(f"{path.name} is no regular file of our own with a single name.")
            if stat.S_IMODE(seen.st_mode) & 0o077:
                raise FileTrouble(f"{path.name} can be used by others: it must have the mode 0600.")
            there = os.stat(path, follow_symlinks=False)
            if (there.st_dev, there.st_ino) == (seen.st_dev, seen.st_ino):
                return handle
        except FileNotFoundError:  # moved away since it was opened
            pass
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
    raise FileTrouble(f"{path.name} is moved away again and again.")


def _holds(handle: int, key: bytes) -> bool:
    size = os.fstat(handle).st_size
    start = max(0, size - LOOKED_THROUGH)
    return b'"key": "' + key + b'"' in os.pread(handle, LOOKED_THROUGH, start)


def _write(handle: int, line: bytes) -> None:
    """All of the line, or nothing: what a full disk has cut off is taken back."""
    size = os.fstat(handle).st_size
    broken = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
    whole = b"\n" + line if broken else line
    written = -1
    try:
        written = os.write(handle, whole)
        os.fsync(handle)
    finally:
        if written != len(whole):
            os.ftruncate(handle, size)
    if written != len(whole):
        raise FileTrouble("The line did not fit: the disk is full.")

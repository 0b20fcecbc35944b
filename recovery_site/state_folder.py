"""What lies in the state folder, and who else on the machine may read it? Nobody.

The key signs sessions, and the database file holds them, with the copies of log lines: whoever reads either is
signed in as anybody.
"""

import contextlib
import os
import secrets
import stat
import tempfile
from pathlib import Path


class NotPrivate(OSError):
    """A file that somebody else could have written or read; the message is a sentence."""


def make_folder(path: Path) -> None:
    """Create the folder for its owner alone; one that is there is left as its owner made it. Raises `OSError`."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)


def kept_key(path: Path) -> str:
    """The key in `path`, made at the first call. Raises `OSError`, `NotPrivate` among them.

    Two processes at once agree on one key, and none of them reads half of it.
    """
    if not os.path.lexists(path):
        with tempfile.NamedTemporaryFile("w", dir=path.parent) as file:  # readable by its owner only
            file.write(secrets.token_urlsafe(64))
            file.flush()
            with contextlib.suppress(FileExistsError):  # somebody was first
                os.link(file.name, path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor) as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid not in {0, os.geteuid()} or status.st_mode & 0o077:
            raise NotPrivate(f"{path} could be somebody else's: it must be a file of ours with mode 600")
        return file.read().strip()


def close_to_others(path: Path) -> None:
    """Make sure that a file exists and that others have no rights on it. SQLite gives its side files the same.

    A file of another owner is left alone: it is not ours to change.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        status = os.fstat(descriptor)
        if status.st_uid == os.geteuid() and status.st_mode & 0o007:
            os.fchmod(descriptor, status.st_mode & 0o770)
    finally:
        os.close(descriptor)

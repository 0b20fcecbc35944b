"""How is a path that a job's owner chose opened without being led astray? (decisions 6)

The real path must lie below a root; then every component is opened from its parent without following links, so
that a folder swapped for a link between the check and the opening is an error, not a way out. A path in which such
a walk meets no link is its own real path: only where there is one is it resolved first.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Not blocking: a FIFO without writer would hold the worker for ever.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Unreadable(Exception):
    """A path that must not or cannot be read; the message is a sentence without the path."""


class NotThere(Unreadable):
    """No such file (yet, or any more)."""


class _Link(Unreadable):
    """A link where a regular file should be."""


@dataclass(frozen=True)
class Opened:
    """An open regular file: descriptor and what the system says of it."""

    descriptor: int
    status: os.stat_result


def real_roots(roots: Sequence[str]) -> tuple[str, ...]:
    """The roots with their own links resolved: an administrator wrote them, so they are trusted."""
    return tuple(sorted({os.path.realpath(root) for root in roots}))


@contextmanager
def opened(path: str, roots: Sequence[str], owner: int | None) -> Iterator[Opened]:
    """Open a regular file below one of the (real) roots that `owner` owns; nothing when that is not known.

    Raises `NotThere` or `Unreadable`. Links inside the roots are followed once, by the real path; the file that
    is opened is the one that was checked.
    """
    if owner is None:
        raise Unreadable("the job's user id is not known, so nobody's file is its own")
    descriptor = _as_written(path, roots, owner)
    if descriptor is None:
        real = _real(path)
        root = _root_of(real, roots)
        if root is None:
            raise Unreadable("it lies outside the cluster's log roots")
        descriptor = _open_below(root, _below(root, real), owner)
    try:
        yield Opened(descriptor, _checked(os.fstat(descriptor), owner))
    finally:
        os.close(descriptor)


def _as_written(path: str, roots: Sequence[str], owner: int) -> int | None:
    """The file opened by the path as it is written; `None` where it is not there, or a link stands in the way."""
    root = _root_of(path, roots)
    parts = _below(root, path) if root is not None else []
    if root is None or any(part in ("", ".", "..") for part in parts) or "\0" in path:
        return None
    try:
        return _open_below(root, parts, owner)
    except (NotThere, _Link):
        return None


def _root_of(path: str, roots: Sequence[str]) -> str | None:
    return next((root for root in roots if path.startswith(root.rstrip("/") + "/")), None)


def _below(root: str, path: str) -> list[str]:
    return path[len(root.rstrip("/")) + 1 :].split("/")


def _real(path: str) -> str:
    if not path.startswith("/") or "\0" in path or ".." in path.split("/"):
        raise Unreadable("it is not an absolute path without '..'")
    try:
        # Not strict: whether something outside the roots exists is not told. Inside, the walk down will see.
        return os.path.realpath(path)
    except (OSError, ValueError) as error:
        raise Unreadable(_reason(error)) from None


def _open_below(root: str, parts: Sequence[str], owner: int) -> int:
    """Walk down from the root; every component is opened from its parent's descriptor."""
    try:
        folder = os.open(root, _FOLDER)
    except OSError as error:
        raise Unreadable(f"the log root cannot be opened: {_reason(error)}") from None
    try:
        for part in parts[:-1]:
            below = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        # Looked at before it is opened: opening some devices does something.
        _checked(os.stat(parts[-1], dir_fd=folder, follow_symlinks=False), owner)
        return os.open(parts[-1], _FILE, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        raise NotThere("no such file") from None
    except OSError as error:
        raise Unreadable(_reason(error)) from None
    finally:
        os.close(folder)


def _checked(status: os.stat_result, owner: int) -> os.stat_result:
    if not stat.S_ISREG(status.st_mode):
        refused = _Link if stat.S_ISLNK(status.st_mode) else Unreadable
        raise refused(f"it is {_kind(status.st_mode)}, not a regular file")
    if status.st_uid != owner:
        raise Unreadable(f"it belongs to user id {status.st_uid}, not to the job's user ({owner})")
    return status


def _kind(mode: int) -> str:
    kinds = (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISLNK, "a link"),
        (stat.S_ISFIFO, "a FIFO"),
        (stat.S_ISSOCK, "a socket"),
    )
    return next((word for test, word in kinds if test(mode)), "a device")


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[:1].lower() + error.strerror[1:]
    return "the path cannot be used"

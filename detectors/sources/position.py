"""Is this still the file that was read, and up to where? (decisions 7)

After a requeue the same inode can already be longer than the old offset (observed), so device, inode and length
prove nothing: the first 1 KiB and the 256 bytes before the offset are compared, too.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

HEAD = 1024
TAIL = 256


@dataclass(frozen=True)
class FilePosition:
    """A place in a file. `head` and `tail` are SHA-256 of `head_size` and `tail_size` bytes.

    `size` and `modified_ns` are those of the last read: a file that has neither changed is not opened again.
    `skipping`: inside a line whose beginning was taken. `partial`: behind the offset stands only a line without its
    newline. `closed`: the file is another attempt's now, nothing more is read. `rewritten_at` (seconds since 1970):
    it was found written anew, and whose it is will be known when the scheduler was listed after that. `looked_ns`:
    the time of its folder when all of what was rotated away had been read.
    """

    device: int
    inode: int
    offset: int
    head_size: int
    head: str
    tail_size: int
    tail: str
    size: int
    modified_ns: int
    skipping: bool = False
    cut_lines: int = 0
    partial: bool = False
    closed: bool = False
    rewritten_at: float | None = None
    looked_ns: int = 0

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self | None:
        """From stored JSON; `None` when there is none or it is not understood."""
        try:
            return cls(**stored)
        except TypeError:
            return None

    def stored(self) -> dict[str, Any]:
        """As JSON values."""
        return dict(vars(self))

    def unchanged(self, status: os.stat_result) -> bool:
        """Whether nobody has written since: no need to open it."""
        same = (status.st_dev, status.st_ino) == (self.device, self.inode)
        return same and (status.st_size, status.st_mtime_ns) == (self.size, self.modified_ns)

    def same_file(self, status: os.stat_result) -> bool:
        """Whether it is the same inode of the same device."""
        return (status.st_dev, status.st_ino) == (self.device, self.inode)

    def continues(self, descriptor: int, status: os.stat_result) -> bool:
        """Whether what was read is still there, so that reading goes on at `offset`."""
        if not self.same_file(status):
            return False
        # Not by its length: on a shared file system what is told of a file can be behind what was read of it.
        head = digest(os.pread(descriptor, self.head_size, 0))
        tail = digest(os.pread(descriptor, self.tail_size, self.offset - self.tail_size))
        return head == self.head and tail == self.tail

    def may_be_behind(self, descriptor: int, status: os.stat_result) -> bool:
        """Whether it is shorter than what was read and begins the same: seen late, or being truncated just now."""
        if not self.same_file(status) or status.st_size >= self.offset:
            return False
        begins = os.pread(descriptor, self.head_size, 0)
        return not begins or (len(begins) == self.head_size and digest(begins) == self.head)


def mark(descriptor: int, status: os.stat_result, offset: int) -> FilePosition:
    """The position `offset` in an open file."""
    head = os.pread(descriptor, min(HEAD, offset), 0)
    tail_size = min(TAIL, offset)
    tail = os.pread(descriptor, tail_size, offset - tail_size)
    return FilePosition(
        device=status.st_dev,
        inode=status.st_ino,
        offset=offset,
        head_size=len(head),
        head=digest(head),
        tail_size=len(tail),
        tail=digest(tail),
        size=status.st_size,
        modified_ns=status.st_mtime_ns,
    )


def digest(content: bytes) -> str:
    """SHA-256 as 64 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()

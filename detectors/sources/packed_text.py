"""How is a packed file read without its maker deciding what that costs?

The readers of the standard library look for text as long as a file goes on: a gigabyte of empty members, or of
one header, holds a worker for minutes and gives no byte. Here whatever is taken from the file and each of its
members is paid for, and an xz that asks for much memory is refused.
"""

import bz2
import lzma
import os
import zlib
from collections.abc import Callable
from typing import Protocol

RAW = 65_536  # bytes taken from the file at once
MEMBER_COST = 4096  # bytes of other work that one more member counts as: some 10 µs
MEMORY = 128 << 20  # bytes for the window of an xz; `xz -9` needs 65 MB


class _Member(Protocol):
    """One member of a packed file being unpacked."""

    @property
    def eof(self) -> bool:
        """Whether its end was seen."""

    @property
    def behind(self) -> bytes:
        """What stands behind its end."""

    def take(self, raw: bytes, size: int) -> bytes:
        """At most `size` bytes of its text; `raw` goes in first."""


class _Gzip:
    """A gzip member; its sum and length are checked at its end."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def behind(self) -> bytes:
        return self._inner.unused_data.lstrip(b"\0")  # what fills a block of a tape is no member

    def take(self, raw: bytes, size: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + raw, size)


class _Other:
    """A stream of bzip2 or xz."""

    def __init__(self, inner: bz2.BZ2Decompressor | lzma.LZMADecompressor) -> None:
        self._inner = inner

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def behind(self) -> bytes:
        return self._inner.unused_data.lstrip(b"\0")

    def take(self, raw: bytes, size: int) -> bytes:
        return self._inner.decompress(raw, size)


MEMBERS: dict[str, Callable[[], _Member]] = {
    "gz": _Gzip,
    "bz2": lambda: _Other(bz2.BZ2Decompressor()),
    "xz": lambda: _Other(lzma.LZMADecompressor(memlimit=MEMORY)),
}
"""By the end of a file's name."""


class PackedText:
    """The text of a packed file that is open as `descriptor`, whose place there is left alone.

    `spend` is told the bytes that are taken from the file, and `MEMBER_COST` for each member; what it raises ends
    the reading. Raises what a broken file raises (`rotated.BROKEN`): `EOFError` for one that is not complete.
    """

    def __init__(self, descriptor: int, packing: str, spend: Callable[[int], None]) -> None:
        self._descriptor, self._made, self._spend = descriptor, MEMBERS[packing], spend
        self._begin()

    def tell(self) -> int:
        """The byte of the text that is read next."""
        return self._place

    def read_at(self, offset: int, size: int) -> bytes:
        """`size` bytes from `offset` on, less at the end. To go back is to begin anew."""
        if offset < self._place:
            self._begin()
        while self._place < offset and self._some(offset - self._place):
            pass
        parts: list[bytes] = []
        while size > 0 and (part := self._some(size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _begin(self) -> None:
        self._place, self._taken, self._rest = 0, 0, b""
        self._member: _Member | None = self._made()

    def _some(self, size: int) -> bytes:
        """At least one byte of text, at most `size`; nothing at its end."""
        while self._member is not None:
            text = self._member.take(self._rest, min(size, RAW))
            self._rest = b""
            if self._member.eof:
                self._next(self._member.behind)
            elif not text:
                self._rest = self._raw()
                if not self._rest:
                    raise EOFError("it ends before its text does")
            if text:
                self._place += len(text)
                return text
        return b""

    def _next(self, rest: bytes) -> None:
        """On to the member behind one that is over, if there is one."""
        self._spend(MEMBER_COST)
        while not rest and (raw := self._raw()):
            rest = raw.lstrip(b"\0")
        self._rest, self._member = rest, self._made() if rest else None

    def _raw(self) -> bytes:
        raw = os.pread(self._descriptor, RAW, self._taken)
        self._spend(len(raw))
        self._taken += len(raw)
        return raw

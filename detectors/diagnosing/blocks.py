"""How is a stream of bytes cut at line borders, so that the parts can be looked at side by side?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader

from detectors.diagnosing.opening import BROKEN

BLOCK = 2 << 20  # bytes, with few files
SMALLEST = 64 << 10
OPEN_TOGETHER = 64 << 20  # bytes of blocks of all files that are read together
LEAD = 64 << 10  # bytes before a block that are looked at for an error report which is still going on


@dataclass(frozen=True)
class Block:
    """Whole lines. `start`: offset of the first byte; `line`: number of its line, from 1.

    `lead`: what stands before. `skipping`: it begins inside a line whose beginning was taken. `last`: nothing
    follows; `broken` then says why, when the stream broke off.
    """

    start: int
    line: int
    content: bytes
    lead: bytes = b""
    skipping: bool = False
    last: bool = False
    broken: str = ""


def size_for(streams: int) -> int:
    """Bytes of one block when so many streams are read together: memory is bounded whatever their number."""
    return max(SMALLEST, min(BLOCK, OPEN_TOGETHER // max(1, streams)))


def blocks(stream: BufferedReader, size: int) -> Iterator[Block]:
    """The blocks of a stream, of about `size` bytes, at least one; the stream is closed with the last one."""
    carry, lead, start, line, skipping = b"", b"", 0, 1, False
    with stream:
        while True:
            parts, broken = _read(stream, size)
            ended = bool(broken) or sum(map(len, parts)) < size
            content, carry = (b"".join([carry, *parts]), b"") if ended else _cut(carry, parts)
            if ended:
                stream.close()
            yield Block(start, line, content, lead, skipping, ended, broken)
            if ended:
                return
            skipping = not content.endswith((b"\n", b"\r"))
            lead = (lead + content)[-LEAD:] if len(content) < LEAD else content[-LEAD:]
            start += len(content)
            line += content.count(b"\n")


def _cut(carry: bytes, parts: Sequence[bytes]) -> tuple[bytes, bytes]:
    """What was read up to the last border, and the rest. Usually the last part holds it: all is copied once."""
    end = parts[-1].rfind(b"\n") + 1
    if end:
        return b"".join([carry, *parts[:-1], parts[-1][:end]]), parts[-1][end:]
    chunk = b"".join([carry, *parts])
    end = _border(chunk)
    return chunk[:end], chunk[end:]


def _read(stream: BufferedReader, size: int) -> tuple[list[bytes], str]:
    """The next bytes, fewer than `size` only at the end; and why it breaks off."""
    parts: list[bytes] = []
    missing = size
    while missing > 0:
        try:
            got = stream.read(min(missing, SMALLEST))
        except BROKEN:
            return parts, "it breaks off or is damaged"
        if not got:
            break
        parts.append(got)
        missing -= len(got)
    return parts, ""


def _border(chunk: bytes) -> int:
    """Behind the last whole line; of an endless line behind its last carriage return, else in its middle."""
    return chunk.rfind(b"\n") + 1 or chunk.rfind(b"\r") + 1 or len(chunk)

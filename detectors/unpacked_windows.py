"""What stands at some place of a log that was packed? In one pass over its text, within bounds.

There is no way into the middle of a packed file: all bytes up to where the log was read are unpacked once, in which
its beginning and end prove that it is that log. A file that unpacks to much more than a log does is refused.
"""

from dataclasses import dataclass

from detectors.sources.position import HEAD, FilePosition, digest
from detectors.sources.rotated import Rotated, Unpacking

UNPACKED_AT_MOST = 128 << 20  # bytes for one page: a second of a core with gzip
RATIO_AT_MOST = 300  # times its size: logs pack to a fifth up to a thirtieth, zeros to a thousandth
RATIO_FROM = 4 << 20  # bytes from which the ratio is looked at: a short log may be one line again and again
CHUNK = 1 << 20


class Refused(Exception):
    """It is not unpacked; the message is a sentence."""


@dataclass(frozen=True)
class Unpacked:
    """Bytes of the text; `line`: the number, from 1, of the line at the place that was asked for."""

    content: bytes
    line: int | None


def for_a_page() -> Unpacking:
    """What may be unpacked to show one page: the log, and as much again of files that only begin like it."""
    return Unpacking(left=2 * UNPACKED_AT_MOST, packed_left=2 * UNPACKED_AT_MOST)


def unpacked_window(
    old: Rotated, own: FilePosition, start: int, size: int, counted: int | None = None
) -> Unpacked | None:
    """`size` bytes from `start` on; `None` when it is not what was read. `counted`: the byte whose line is counted.

    Raises `Refused` for what is too long or unpacks too far, and what a broken packed file raises
    (`rotated.BROKEN`).
    """
    if digest(old.read(0, own.head_size)) != own.head:
        return None
    if own.offset > UNPACKED_AT_MOST:
        raise Refused(
            f"It was packed since, and holds more than the {UNPACKED_AT_MOST >> 20} MB that are unpacked for a "
            "page. Unpack it to read it."
        )
    packed, parts, lines = max(1, old.file.status.st_size), [], 0
    before, place, end = b"", 0, start + size
    while place < own.offset:
        chunk = old.read(place, min(CHUNK, own.offset - place))
        if not chunk:
            return None
        parts.append(chunk[max(0, start - place) : max(0, end - place)])
        lines += chunk.count(b"\n", 0, max(0, (counted or 0) - place))
        before, place = (before + chunk)[-HEAD:], place + len(chunk)
        if place > RATIO_FROM and place > RATIO_AT_MOST * packed:
            raise Refused(
                f"The packed file beside it unpacks to more than {RATIO_AT_MOST} times its size, as no log does, "
                "so it is not opened."
            )
    if digest(before[len(before) - own.tail_size :]) != own.tail:
        return None
    return Unpacked(b"".join(parts), None if counted is None else 1 + lines)

"""Which files does somebody mean who names files, folders or standard input, and what stands in them?

Whoever calls has the right to read what is named, so links are followed and FIFOs are read. A folder gives its
regular files, the folders below included; what looks like no text there is passed over and told. Packed files are
told by their first bytes, not by their names.
"""

import bz2
import codecs
import gzip
import io
import lzma
import os
import stat
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, cast

STDIN = "-"
STDIN_NAME = "(standard input)"
FILES_LIMIT = 4096
PEEK = 4096  # bytes by which a file in a folder is told from one that is no text
BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError)
"""What a packed file raises that breaks off or is damaged."""

_GZIP, _BZIP2, _XZ, _ZSTD = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\v\f\r\b\a\x1b")


class Unreadable(Exception):
    """It cannot be read; the message is a part of a sentence, without the name."""


@dataclass(frozen=True)
class Place:
    """One file. `path` is `None` for standard input; `in_folder`: nobody named it by itself."""

    name: str
    path: Path | None
    in_folder: bool = False


def places_of(names: Sequence[str]) -> tuple[list[Place], list[str]]:
    """The files that are meant, each once, in the order of the names; and sentences about those left out."""
    found: dict[str, Place] = {}
    left_out: list[str] = []
    for name in names:
        path = Path(name)
        if name == STDIN:
            found.setdefault(name, Place(STDIN_NAME, None))
        elif path.is_dir():
            for below in _files(path):
                found.setdefault(str(below), Place(str(below), below, in_folder=True))
                if len(found) > FILES_LIMIT:
                    break
        else:
            found.setdefault(name, Place(name, path))
    places = list(found.values())
    if len(places) > FILES_LIMIT:
        left_out.append(f"there are more than {FILES_LIMIT} files; the others were not read")
    return places[:FILES_LIMIT], left_out


def opened(place: Place, stdin: BinaryIO, as_text: bool = True) -> BufferedReader:
    """The unpacked content; `as_text`: in UTF-8, and only when it may be text. Raises `Unreadable`."""
    try:
        raw = cast(BufferedReader, stdin) if place.path is None else open(place.path, "rb")  # noqa: SIM115
    except (OSError, ValueError) as error:
        raise Unreadable(_reason(error)) from None
    try:
        head = raw.peek(PEEK)[:PEEK]
        if head.startswith(_ZSTD):
            raise Unreadable("it is packed with zstd, which is not understood here: unpack it first")
        unpacked = unpacked_of(raw, head)
        if as_text and unpacked is None and head.startswith(_WIDE):
            return io.BufferedReader(_Narrowed(raw))
        if as_text and unpacked is None and ((place.in_folder and b"\0" in head) or _is_no_text(place, head)):
            raise Unreadable("it is no text")
    except OSError as error:
        raw.close()
        raise Unreadable(_reason(error)) from None
    except Unreadable:
        raw.close()
        raise
    return raw if unpacked is None else unpacked


def unpacked_of(raw: BufferedReader, head: bytes) -> BufferedReader | None:
    """The content of a packed file, which is told by its first bytes; `None`: it is not packed."""
    if head.startswith(_GZIP):
        return _Unpacked(gzip.GzipFile(fileobj=raw, mode="rb"), raw)
    if head.startswith(_BZIP2):
        return _Unpacked(bz2.BZ2File(raw), raw)
    return _Unpacked(lzma.LZMAFile(raw), raw) if head.startswith(_XZ) else None


def written_at(place: Place) -> datetime | None:
    """When the file was last written; `None` for standard input and what is no regular file."""
    if place.path is not None:
        with suppress(OSError, ValueError, OverflowError):
            status = os.stat(place.path)
            if stat.S_ISREG(status.st_mode):
                return datetime.fromtimestamp(status.st_mtime, UTC)
    return None


class _Unpacked(BufferedReader):
    """Closes the packed file with its content."""

    def __init__(self, content: Any, packed: BufferedReader) -> None:
        super().__init__(content)
        self._packed = packed

    def close(self) -> None:
        """Both."""
        super().close()
        self._packed.close()


class _Narrowed(io.RawIOBase):
    """UTF-16, which consoles and editors of some desktops write, as UTF-8."""

    def __init__(self, wide: BufferedReader) -> None:
        self._wide = wide
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")
        self._rest = b""

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes; 0 at the end."""
        while not self._rest:
            got = self._wide.read(PEEK)
            self._rest = self._decoder.decode(got, final=not got).encode("utf-8", "replace")
            if not got:
                break
        taken = self._rest[: len(buffer)]
        self._rest = self._rest[len(taken) :]
        buffer[: len(taken)] = taken
        return len(taken)

    def close(self) -> None:
        """The file as well."""
        super().close()
        self._wide.close()


def _is_no_text(place: Place, head: bytes) -> bool:
    """Whether what somebody named by itself is certainly none: bytes of all kinds, or a source of zeros.

    A log may hold bytes of no encoding, and zeros where a file system lost what was written.
    """
    if not head.strip(b"\0"):
        return bool(head) and place.path is not None and not place.path.is_file()
    wrong = head.decode("utf-8", "replace").count("\ufffd")
    return wrong > len(head) // 10 and sum(byte in _CONTROLS for byte in head) > len(head) // 50


def _files(folder: Path) -> Iterator[Path]:
    for here, below, names in os.walk(folder):
        below.sort()
        for name in sorted(names):
            path = Path(here, name)
            with suppress(OSError):
                if stat.S_ISREG(path.stat().st_mode):
                    yield path


def _reason(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else "the name cannot be used"
    return text[:1].lower() + text[1:]

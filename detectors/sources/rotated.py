"""Where did the text of a log go that was renamed, copied or compressed? Found by what it holds.

logrotate renames (`log` to `log.1`, later `log.2.gz`), or copies and truncates; a program that holds the file open
goes on writing to the renamed one. Whatever the way, the rest that was not read stands in a file beside it.
"""

import lzma
import os
import re
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from detectors.sources.opening import Opened, Unreadable, opened
from detectors.sources.packed_text import MEMBERS, PackedText
from detectors.sources.position import HEAD, TAIL, FilePosition, digest

ENTRIES_LIMIT = 20_000  # names looked at in a folder
FOLDERS_KNOWN = 256
SETTLED = 2.0  # seconds after which a change of a folder has another time than the one before
SIBLINGS_LIMIT = 64  # rotated files of one log
UNPACKED_LIMIT = 256 << 20  # bytes: a compressed file must not become a turn without end
PASSES = 4  # over one whole file in one turn (known again, read, marked), or over the beginnings of several
SUFFIX = r"(?:[.-]\d[\dT._:-]{0,31}|\.old|\.bak)(?:\.(?P<packed>gz|bz2|xz))?"
_ROTATED = re.compile(rf"(?P<base>.+?){SUFFIX}\Z", re.DOTALL)
_NUMBER = re.compile(r"\.(\d{1,6})(?:\.\w+)?\Z")
_DATE = re.compile(r"[.-](\d{8}[\dT._:-]*?)(?:\.\w+)?\Z")
BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError)
"""What a compressed file that is not complete (yet), or none at all, raises."""


@dataclass
class Unpacking:
    """How much may still be unpacked in one turn over one log, over all its rotated files.

    `left`: bytes of text; `packed_left`: bytes of packed files, and what their members count as.
    """

    left: int = field(default_factory=lambda: PASSES * UNPACKED_LIMIT)
    packed_left: int = field(default_factory=lambda: PASSES * UNPACKED_LIMIT)

    def spend(self, size: int) -> None:
        """Raises `ValueError` when there is no more."""
        self.left -= size
        if self.left < 0:
            raise ValueError("more than what is unpacked in one turn")

    def take(self, size: int) -> None:
        """The same for what is taken from packed files."""
        self.packed_left -= size
        if self.packed_left < 0:
            raise ValueError("more than what is read of packed files in one turn")


@dataclass
class Rotated:
    """An open file beside a log. `packed`: it is compressed, so nobody writes to it."""

    path: str
    file: Opened
    packed: bool
    _unpacking: Unpacking = field(default_factory=Unpacking)
    _text: PackedText | None = None

    def read(self, offset: int, size: int) -> bytes:
        """`size` bytes of its text from `offset` on, less at its end. Raises one of `BROKEN`.

        To go back in a compressed file is to begin it anew: it costs all bytes up to the place.
        """
        if self._text is None:
            return os.pread(self.file.descriptor, size, offset)
        if offset + size > UNPACKED_LIMIT:
            raise ValueError("longer than what is unpacked")
        there = self._text.tell()
        self._unpacking.spend(offset + size - (there if there <= offset else 0))
        return self._text.read_at(offset, size)

    def begins_like(self, other: Opened) -> bool:
        """Whether it is a copy of the beginning of another file."""
        head = self.read(0, HEAD)
        return os.pread(other.descriptor, len(head), 0) == head

    def continues(self, own: FilePosition) -> bool:
        """Whether what was read up to `own` stands at its beginning."""
        if not own.offset:
            return own.same_file(self.file.status)
        head = self.read(0, own.head_size)
        if digest(head) != own.head:
            return False
        return digest(self.read(own.offset - own.tail_size, own.tail_size)) == own.tail

    def mark(self, offset: int) -> FilePosition:
        """The position `offset` of its text."""
        status = self.file.status
        head, tail_size = self.read(0, min(HEAD, offset)), min(TAIL, offset)
        return FilePosition(
            device=status.st_dev,
            inode=status.st_ino,
            offset=offset,
            head_size=len(head),
            head=digest(head),
            tail_size=tail_size,
            tail=digest(self.read(offset - tail_size, tail_size)),
            size=status.st_size,
            modified_ns=status.st_mtime_ns,
        )


def base_of(name: str) -> str | None:
    """The name of the log that a rotation gave this one; `None` for a name that no rotation gives."""
    match = _ROTATED.match(name)
    return match["base"] if match else None


def packing_of(name: str) -> str | None:
    """`gz`, `bz2`, `xz` by the end of a name; `None`: it is not packed, or by something that is not known here."""
    last = name.rpartition(".")[2]
    return last if last in MEMBERS else None


@dataclass(frozen=True)
class Beside:
    """The rotated files of every log of one folder. `settled_ns`: the folder's time, 0 when it changed just now."""

    looked_at: float
    moment_ns: int
    settled_ns: int
    of: Mapping[str, Sequence[tuple[int, str]]]


_BESIDE: OrderedDict[str, Beside] = OrderedDict()


def beside(path: str, now: float) -> Beside:
    """The folder of a log as it is in the turn at `now` (epoch seconds).

    One listing for all its logs in one turn, and none while the folder stays as it is.
    """
    folder = os.path.dirname(path)
    known, moment = _BESIDE.get(folder), _moment(folder)
    unchanged = known is not None and known.settled_ns and known.settled_ns == moment
    if known is None or (known.looked_at != now and not unchanged):
        settled = moment if now - moment / 1e9 > SETTLED else 0
        known = _BESIDE[folder] = Beside(now, moment, settled, _listed(folder))
        while len(_BESIDE) > FOLDERS_KNOWN:
            _BESIDE.popitem(last=False)
    return known


def siblings(path: str, now: float) -> tuple[str, ...]:
    """Paths of the rotated files of a log, the oldest first; none when its folder cannot be listed."""
    found = beside(path, now).of.get(os.path.basename(path), ())
    return tuple(_in_order(found)[-SIBLINGS_LIMIT:])


def has_siblings(path: str) -> bool:
    """Whether a rotation left something of a log."""
    return os.path.basename(path) in _listed(os.path.dirname(path))


def _listed(folder: str) -> dict[str, list[tuple[int, str]]]:
    found: dict[str, list[tuple[int, str]]] = {}
    try:
        with os.scandir(folder) as entries:
            for _seen, entry in zip(range(ENTRIES_LIMIT), entries, strict=False):
                if (base := base_of(entry.name)) and entry.is_file(follow_symlinks=False):
                    found.setdefault(base, []).append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path))
    except OSError:
        return {}
    return found


def _moment(folder: str) -> int:
    """When a file of the folder was last renamed, made or deleted (ns since 1970); 0 when nobody knows."""
    try:
        return os.stat(folder).st_mtime_ns
    except (OSError, ValueError):
        return 0


@contextmanager
def opened_rotated(
    path: str, roots: Sequence[str], owner: int | None, unpacking: Unpacking
) -> Iterator[Rotated | None]:
    """One of `siblings`; `None` when it must not or cannot be opened."""
    packing = packing_of(path)
    with ExitStack() as stack:
        try:
            file = stack.enter_context(opened(path, roots, owner))
        except Unreadable:
            yield None
            return
        if packing is None:
            yield Rotated(path, file, packed=False, _unpacking=unpacking)
            return
        text = PackedText(file.descriptor, packing, unpacking.take)
        yield Rotated(path, file, packed=True, _unpacking=unpacking, _text=text)


def _in_order(found: Sequence[tuple[int, str]]) -> list[str]:
    """By the numbers or dates in their names where all have one, else by the time of their last change."""
    for names in (_NUMBER, _DATE):
        parts = [names.search(path) for _at, path in found]
        if all(parts):
            keys = [(-int(part[1]), "") if names is _NUMBER else (0, part[1]) for part in parts if part]
            return [path for _key, path in sorted(zip(keys, (path for _at, path in found), strict=True))]
    return [path for _at, path in sorted(found)]

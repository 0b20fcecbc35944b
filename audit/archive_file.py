"""What stands in a file of the archive?

JSON Lines, compressed by gzip. The first line says whose seals they are and in which order the columns were sealed;
then comes a line for each seal with every column of its event as it was sealed, after some of them the checkpoint
that was signed there, and at the end how many they were. Everything in it is checked by whoever reads it.
"""

import gzip
import hashlib
import json
import os
import re
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, unquote

from audit.checkpoints import line_of, read_line
from audit.models import AuditCheckpoint
from audit.row_text import COLUMNS
from audit.walking import Broken, Link

FORMAT = "rekindle-archive-1"
ENDING = ".jsonl.gz"
LINE_LIMIT = 4 << 20  # bytes: an event's columns together are far below it
LEVEL = 6
_NAMED = re.compile(rf"trail-(.*)-(\d{{12,19}})-\d{{12,19}}{re.escape(ENDING)}", re.DOTALL)


@dataclass(frozen=True)
class Head:
    """The first line."""

    cluster: str
    first_seq: int
    last_seq: int
    before: str
    columns: tuple[str, ...] = COLUMNS


def name_of(cluster: str, first_seq: int, last_seq: int) -> str:
    """`trail-demo-000000000001-000000010000.jsonl.gz`, in which a name of any letters is no path."""
    return f"{stem_of(cluster, first_seq)}{last_seq:012d}{ENDING}"


def stem_of(cluster: str, first_seq: int) -> str:
    """What all files begin with that begin at this seal."""
    return f"trail-{quote(cluster, safe='')}-{first_seq:012d}-"


def names_in(folder: Path) -> list[tuple[str, int, str]]:
    """Of each file that is named like one of the archive: whose seals, from which on, and its name."""
    found = ((_NAMED.fullmatch(path.name), path.name) for path in folder.iterdir())
    return sorted((unquote(one[1]), int(one[2]), name) for one, name in found if one is not None)


def write(
    file: IO[bytes], head: Head, links: Iterable[Link], checkpoints: Mapping[int, AuditCheckpoint]
) -> tuple[datetime, datetime]:
    """Write all of it; the earliest and the latest `at`. The same content makes the same bytes."""
    least, most = "", ""
    at = head.columns.index("at")
    with gzip.GzipFile(filename="", mode="wb", compresslevel=LEVEL, fileobj=file, mtime=0) as out:
        out.write(_line({"format": FORMAT, **vars(head)}))
        for link in links:
            cells = json.loads(link.text or "[]")
            least, most = min(least or cells[at], cells[at]), max(most, cells[at])
            out.write(_line(_said(link, dict(zip(head.columns, cells, strict=True)))))
            if link.seq in checkpoints:
                out.write(_line({"checkpoint": json.loads(line_of(checkpoints[link.seq]))}))
        out.write(_line({"end": head.last_seq - head.first_seq + 1}))
    return _moment(least), _moment(most)


def read(path: Path, cluster: str, first_seq: int, before: str) -> Iterator[Link | AuditCheckpoint]:
    """Every seal and checkpoint in order. Raises `Broken` where it is not what was written for these seals."""
    after = first_seq - 1
    try:
        with _opened(path) as raw, gzip.GzipFile(fileobj=raw, mode="rb") as file:
            head = _head(file.readline(LINE_LIMIT))
            if (head.cluster, head.first_seq, head.before) != (cluster, first_seq, before):
                raise Broken(f"{path.name} is the archive of other seals")
            while not isinstance(found := _read(file.readline(LINE_LIMIT), head.columns), int):
                after = found.seq
                yield found
            if found != after - first_seq + 1 or after != head.last_seq or file.read(1):
                raise Broken(f"{path.name} does not end where it says")
    except FileNotFoundError:
        raise Broken(f"{path.name} is not in the archive") from None
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, RecursionError):
        raise Broken(f"{path.name} cannot be read after seal {after}") from None


def digest_of(path: Path) -> tuple[int, str]:
    """Bytes and SHA-256 of a file. Raises `OSError`."""
    with _opened(path) as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
        return file.tell(), found


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("it is no file")
        yield file


def _line(words: Mapping[str, Any]) -> bytes:
    return (json.dumps(words) + "\n").encode()


def _said(link: Link, row: Mapping[str, str | None]) -> dict[str, Any]:
    sealed_at = link.sealed_at.isoformat() if link.sealed_at else None
    return {"seq": link.seq, "event": link.event, "digest": link.digest, "sealedAt": sealed_at, "row": row}


def _head(line: bytes) -> Head:
    told = json.loads(line)
    if told["format"] != FORMAT:
        raise ValueError("another format")
    columns = tuple(map(str, told["columns"]))
    return Head(told["cluster"], int(told["first_seq"]), int(told["last_seq"]), told["before"], columns)


def _read(line: bytes, columns: tuple[str, ...]) -> Link | AuditCheckpoint | int:
    """One line after the first; a number is the end."""
    told = json.loads(line)
    if "checkpoint" in told:
        return read_line(json.dumps(told["checkpoint"]))
    if "end" in told:
        return int(told["end"])
    row = told["row"]
    if set(row) != set(columns):
        raise ValueError("other columns")
    return Link(
        int(told["seq"]), int(told["event"]), str(told["digest"]), json.dumps([row[one] for one in columns])
    )


def _moment(text: str) -> datetime:
    """A time as the database writes it, which is UTC in both."""
    return datetime.fromisoformat(f"{text}+00:00")

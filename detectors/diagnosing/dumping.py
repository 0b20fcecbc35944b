"""What do the dumps of Flight Recorders among some files tell? One file for each rank, read side by side."""

import stat
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO

from detectors.diagnosing.folding import Found
from detectors.diagnosing.naming import NameReader
from detectors.diagnosing.opening import BROKEN, PEEK, Place, Unreadable, opened
from detectors.dumps.pickles import LARGEST, BadDump
from detectors.dumps.picture import KEY, finding_of, keep_newer, rows_of
from detectors.dumps.recording import Recording, looks_recorded, recording

AT_ONCE = 4  # dumps that one process takes at a time


@dataclass(frozen=True)
class Dump:
    """A file that is meant as a dump, and what its name tells."""

    place: Place
    host: str | None = None
    rank: int | None = None


@dataclass
class Dumps:
    """What was read: by rank its newest dump and the file that holds it. `troubles`: sentences about the others."""

    by_rank: dict[int, tuple[str, Recording]] = field(default_factory=dict)
    size: int = 0
    troubles: list[str] = field(default_factory=list)

    def tell(self, found: Found) -> None:
        """Add what they tell to what the lines told."""
        if not self.by_rank:
            return
        found.witnesses["recorded"], found.witnesses["members"] = rows_of(self.by_rank)
        finding = finding_of(self.by_rank)
        if finding is not None:
            found.findings[KEY] = finding
        newest = max(one.at for _name, one in self.by_rank.values())
        found.until = max(found.until, datetime.fromtimestamp(newest, UTC))


def dumps_among(places: Iterable[Place], node_of: NameReader | None) -> tuple[list[Dump], list[Place]]:
    """The files that are meant as dumps, and the others. Only regular files: what can be read once is a log."""
    dumps: list[Dump] = []
    others: list[Place] = []
    for place in places:
        if not _meant(place):
            others.append(place)
            continue
        host, rank = node_of.read(place.name) if node_of is not None else (None, None)
        dumps.append(Dump(Place(place.name, place.path), host, rank))
    return dumps, others


def read_dumps(dumps: Sequence[Dump], pool: Executor | None) -> Dumps:
    """All of them; of two dumps of one rank the newer one counts. Memory: one dump for each process."""
    made = Dumps()
    each = pool.map(_read, dumps, chunksize=AT_ONCE) if pool is not None else map(_read, dumps)
    for dump, (told, size) in zip(dumps, each, strict=True):
        made.size += size
        if isinstance(told, str):
            made.troubles.append(f"{dump.place.name}: {told}")
            continue
        keep_newer(made.by_rank, dump.place.name, told)
    return made


def _read(dump: Dump) -> tuple[Recording | str, int]:
    """The recording or why there is none; and how many bytes were read."""
    try:
        with opened(dump.place, BytesIO(), as_text=False) as stream:
            content = stream.read(LARGEST + 1)
        return recording(content, dump.place.name, dump.rank, dump.host or ""), len(content)
    except (Unreadable, BadDump) as error:
        return str(error), 0
    except BROKEN:
        return "it breaks off or is damaged", 0


def _meant(place: Place) -> bool:
    if place.path is None:
        return False
    with suppress(OSError, ValueError, Unreadable, *BROKEN):
        if stat.S_ISREG(place.path.stat().st_mode):
            with opened(Place(place.name, place.path), BytesIO(), as_text=False) as stream:
                return looks_recorded(stream.peek(PEEK)[:PEEK])
    return False

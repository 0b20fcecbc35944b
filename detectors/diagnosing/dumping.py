"""What do the dumps of Flight Recorders among some files tell? One file for each rank, read side by side."""

import stat
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from io import BytesIO

from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.records import Evidence, Finding
from detectors.diagnosing.folding import Found
from detectors.diagnosing.naming import NameReader
from detectors.diagnosing.opening import BROKEN, PEEK, Place, Unreadable, opened
from detectors.dumps.pickles import LARGEST, BadDump
from detectors.dumps.recording import Recording, looks_recorded, recording

SIGNATURE = "fr.dump"
KEY = "fr_dump"
QUOTED = 6  # dumps that are quoted: those whose picture is rarest, and one with the usual picture
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
        ranks = _told_apart([self.by_rank[rank][1] for rank in sorted(self.by_rank)])
        found.witnesses["recorded"] = [row for one in ranks for row in one.rows]
        groups = {row["group"]: row for one in ranks for row in one.groups}
        found.witnesses["members"] = list(groups.values())
        finding = _finding(self.by_rank)
        if finding is not None:
            found.findings[KEY] = finding
        newest = max(one.at for one in ranks)
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
        before = made.by_rank.get(told.rank)
        if before is None or told.at > before[1].at:
            made.by_rank[told.rank] = (dump.place.name, told)
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


def _told_apart(recordings: Sequence[Recording]) -> list[Recording]:
    """Where ranks number their groups by themselves, one name stands for several: their members tell them apart."""
    seen: dict[str, set[tuple[int, ...]]] = {}
    for one in recordings:
        for group in one.groups:
            seen.setdefault(group["group"], set()).add(tuple(group["ranks"]))
    double = {name for name, members in seen.items() if len(members) > 1}
    return [_renamed(one, double) for one in recordings] if double else list(recordings)


def _renamed(one: Recording, double: set[str]) -> Recording:
    names = {
        group["group"]: f"{group['group']} of ranks {','.join(map(str, group['ranks'][:4]))}"
        for group in one.groups
        if group["group"] in double
    }
    rows = tuple({**row, "group": names.get(row["group"], row["group"])} for row in one.rows)
    groups = tuple({**row, "group": names.get(row["group"], row["group"])} for row in one.groups)
    return replace(one, rows=rows, groups=groups)


def _finding(by_rank: dict[int, tuple[str, Recording]]) -> Finding | None:
    """That somebody waits, with the rarest pictures quoted; `None` when every recorded collective is completed."""
    begun = [row["begun"] for _name, one in by_rank.values() for row in one.rows if row.get("begun")]
    waits = [rank for rank, (_name, one) in by_rank.items() if any(row.get("state") for row in one.rows)]
    if not waits:
        return None
    picture = {rank: one.summary.partition(": ")[2] for rank, (_name, one) in by_rank.items()}
    often = Counter(picture.values())
    usual = often.most_common(1)[0][0]
    odd = sorted(
        (rank for rank in by_rank if picture[rank] != usual), key=lambda rank: (often[picture[rank]], rank)
    )
    quoted = [*odd[: QUOTED - 1], min(rank for rank in by_rank if picture[rank] == usual)]
    signature = catalogue().signature(SIGNATURE)
    return Finding(
        key=KEY,
        kind=signature.anomaly_kind,
        sentence=f"{signature.says}: {len(waits)} of {len(by_rank)} ranks wait in a collective.",
        happened_at=datetime.fromtimestamp(min(begun, default=0.0), UTC),
        basis="file",
        signature=SIGNATURE,
        layer=signature.layer,
        role=signature.role,
        evidence=tuple(Evidence(by_rank[rank][0], 0, by_rank[rank][1].summary, rank=rank) for rank in quoted),
        confidence=signature.confidence,
        count=len(waits),
    )

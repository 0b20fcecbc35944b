"""How far had one rank come in each process group, by the dump of its Flight Recorder? From values to a few rows.

The names of the fields are the recorder's own (PyTorch 2.4 and later). A ring of entries tells of each collective
its group, its sequence number, its operation, its sizes and its state (`states`). Of each group one row is left:
the oldest collective that is not completed. Sends and receives have a count of their own, which differs from rank
to rank, and are left out.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from detectors.catalogue.numerals import LARGEST as LARGEST_NUMBER
from detectors.catalogue.numerals import whole
from detectors.dumps.pickles import LARGEST, MOST_THINGS, BadDump, values_of
from detectors.dumps.states import ALL, COMPLETED, SCHEDULED

MOST_ENTRIES = 200_000  # of one dump, a hundred times the default
MOST_GROUPS = 1024  # of one dump
MOST_RANKS = 65_536  # of one group
MOST_MEMBERS = 1_000_000  # of all groups of one dump
_RANK = re.compile(r"(\d{1,7})(?:\.(?:json|pickle|pkl|bin|dump|trace|txt|gz|xz|bz2)){0,2}\Z", re.ASCII)
_HEAD = re.compile(rb'\s*\{\s*"(?:entries|pg_config|pg_status|version|nccl_version|comm_lib_version|rank)"')
_OWN = re.compile(rb'"(?:entries|pg_config|pg_status)"\s*:\s*[\[{]')
_NANO = 1e-9
_WORD = 96  # characters of a name that are kept
NOTHING = "nothing"
UNNEEDED = ("frames", "input_dtypes", "output_dtypes")  # which code waits, in which types: the most of a dump


@dataclass(frozen=True)
class Recording:
    """One rank's dump. `rows` and `groups` are facts of `attribution.witnesses` as JSON; `summary` is quoted."""

    rank: int
    rows: tuple[dict[str, Any], ...]
    groups: tuple[dict[str, Any], ...]
    at: float
    summary: str


def looks_recorded(head: bytes) -> bool:
    """Whether a file that begins like this is meant as a dump: a binary pickle, or JSON with its fields."""
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return True
    return _HEAD.match(head) is not None and _OWN.search(head) is not None


def rank_of(name: str) -> int | None:
    """The rank by the number that a dump's name ends in: `nccl_trace_rank_7`, `_dump_7`, `rank_7.json`."""
    found = _RANK.search(name.rpartition("/")[2])
    return whole(found[1]) if found is not None else None


def recording(
    content: bytes, name: str, rank: int | None = None, host: str = "", most: int = MOST_THINGS
) -> Recording:
    """What a dump tells. `rank` and `host`: what is known of the file; else its name tells. Raises `BadDump`.

    `most`: things that it may be built of, which bounds time and memory: 8 million take about 10 s and 600 MiB.
    """
    values = _values(content, most)
    if not isinstance(values, dict) or not isinstance(values.get("entries", []), list):
        raise BadDump("it is no dump of the Flight Recorder")
    if not {"entries", "pg_config", "pg_status"} & set(values):
        raise BadDump("it is no dump of the Flight Recorder")
    own = _number(values.get("rank")) if rank is None else rank
    own = rank_of(name) if own is None else own
    if own is None:
        raise BadDump("it is a dump of the Flight Recorder, and neither its name nor its content tells the rank")
    entries = [one for one in values.get("entries", [])[-MOST_ENTRIES:] if isinstance(one, dict)]
    members = _members(values.get("pg_config"))
    places = _places(entries, values.get("pg_status"), members)
    rows = tuple(place.row(own, host[:_WORD]) for place in places)
    groups = tuple({"group": one.group, "ranks": list(one.members)} for one in places if one.members)
    at = max((place.at for place in places), default=0.0)
    return Recording(own, rows, groups, at, _summary(own, rows))


def _values(content: bytes, most: int) -> Any:
    if content[:1] == b"\x80":
        return values_of(content, UNNEEDED, most)
    if len(content) > LARGEST:
        raise BadDump(f"a dump may have {LARGEST >> 20} MiB")
    if sum(map(content.count, (b",", b"[", b"{"))) > most:
        raise BadDump("the JSON builds too much")
    try:
        return json.loads(content.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise BadDump("the JSON breaks off or is damaged") from None


@dataclass
class _Place:
    """Where the rank stands in one group."""

    group: str
    members: tuple[int, ...]
    enq: int | None = None
    started: int | None = None
    done: int | None = None
    open: dict[str, Any] | None = None
    seq: int = 0
    at: float = 0.0

    def see(self, entry: Mapping[str, Any]) -> None:
        """One more collective of the group."""
        seq, state = _number(entry.get("collective_seq_id")), entry.get("state")
        if seq is None or not isinstance(state, str) or state not in ALL:
            return
        self.enq = max(seq, self.enq or 0)
        if state == COMPLETED:
            self.done = max(seq, self.done or 0)
        elif self.open is None or seq < self.seq:
            self.open, self.seq = dict(entry), seq
        if state != SCHEDULED:
            self.started = max(seq, self.started or 0)
        for name in _TIMES:
            if (at := _seconds(entry.get(name))) > self.at:
                self.at = at

    def row(self, rank: int, host: str) -> dict[str, Any]:
        """As a fact."""
        entry = self.open or {}
        words = {"group": self.group, "rank": rank, "host": host, "at": round(self.at, 6)}
        counts = {"enq": self.enq, "started": self.started, "done": self.done}
        if not entry:
            return {**words, **counts}
        begun = _seconds(entry.get("time_created_ns"))
        return {
            **words,
            **counts,
            "seq": self.seq,
            "op": _word(entry.get("profiling_name")).removeprefix("nccl:").partition(" ")[0],
            "size": _sizes(entry),
            "state": str(entry.get("state")),
            "begun": round(begun, 6) if begun else None,
        }


_TIMES = ("time_created_ns", "time_discovered_started_ns", "time_discovered_completed_ns")


def _places(entries: Iterable[Mapping[str, Any]], status: Any, members: Mapping[str, Any]) -> list[_Place]:
    """One place for each group, by its entries; the recorder's own counters know also what fell out of the ring."""
    places: dict[str, _Place] = {}
    by_number: dict[str, _Place] = {}
    for entry in entries:
        if entry.get("is_p2p") is True:
            continue
        name, words = _group(entry)
        place = places.get(name)
        if place is None:
            if len(places) >= MOST_GROUPS:
                continue
            place = places[name] = _Place(name, members.get(name) or members.get(words) or ())
        by_number[str(entry.get("pg_id"))] = place
        place.see(entry)
    for number, counters in _items(status):
        if (place := by_number.get(number)) is not None and isinstance(counters, dict):
            _counted(place, counters)
    return [place for place in places.values() if place.enq is not None]


def _counted(place: _Place, counters: Mapping[str, Any]) -> None:
    enq, done = (_number(counters.get(f"last_{word}_collective")) for word in ("enqueued", "completed"))
    place.enq = max(place.enq or 0, enq or 0)
    # What is completed by the counter is completed, also where its entry was not brought up to date any more.
    if place.open is not None and done is not None and done >= place.seq:
        place.open = None
    place.done = max(place.done or 0, done or 0) if done is not None else place.done


def _group(entry: Mapping[str, Any]) -> tuple[str, str]:
    """A group's name with its description, and the name alone."""
    told = entry.get("process_group")
    if isinstance(told, list | tuple) and len(told) == 2:
        name, words = _word(told[0]), _word(told[1])
        return (f"{name} {words}" if words and words != "undefined" else name), name
    name = str(_number(entry.get("pg_id")))
    return name, name


def _members(config: Any) -> dict[str, tuple[int, ...]]:
    """Global ranks of each group, by its name alone and with its description."""
    found: dict[str, tuple[int, ...]] = {}
    left = MOST_MEMBERS
    for key, row in _items(config)[:MOST_GROUPS]:
        if not isinstance(row, dict) or left <= 0:
            continue
        name, words = _word(row.get("name", key)), _word(row.get("desc", ""))
        ranks = _ranks(row.get("ranks"))
        left -= len(ranks)
        found[name] = ranks
        if words and words != "undefined":
            found[f"{name} {words}"] = ranks
    return found


def _ranks(told: Any) -> tuple[int, ...]:
    numbers: Iterator[int | None]
    if isinstance(told, str):
        numbers = (whole(part) for part in re.findall(r"\d{1,9}", told[: 8 * MOST_RANKS]))
    elif isinstance(told, list):
        numbers = (_number(part) for part in told[:MOST_RANKS])
    else:
        return ()
    return tuple(sorted({one for one in numbers if one is not None})[:MOST_RANKS])


def _items(told: Any) -> list[tuple[str, Any]]:
    return [(str(key), value) for key, value in told.items()] if isinstance(told, dict) else []


def _number(told: Any) -> int | None:
    if isinstance(told, str):
        return whole(told) if told.isdecimal() and told.isascii() else None
    return told if isinstance(told, int) and not isinstance(told, bool) and 0 <= told <= LARGEST_NUMBER else None


def _seconds(told: Any) -> float:
    """Nanoseconds since 1970 as seconds; 0 for what is no moment between 1970 and 2100."""
    valid = isinstance(told, int | float) and not isinstance(told, bool) and 0 < told < 4_102_444_800 / _NANO
    return float(told) * _NANO if valid else 0.0


def _word(told: Any) -> str:
    return _printable(str(told)[:_WORD]) if isinstance(told, str | int) else ""


@lru_cache(maxsize=4096)
def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else "\ufffd" for one in text).replace("|", "/")


def _sizes(entry: Mapping[str, Any]) -> str:
    """Sizes of what goes in and comes out, as `3x4/12`."""
    return "/".join(_shapes(entry.get(name)) for name in ("input_sizes", "output_sizes"))[: 2 * _WORD]


def _shapes(told: Any) -> str:
    shapes = told[:8] if isinstance(told, list) else []
    return ",".join("x".join(str(_number(one)) for one in shape[:8]) for shape in shapes if isinstance(shape, list))


def _summary(rank: int, rows: Sequence[Mapping[str, Any]]) -> str:
    """A line for an operator: what it waits in, the earliest first."""
    waits = sorted((row for row in rows if row.get("state")), key=lambda row: (row.get("begun") or 0, row["group"]))
    if not waits:
        newest = ", ".join(f"#{row['done']} of group {row['group']}" for row in list(rows)[:3])
        return f"Flight Recorder of rank {rank}: all that it recorded is completed, the newest: {newest or NOTHING}"
    told = [f"{row['op']} #{row['seq']} of group {row['group']} is {row['state']}" for row in waits[:3]]
    return f"Flight Recorder of rank {rank}: {'; '.join(told)}"

"""What do programs that look at all ranks print about them? NCCL's RAS, PyTorch's `fr_trace`, NVRx's wavefront.

Each prints a few lines that belong together: which communicator or collective it is about, then the ranks. The
lines of one stream are taken in their order; what stands alone says what it can. Rows are facts for the search for
a cause.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from detectors.catalogue.detector import Known, State, Step
from detectors.catalogue.locating import numbers
from detectors.catalogue.numerals import whole
from detectors.catalogue.readings import Reading
from detectors.catalogue.records import Context
from detectors.dumps.states import SCHEDULED, STARTED

NAME = "analyses"
POLLED, ANALYSED = "polled", "analysed"
KEPT = 4096  # rows of each kind
STREAMS_AT_ONCE = 64  # with a block that is still open
LAG, MISSING, DEAD = "lag", "missing", "dead"
OF_STATE = "COLLECTIVE_STATE_MISMATCH"
BY_TRACE, BY_NVRX = "fr_trace", "NVRx"
_CULPRIT = re.compile(
    r"Culprit rank (\d{1,7}); Error type: ([A-Z_]{1,64})"
    r"(?:, Expected state: '(\w{1,16})' does not match found state: '(\w{1,16})')?",
    re.ASCII,
)

Rows = dict[str, dict[str, Any]]
Words = Mapping[str, str | None]


class Tables:
    """The open block of each stream, how far most ranks of a communicator are, and the rows; JSON as its state."""

    def __init__(self, state: State) -> None:
        self.blocks: Rows = {key: dict(row) for key, row in state.get("blocks", {}).items()}
        self.most: dict[str, int] = dict(state.get("most", {}))
        self.polled: Rows = dict(state.get(POLLED, {}))
        self.analysed: Rows = dict(state.get(ANALYSED, {}))

    def block(self, stream: str) -> dict[str, Any]:
        """The open one of a stream."""
        if stream not in self.blocks:
            self.open(stream, {})
        return self.blocks[stream]

    def open(self, stream: str, block: dict[str, Any]) -> None:
        """A new one: the oldest stream is forgotten when there are many."""
        self.blocks.pop(stream, None)
        self.blocks[stream] = block
        if len(self.blocks) > STREAMS_AT_ONCE:
            del self.blocks[next(iter(self.blocks))]

    def facts(self) -> dict[str, list[dict[str, Any]]]:
        """Rows by topic."""
        rows = [{**row, "most": self._most(row["comm"])} for row in self.polled.values()]
        return {topic: some for topic, some in ((POLLED, rows), (ANALYSED, list(self.analysed.values()))) if some}

    def _most(self, comm: str) -> int | None:
        """Where most ranks are; where every rank is elsewhere, the second place from behind."""
        if comm in self.most:
            return self.most[comm]
        told = (row["ops"] for row in self.polled.values() if row["comm"] == comm)
        places = sorted({ops for ops in told if ops is not None})
        return places[1] if len(places) > 1 else None


def fold(state: State, readings: Sequence[Reading], known: Known, context: Context, now: datetime) -> Step:
    """No finding: facts for the search for the cause, in `known.witnesses`."""
    faults = [(reading, reading.fault) for reading in readings if reading.fault is not None]
    telling = [(reading, hit) for reading, hit in faults if hit.signature.id in TELLERS]
    if not telling:
        return Step(state, known)
    tables = Tables(state)
    for reading, hit in telling:
        TELLERS[hit.signature.id](tables, reading, hit.words)
    return Step(vars(tables), replace(known, witnesses={**known.witnesses, **tables.facts()}))


def _communicator(tables: Tables, reading: Reading, words: Words) -> None:
    sort = MISSING if words.get("what") == "INCOMPLETE" else LAG
    tables.open(reading.record.stream, {"comm": words.get("comm") or "", "sort": sort, "n": 0})


def _count(tables: Tables, reading: Reading, words: Words) -> None:
    """So many ranks are at one place; those that are listed next belong to it."""
    block = tables.block(reading.record.stream)
    count, ops = whole(words.get("n") or "0") or 0, whole(words.get("op") or "0")
    block |= {"ops": ops, "sort": LAG}
    if count > int(block.get("n", 0)) and ops is not None:
        block["n"] = count
        if len(tables.most) < KEPT:
            tables.most[block.get("comm", "")] = ops


def _lags(tables: Tables, reading: Reading, words: Words) -> None:
    block = tables.block(reading.record.stream)
    _poll(tables, reading, block.get("comm", ""), LAG, whole(words.get("op") or "0"))


def _member(tables: Tables, reading: Reading, words: Words) -> None:
    """A rank of the list above: it does not report, or it is where the line above tells."""
    block = tables.block(reading.record.stream)
    sort = block.get("sort", LAG)
    if sort != LAG or block.get("ops") is not None:
        _poll(tables, reading, block.get("comm", ""), sort, block.get("ops") if sort == LAG else None)


def _absent(tables: Tables, reading: Reading, words: Words) -> None:
    tables.block(reading.record.stream)["sort"] = MISSING


def _dead(tables: Tables, reading: Reading, words: Words) -> None:
    tables.block(reading.record.stream)["sort"] = DEAD


def _process(tables: Tables, reading: Reading, words: Words) -> None:
    sort = tables.block(reading.record.stream).get("sort", LAG)
    if sort != LAG:
        _poll(tables, reading, "", sort, None)


def _ranks(tables: Tables, reading: Reading, words: Words) -> None:
    _poll(tables, reading, tables.block(reading.record.stream).get("comm", ""), MISSING, None)


def _poll(tables: Tables, reading: Reading, comm: str, sort: str, ops: int | None) -> None:
    """One row for each rank that the line names, else one for its host."""
    host = reading.hosts[0] if reading.hosts else ""
    for rank in reading.ranks or (None,):
        key = f"{sort}|{comm}|{rank}|{host if rank is None else ''}"
        row = tables.polled.get(key)
        if row is None and len(tables.polled) >= KEPT:
            return
        before = row or {"polls": 0, "moved": False, "ops": ops}
        moved = ops is not None and before["ops"] is not None and ops > before["ops"]
        tables.polled[key] = {
            "comm": comm,
            "rank": rank,
            "host": host,
            "at": reading.moment.timestamp(),
            "sort": sort,
            "ops": ops,
            "polls": before["polls"] + 1,
            "moved": moved,
        }


def _collective(tables: Tables, reading: Reading, words: Words) -> None:
    seq = whole(words.get("seq") or words.get("seq2") or words.get("seq3") or "")
    tables.open(reading.record.stream, {"seq": seq})


def _group(tables: Tables, reading: Reading, words: Words) -> None:
    tables.block(reading.record.stream)["group"] = (words.get("group") or "").strip()[:96]


def _expected(tables: Tables, reading: Reading, words: Words) -> None:
    tables.block(reading.record.stream)["expected"] = _read(words)


def _missing(tables: Tables, reading: Reading, words: Words) -> None:
    block = tables.block(reading.record.stream)
    where = {"group": str(block.get("group", "")), "seq": block.get("seq"), "of": None}
    _keep(tables, reading, {"by": BY_TRACE, "case": "H", **where, "ranks": _read(words)})


def _culprits(tables: Tables, reading: Reading, words: Words) -> None:
    """Whoever differs from the first rank that was looked at. Which of the two sides is the odd one is counted."""
    told = [(whole(rank) or 0, what, wanted, found) for rank, what, wanted, found in _CULPRIT.findall(reading.text)]
    block = tables.block(reading.record.stream)
    everybody = list(block.get("expected", []))
    of_state = [row for row in told if row[1] == OF_STATE]
    if len(of_state) == len(told):
        case, ranks = "J", _not_begun(of_state, everybody)
        if not ranks:
            return
    else:
        case, ranks = "D", _odd({row[0] for row in told if row[1] != OF_STATE}, everybody)
    where = {"group": str(block.get("group", "")), "seq": block.get("seq"), "of": len(everybody) or None}
    _keep(tables, reading, {"by": BY_TRACE, "case": case, **where, "ranks": ranks})


def _not_begun(told: Sequence[tuple[int, str, str, str]], everybody: Sequence[int]) -> list[int]:
    """Ranks whose collective is only scheduled, while that of the others has started."""
    if any((wanted, found) == (SCHEDULED, STARTED) for _rank, _what, wanted, found in told):
        listed = {rank for rank, *_rest in told}
        return [rank for rank in everybody if rank not in listed]
    return [rank for rank, _what, wanted, found in told if (wanted, found) == (STARTED, SCHEDULED)]


def _odd(listed: set[int], everybody: Sequence[int]) -> list[int]:
    """The smaller side; nobody where both are as large, or the size of the group is not told."""
    others = [rank for rank in everybody if rank not in listed]
    if not everybody or len(listed) == len(others):
        return []
    return sorted(listed) if len(listed) < len(others) else others


def _wavefront(tables: Tables, reading: Reading, words: Words) -> None:
    where = {"group": f"{words.get('pg')} {words.get('group')}"[:96], "seq": None, "of": None}
    _keep(tables, reading, {"by": BY_NVRX, "case": "H", **where, "ranks": _read(words)})


def _read(words: Words) -> list[int]:
    return list(numbers(words.get("ranks") or ""))


def _keep(tables: Tables, reading: Reading, row: dict[str, Any]) -> None:
    key = f"{row['by']}|{row['case']}|{row['group']}|{row['seq']}"
    if key in tables.analysed or len(tables.analysed) < KEPT:
        tables.analysed[key] = {**row, "at": reading.moment.timestamp()}


TELLERS: Mapping[str, Callable[[Tables, Reading, Words], None]] = {
    "nccl.ras_comm": _communicator,
    "nccl.ras_count": _count,
    "nccl.ras_lag": _lags,
    "nccl.ras_member": _member,
    "nccl.ras_missing": _absent,
    "nccl.ras_dead": _dead,
    "nccl.ras_process": _process,
    "nccl.ras_rank": _ranks,
    "fr.collective": _collective,
    "fr.group": _group,
    "fr.missing": _missing,
    "fr.expected": _expected,
    "fr.culprits": _culprits,
    "nvrx.wavefront": _wavefront,
}
"""What each signature tells; the words are those that its pattern catches."""

"""What do the ranks tell about each other? Counters of collectives, broken connections, ports of adapters.

One line of these proves little; all of them together tell who did not join a collective and which host the others
could not reach (reference, 6.3 and 6.4). They are kept as facts: the search for the cause counts them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from detectors.catalogue.detector import Known, State, Step
from detectors.catalogue.hits import Hit
from detectors.catalogue.locating import without_port
from detectors.catalogue.numerals import whole
from detectors.catalogue.readings import Reading
from detectors.catalogue.records import Context

NAME = "witnesses"
WAITS, EDGES, PORTS, STORE = "waits", "edges", "ports", "store"
KEPT = 16_384  # rows of each kind: 8,192 ranks in two groups
OF_ALL = frozenset({"0/", "0/0", "0/default_pg"})
"""Names of the group that holds every rank; a line without a group is told of it, too, and the rows are one."""
FLUSHED = 5  # a completion with this status only follows another error
_NIC = re.compile(r"\bhca ([\w.]{1,64})")
_OWN_ADDRESS = re.compile(r"local ?G(?:id|ID) (?:::ffff:)?([0-9a-fA-F.:]{2,45})")


@dataclass
class Tables:
    """The facts so far; JSON as its state.

    `waits`: `group|rank` → what that rank says of its process group. `edges`: `reporter|peer|adapter` → a
    connection that broke. `ports`: `host|adapter` → how its port is now. `store`: ranks that lost the store of rank
    0. `addresses`: IP address → host, from lines that hold both.
    """

    waits: dict[str, dict[str, Any]]
    edges: dict[str, dict[str, Any]]
    ports: dict[str, dict[str, Any]]
    store: dict[str, dict[str, Any]]
    addresses: dict[str, str]

    @classmethod
    def of(cls, state: State) -> "Tables":
        """From its JSON."""
        return cls(**{name: dict(state.get(name, {})) for name in (WAITS, EDGES, PORTS, STORE, "addresses")})

    def facts(self) -> dict[str, list[dict[str, Any]]]:
        """Rows of each topic; a peer that is known by its address only bears its host's name where it is known."""
        edges = [{**row, "peer": row["peer"] or self.addresses.get(row["said"], "")} for row in self.edges.values()]
        rows = {WAITS: list(self.waits.values()), EDGES: edges, PORTS: list(self.ports.values())}
        return {topic: some for topic, some in {**rows, STORE: list(self.store.values())}.items() if some}


def fold(state: State, readings: Sequence[Reading], known: Known, context: Context, now: datetime) -> Step:
    """No finding: facts for the search for the cause, in `known.witnesses`."""
    telling = [(reading, reading.fault) for reading in readings if reading.fault is not None]
    telling = [(reading, hit) for reading, hit in telling if hit.signature.id in TELLERS]
    if not telling:
        return Step(state, known)
    tables = Tables.of(state)
    for reading, hit in telling:
        TELLERS[hit.signature.id](tables, reading, hit)
    return Step(vars(tables), replace(known, witnesses=tables.facts()))


def _row(table: dict[str, dict[str, Any]], key: str, fresh: Mapping[str, Any]) -> dict[str, Any] | None:
    """The row to change, made from `fresh` when it is new; `None` when the table is full."""
    if key not in table:
        if len(table) >= KEPT:
            return None
        table[key] = dict(fresh)
    else:
        table[key] = dict(table[key])
    return table[key]


def _wait(tables: Tables, reading: Reading, **told: Any) -> None:
    """One rank speaks of its collectives; what a later line does not tell stays as it was."""
    rank = reading.speaker.rank
    if rank is None:
        return
    group = reading.speaker.group or ""
    group = "" if group in OF_ALL else group
    at = reading.moment.timestamp()
    row = _row(tables.waits, f"{group}|{rank}", {"group": group, "rank": rank, "host": "", "at": at})
    if row is not None:
        known = {name: value for name, value in told.items() if value is not None}
        row |= {"host": reading.speaker.host or row["host"], **known}


def _timed_out(tables: Tables, reading: Reading, hit: Hit) -> None:
    ran = _count(hit, "ran")
    begun = reading.moment.timestamp() - ran / 1000 if ran is not None else None
    size = f"{hit.words.get('nin') or ''}/{hit.words.get('nout') or ''}".strip("/") or None
    _wait(tables, reading, own=True, seq=_count(hit, "seq"), op=hit.words.get("op"), size=size, begun=begun)


def _counted(tables: Tables, reading: Reading, hit: Hit) -> None:
    _wait(tables, reading, own=True, seq=_count(hit, "seq"), enq=_count(hit, "enq"), done=_count(hit, "done"))


def _signalled(tables: Tables, reading: Reading, hit: Hit) -> None:
    """Of its own watchdog, or because another rank timed out first."""
    own = "this local rank" in reading.text
    told = {"own": True} if own else {"notified": True}
    _wait(tables, reading, enq=_count(hit, "enq"), done=_count(hit, "done"), **told)


def _first(tables: Tables, reading: Reading, hit: Hit) -> None:
    _wait(tables, reading, own=True)


def _notified(tables: Tables, reading: Reading, hit: Hit) -> None:
    _wait(tables, reading, notified=True)


def _edge(tables: Tables, reading: Reading, hit: Hit) -> None:
    """Who could not be reached, by whom. The reporter's own address is learnt on the way."""
    reporter = reading.speaker.host
    said = without_port(hit.words.get("peer") or "")
    status = _count(hit, "status")
    if reporter is None or not said or status == FLUSHED:
        return
    if (own := _OWN_ADDRESS.search(reading.text)) is not None and len(tables.addresses) < KEPT:
        tables.addresses[own[1]] = reporter
    nic = found[1] if (found := _NIC.search(reading.text)) is not None else ""
    fresh = {"reporter": reporter, "peer": reading.peer, "said": said, "nic": nic, "at": reading.moment.timestamp()}
    row = _row(tables.edges, f"{reporter}|{said}|{nic}", {**fresh, "count": 0})
    if row is not None:
        row["count"] += 1


def _port(tables: Tables, reading: Reading, hit: Hit) -> None:
    """A port that fails or comes back; the last word counts."""
    host = reading.speaker.host
    if host is None:
        return
    nic = hit.words.get("hca") or ""
    at, down = reading.moment.timestamp(), hit.signature.id == "nccl.ib.port_error"
    row = _row(tables.ports, f"{host}|{nic}", {"host": host, "nic": nic, "failures": 0, "first": at})
    if row is not None:
        row |= {"down": down, "at": at, "failures": row["failures"] + down}


def _lost_store(tables: Tables, reading: Reading, hit: Hit) -> None:
    rank = reading.speaker.rank
    if rank is not None:
        _row(tables.store, str(rank), {"rank": rank, "host": reading.speaker.host or ""})


def _count(hit: Hit, word: str) -> int | None:
    digits = (hit.words.get(word) or "").removeprefix("-")
    value = whole(digits) if digits.isdecimal() else None
    return -value if value is not None and (hit.words.get(word) or "").startswith("-") else value


TELLERS: dict[str, Callable[[Tables, Reading, Hit], None]] = {
    "pg.watchdog_timeout": _timed_out,
    "pg.detected_23": _counted,
    "pg.detected_26": _counted,
    "pg.timeout_at": _counted,
    "pg.dump_signal": _signalled,
    "pg.first_dump": _first,
    "pg.observed_dump": _notified,
    "pg.heartbeat_store": _lost_store,
    "store.closed": _lost_store,
    "nccl.ib.completion": _edge,
    "nccl.connect": _edge,
    "nccl.ib.port_error": _port,
    "nccl.ib.port_active": _port,
}
"""What each signature tells; the words are those that its pattern catches."""

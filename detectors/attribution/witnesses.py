"""What did the ranks tell about each other, as facts of a verdict? Rows of `detectors.catalogue.witnesses`."""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from detectors.catalogue.noticed import DIALECT, OPEN, VETOED
from detectors.catalogue.noticed import TOPIC as NOTICED


@dataclass(frozen=True)
class Wait:
    """One rank of one process group. `own`: its watchdog timed out itself; `notified`: another one's did.

    `seq`, `enq` and `done`: the collective it is stuck in, the last one it has enqueued and the last one completed.
    `begun` and `at` are epoch seconds: since when it waits, and when it first said so.
    """

    group: str
    rank: int
    host: str
    at: float
    own: bool = False
    notified: bool = False
    seq: int | None = None
    enq: int | None = None
    done: int | None = None
    op: str = ""
    size: str = ""
    begun: float | None = None


@dataclass(frozen=True)
class Edge:
    """A broken connection, told by host `reporter`. `peer`: the other host, empty where only `said` is known."""

    reporter: str
    peer: str
    said: str
    nic: str
    at: float
    count: int = 1


@dataclass(frozen=True)
class Port:
    """A port of a network adapter: whether it is down now, how often it failed, first and last change."""

    host: str
    nic: str
    down: bool
    failures: int
    first: float
    at: float


@dataclass(frozen=True)
class Recorded:
    """Where one rank stands in one process group, by the dump of its Flight Recorder.

    `enq`, `started`, `done`: the newest collective that was enqueued, begun on the GPU and completed. `seq` is the
    oldest one that is not completed, with its operation, sizes, `state` (scheduled or started) and when it was
    enqueued (`begun`); all `None` or empty where everything is completed. `at`: the newest moment that it tells.
    """

    group: str
    rank: int
    host: str
    at: float
    enq: int | None = None
    started: int | None = None
    done: int | None = None
    seq: int | None = None
    op: str = ""
    size: str = ""
    state: str = ""
    begun: float | None = None


@dataclass(frozen=True)
class Members:
    """The global ranks of one process group, as its dumps tell."""

    group: str
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class Polled:
    """One process in one communicator, as NCCL's RAS told it. `host` is empty where it is no node of the attempt.

    `ops` and `most`: the newest operation it has launched, and the one that most others had launched at that poll;
    `None` when it was told missing or dead. `moved`: an earlier poll told a smaller number.
    """

    comm: str
    rank: int | None
    host: str
    at: float
    sort: str = "lag"  # lag, missing or dead
    ops: int | None = None
    most: int | None = None
    polls: int = 1
    moved: bool = False


@dataclass(frozen=True)
class Analysed:
    """What a program made of the dumps, as it stands in a log. `case`: the letter of the reference's table.

    `of`: how many ranks the group has, where it is told; `ranks` is empty where they differ and none is odd.
    """

    by: str
    case: str
    group: str
    seq: int | None
    ranks: tuple[int, ...]
    of: int | None
    at: float


@dataclass(frozen=True)
class Witnesses:
    """All of it. `lost_store`: ranks, with their hosts, that could not reach the store of rank 0.

    `vetoed`: look-alikes and how many lines each took a cause away from; `dialects`: signatures that told steps;
    `broken_off`: how many tracebacks have no last line. `unread_dumps`: sentences on dumps that could not be read.
    """

    waits: tuple[Wait, ...] = ()
    edges: tuple[Edge, ...] = ()
    ports: tuple[Port, ...] = ()
    lost_store: tuple[tuple[int, str], ...] = ()
    vetoed: tuple[tuple[str, int], ...] = ()
    dialects: tuple[str, ...] = ()
    recorded: tuple[Recorded, ...] = ()
    members: tuple[Members, ...] = ()
    polled: tuple[Polled, ...] = ()
    analysed: tuple[Analysed, ...] = ()
    broken_off: int = 0
    unread_dumps: tuple[str, ...] = ()

    def in_order(self) -> "Witnesses":
        """The same in the one order that counts."""
        return Witnesses(
            tuple(sorted(self.waits, key=lambda one: (one.group, one.rank))),
            tuple(sorted(self.edges, key=lambda one: (one.reporter, one.said, one.nic))),
            tuple(sorted(self.ports, key=lambda one: (one.host, one.nic))),
            tuple(sorted(self.lost_store)),
            tuple(sorted(self.vetoed)),
            tuple(sorted(self.dialects)),
            tuple(sorted(self.recorded, key=lambda one: (one.group, one.rank))),
            tuple(sorted(self.members, key=lambda one: one.group)),
            tuple(sorted(self.polled, key=lambda one: (one.comm, one.sort, one.host, one.rank or 0))),
            tuple(sorted(self.analysed, key=lambda one: (one.by, one.group, one.case, one.seq or 0, one.ranks))),
            self.broken_off,
            self.unread_dumps,
        )


def read_witnesses(rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> Witnesses:
    """From the stored rows, by topic; topics may be missing."""
    noticed = list(rows.get(NOTICED, ()))
    return Witnesses(
        tuple(Wait(**_known(Wait, row)) for row in rows.get("waits", ())),
        tuple(Edge(**_known(Edge, row)) for row in rows.get("edges", ())),
        tuple(Port(**_known(Port, row)) for row in rows.get("ports", ())),
        tuple((int(row["rank"]), str(row["host"])) for row in rows.get("store", ())),
        tuple((str(row["id"]), int(row["count"])) for row in noticed if row["sort"] == VETOED),
        tuple(str(row["id"]) for row in noticed if row["sort"] == DIALECT),
        tuple(Recorded(**_known(Recorded, row)) for row in rows.get("recorded", ())),
        tuple(Members(str(row["group"]), tuple(row["ranks"])) for row in rows.get("members", ())),
        tuple(Polled(**_known(Polled, row)) for row in rows.get("polled", ())),
        tuple(
            Analysed(**{**_known(Analysed, row), "ranks": tuple(row["ranks"])}) for row in rows.get("analysed", ())
        ),
        sum(int(row["count"]) for row in noticed if row["sort"] == OPEN),
        tuple(str(row["why"]) for row in rows.get("unread_dumps", ())),
    ).in_order()


def _known(shape: type, row: Mapping[str, Any]) -> dict[str, Any]:
    names = {one.name for one in dataclasses.fields(shape)}
    return {name: value for name, value in row.items() if name in names}

"""What did the ranks tell about each other, as facts of a verdict? Rows of `detectors.catalogue.witnesses`."""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from detectors.catalogue.noticed import DIALECT, VETOED
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
class Witnesses:
    """All of it. `lost_store`: ranks, with their hosts, that could not reach the store of rank 0.

    `vetoed`: look-alikes and how many lines each took a cause away from; `dialects`: signatures that told steps.
    """

    waits: tuple[Wait, ...] = ()
    edges: tuple[Edge, ...] = ()
    ports: tuple[Port, ...] = ()
    lost_store: tuple[tuple[int, str], ...] = ()
    vetoed: tuple[tuple[str, int], ...] = ()
    dialects: tuple[str, ...] = ()

    def in_order(self) -> "Witnesses":
        """The same in the one order that counts."""
        return Witnesses(
            tuple(sorted(self.waits, key=lambda one: (one.group, one.rank))),
            tuple(sorted(self.edges, key=lambda one: (one.reporter, one.said, one.nic))),
            tuple(sorted(self.ports, key=lambda one: (one.host, one.nic))),
            tuple(sorted(self.lost_store)),
            tuple(sorted(self.vetoed)),
            tuple(sorted(self.dialects)),
        )


def read_witnesses(rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> Witnesses:
    """From the stored rows, by topic (`waits`, `edges`, `ports`, `store`, `noticed`); topics may be missing."""
    noticed = list(rows.get(NOTICED, ()))
    return Witnesses(
        tuple(Wait(**_known(Wait, row)) for row in rows.get("waits", ())),
        tuple(Edge(**_known(Edge, row)) for row in rows.get("edges", ())),
        tuple(Port(**_known(Port, row)) for row in rows.get("ports", ())),
        tuple((int(row["rank"]), str(row["host"])) for row in rows.get("store", ())),
        tuple((str(row["id"]), int(row["count"])) for row in noticed if row["sort"] == VETOED),
        tuple(str(row["id"]) for row in noticed if row["sort"] == DIALECT),
    ).in_order()


def _known(shape: type, row: Mapping[str, Any]) -> dict[str, Any]:
    names = {one.name for one in dataclasses.fields(shape)}
    return {name: value for name, value in row.items() if name in names}

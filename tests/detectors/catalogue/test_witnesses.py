"""Which facts are kept of what the ranks tell about each other?"""

from collections.abc import Sequence
from typing import Any

import pytest

from detectors.catalogue.witnesses import EDGES, PORTS, STORE, WAITS
from tests.detectors.catalogue.building import Watching, records

MAP = (
    "gpu-0{h}:100:170 [{g}] NCCL INFO ncclCommInitRankConfig comm 0xab rank {r} nranks 8 cudaDev {g} nvmlDev {g} x"
)
STARTS = [MAP.format(h=rank // 2 + 1, g=rank % 2, r=rank) for rank in range(8)]
OWN = (
    "[rank{r}]:[E501 10:05:00.408271257 ProcessGroupNCCL.cpp:607] [PG ID 0 PG GUID 0(default_pg) Rank {r}] Watchdog"
    " caught collective operation timeout: WorkNCCL(SeqNum=78, OpType=BROADCAST, NumelIn=4, NumelOut=4,"
    " Timeout(ms)=600000) ran for 600060 milliseconds before timing out."
)
COUNTERS = (
    "[rank{r}]:[E501 10:05:00.5 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank {r}]  failure"
    " detected by watchdog at work sequence id: 78 PG status: last enqueued work: 79, last completed work: 77"
)
TOLD = (
    "[rank{r}]:[E501 10:05:01.9 ProcessGroupNCCL.cpp:1890] [PG ID 0 PG GUID 0(default_pg) Rank {r}] Received a dump"
    " signal due to a collective timeout from  rank 1 and we will try our best to dump the debug info. Last"
    " enqueued NCCL work: 77, last completed NCCL work: 77."
)
BROKEN = (
    "{host}:983:1261 [3] p2p.cc:688 NCCL WARN NET/IB: Got completion from peer {peer}<55921> with"
    " status=IBV_WC_RETRY_EXC_ERR({status}) opcode=IBV_WC_SEND(0) vendor_err=129  hca mlx5_3"
)
ADDRESS = "{host}:983:983 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.{n}<0>"


def told(lines: Sequence[str], turns: int = 1) -> dict[str, list[dict[str, Any]]]:
    watching, last = Watching(), {}
    size = -(-len(lines) // turns)
    for start in range(0, len(lines), size):
        found = watching.see(records(lines[start : start + size], seconds=300 + start)).witnesses
        last = {topic: [dict(row) for row in rows] for topic, rows in found.items()} or last
    return last


def test_counters_of_each_rank_and_who_was_only_told() -> None:
    lines = [*STARTS, OWN.format(r=0), COUNTERS.format(r=0), TOLD.format(r=7)]
    waits = {row["rank"]: row for row in told(lines)[WAITS]}
    assert set(waits) == {0, 7}
    first, told_only = waits[0], waits[7]
    assert (first["host"], first["own"], first["seq"], first["enq"], first["done"]) == ("gpu-01", True, 78, 79, 77)
    assert (first["op"], first["size"]) == ("BROADCAST", "4/4")
    assert first["at"] - first["begun"] == pytest.approx(600.06)
    assert (told_only["host"], told_only["notified"], told_only["enq"], told_only["done"]) == (
        "gpu-04",
        True,
        77,
        77,
    )
    assert "own" not in told_only


def test_a_line_without_a_group_speaks_of_that_of_every_rank() -> None:
    bare = OWN.format(r=0).replace("[PG ID 0 PG GUID 0(default_pg) Rank 0]", "[Rank 0]")
    (row,) = told([*STARTS, bare, COUNTERS.format(r=0)])[WAITS]
    assert (row["group"], row["op"], row["enq"]) == ("", "BROADCAST", 79)


def test_the_cut_into_turns_does_not_matter() -> None:
    lines = [*STARTS, OWN.format(r=0), COUNTERS.format(r=0), TOLD.format(r=7)]
    waits = [{**row, "at": 0, "begun": 0} for row in told(lines)[WAITS]]
    assert [{**row, "at": 0, "begun": 0} for row in told(lines, turns=4)[WAITS]] == waits


def test_a_broken_connection_names_reporter_and_peer() -> None:
    lines = [ADDRESS.format(host="gpu-02", n=2), BROKEN.format(host="gpu-01", peer="10.0.0.2", status=12)]
    (edge,) = told([*lines, lines[1]])[EDGES]
    assert (edge["reporter"], edge["peer"], edge["said"], edge["nic"]) == ("gpu-01", "gpu-02", "10.0.0.2", "mlx5_3")
    assert edge["count"] == 2


def test_an_address_that_a_later_line_tells_is_known_in_the_end() -> None:
    own = (
        "gpu-02:71210:72988 [2] transport/net_ib.cc:2244 NCCL WARN NET/IB: Got completion from peer 10.0.0.7<41210>"
        " with status=12 opcode=0 len=0 vendor err 129 (Recv) localGid ::ffff:10.0.0.2 remoteGids::ffff:10.0.0.7"
    )
    first = BROKEN.format(host="gpu-01", peer="10.0.0.2", status=12)
    edges = {row["reporter"]: row for row in told([first, own])[EDGES]}
    assert edges["gpu-01"]["peer"] == "gpu-02"
    assert edges["gpu-02"]["peer"] == ""


def test_a_flushed_completion_is_no_edge_and_a_stranger_no_reporter() -> None:
    flushed = BROKEN.format(host="gpu-01", peer="10.0.0.2", status=5).replace("RETRY_EXC_ERR", "WR_FLUSH_ERR")
    assert EDGES not in told([flushed, BROKEN.format(host="elsewhere", peer="gpu-02", status=12)])


def test_a_port_that_comes_back() -> None:
    lines = [
        f"gpu-03:12:88 [0] NCCL WARN NET/IB : mlx5_3:1 Got async event : port {what}"
        for what in ("error", "active")
    ]
    (down,) = told(lines[:1])[PORTS]
    assert (down["host"], down["nic"], down["down"], down["failures"]) == ("gpu-03", "mlx5_3", True, 1)
    (back,) = told(lines)[PORTS]
    assert (back["down"], back["failures"]) == (False, 1)


def test_ranks_that_miss_the_store() -> None:
    lost = (
        "[rank{r}]:[W501 10:05:01.9 ProcessGroupNCCL.cpp:1890] [PG ID 0 PG GUID 0(default_pg) Rank {r}] Failed to"
        ' check the "should dump" flag on TCPStore, (maybe TCPStore server has shut down too early)'
    )
    rows = told([*STARTS, *(lost.format(r=rank) for rank in range(1, 8))])[STORE]
    assert [(row["rank"], row["host"]) for row in rows][:3] == [(1, "gpu-01"), (2, "gpu-02"), (3, "gpu-02")]


def test_healthy_lines_tell_nothing() -> None:
    assert told([*STARTS, ADDRESS.format(host="gpu-02", n=2)]) == {}

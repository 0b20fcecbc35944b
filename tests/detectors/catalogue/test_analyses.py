"""Is what RAS, fr_trace and NVRx print about all ranks understood as what it is?"""

from collections.abc import Sequence
from typing import Any

import pytest

from detectors.catalogue.analyses import ANALYSED, POLLED
from tests.detectors.catalogue.building import Watching, records

LAGS = """\
#0-0 (27a079b828ff1a75) MISMATCH
  Communicator ranks have different AllReduce operation counts
  {most} ranks have launched up to operation {ops}
  Rank 7 has launched up to operation {late} -- GPU 1 managed by process 81123 on node gpu-04
"""
SIX = """\
#0-0 (27a079b828ff1a75) MISMATCH
  Communicator ranks have different collective operation counts
  26 ranks have launched up to operation 6650
  2 ranks have launched up to operation 6649
  Rank 0 -- GPU 0 managed by process 483072 on node gpu-01
  Rank 2 -- GPU 0 managed by process 483074 on node gpu-02
"""
GONE = """\
INCOMPLETE
  Missing communicator data from 1 job process
  Process 3487984 on node gpu-03 managing GPU 5

#0-0 (cf264af53edbe986) INCOMPLETE
  Missing communicator data from 1 rank
  The missing rank: 21
"""
DEAD = """\
DEAD
  1 job process is considered dead (unreachable via the RAS network)
  Process 3487984 on node gpu-03 managing GPU 5
"""
TRACE = """\
Collective sequence number: 78 has errors
internal record id: 77
group info: default_pg
collective: nccl:all_reduce
input sizes: [[4, 4]]
world size: 4
expected ranks: {{0, 1, 2, 3}}
collective state: {state}
error msg: {culprits}
"""
ABSENT = """\
Not all ranks joining collective, sequence number: 78
internal record id: 77
group info: 0:default_pg
collective: nccl:all_reduce
missing ranks: {2, 3}
"""
FRONT = """\
INFO:__main__:PGID   | Process Group Desc        | Op Type    | Size     | Dtype    | {missing_or_completed} Ranks
INFO:__main__:74     | EXPERT_MODEL_PARALLEL_GROUP | nccl:all_to_all | 4096x5120       | BFloat16 | 12,14
INFO:__main__:42     | TENSOR_MODEL_PARALLEL_GROUP | nccl:_all_gather_base | 4096x1x5120       | BFloat16 | 14
"""


def told(*texts: str) -> dict[str, list[dict[str, Any]]]:
    """Rows by topic after the texts, each read in a turn of its own."""
    watching, last = Watching(), {}
    for number, text in enumerate(texts):
        found = watching.see(records(text.splitlines(), seconds=60.0 * number)).witnesses
        last = {topic: [dict(row) for row in rows] for topic, rows in found.items()} or last
    return last


def culprit(rank: int, what: str, wanted: str = "", found: str = "") -> str:
    """One part of the list that fr_trace prints."""
    states = f", Expected state: '{wanted}' does not match found state: '{found}'" if wanted else ""
    return f"Culprit rank {rank}; Error type: {what}{states}"


def test_a_rank_that_is_behind() -> None:
    (row,) = told(LAGS.format(most=7, ops=64, late=60))[POLLED]
    assert (row["comm"], row["rank"], row["host"], row["sort"]) == ("27a079b828ff1a75", 7, "gpu-04", "lag")
    assert (row["ops"], row["most"], row["polls"], row["moved"]) == (60, 64, 1, False)


def test_polls_tell_whether_it_moves() -> None:
    still = [LAGS.format(most=7, ops=64, late=60)] * 3
    moves = [LAGS.format(most=7, ops=64 + n, late=60 + n) for n in range(3)]
    assert [(row["polls"], row["moved"]) for row in told(*still)[POLLED]] == [(3, False)]
    assert [(row["polls"], row["moved"], row["most"]) for row in told(*moves)[POLLED]] == [(3, True, 66)]


def test_ranks_that_are_listed_below_their_count() -> None:
    rows = told(SIX)[POLLED]
    assert [(row["rank"], row["host"], row["ops"], row["most"]) for row in rows] == [
        (0, "gpu-01", 6649, 6650),
        (2, "gpu-02", 6649, 6650),
    ]


def test_where_every_rank_is_elsewhere_the_last_one_is_behind() -> None:
    line = "  Rank {n} has launched up to operation {ops} -- GPU 0 managed by process 9 on node gpu-0{h}\n"
    text = "#0-0 (a3f5545bf4e7cf8c) MISMATCH\n" + "".join(line.format(n=n, ops=90 + n, h=n + 1) for n in range(4))
    assert [row["rank"] for row in told(text)[POLLED] if row["ops"] < row["most"]] == [0]


def test_who_does_not_answer_and_who_is_dead() -> None:
    assert [(row["sort"], row["rank"], row["host"]) for row in told(GONE)[POLLED]] == [
        ("missing", None, "gpu-03"),
        ("missing", 21, ""),
    ]
    assert [(row["sort"], row["host"]) for row in told(DEAD)[POLLED]] == [("dead", "gpu-03")]


MISMATCHES: list[tuple[str, str, str, str, list[int]]] = [
    (
        "one has not begun",
        "started",
        culprit(3, "COLLECTIVE_STATE_MISMATCH", "started", "scheduled"),
        "J",
        [3],
    ),
    (
        "the first one has not begun: the others are listed",
        "scheduled",
        ", ".join(culprit(rank, "COLLECTIVE_STATE_MISMATCH", "scheduled", "started") for rank in (1, 2, 3)),
        "J",
        [0],
    ),
    ("one differs in size", "started", culprit(3, "SIZE_OR_SYNTAX_MISMATCH"), "D", [3]),
    (
        "the first one differs: the others are listed",
        "started",
        ", ".join(culprit(rank, "COLLECTIVE_TYPE_MISMATCH") for rank in (1, 2, 3)),
        "D",
        [0],
    ),
    (
        "as many on each side",
        "started",
        ", ".join(culprit(rank, "COLLECTIVE_TYPE_MISMATCH") for rank in (2, 3)),
        "D",
        [],
    ),
]


@pytest.mark.parametrize(
    ("state", "list_", "case", "ranks"), [m[1:] for m in MISMATCHES], ids=[m[0] for m in MISMATCHES]
)
def test_what_fr_trace_finds(state: str, list_: str, case: str, ranks: Sequence[int]) -> None:
    (row,) = told(TRACE.format(state=state, culprits=list_))[ANALYSED]
    assert (row["by"], row["case"], row["ranks"]) == ("fr_trace", case, ranks)
    assert (row["group"], row["seq"], row["of"]) == ("default_pg", 78, 4)


def test_a_completed_collective_of_the_root_blames_nobody() -> None:
    list_ = culprit(0, "COLLECTIVE_STATE_MISMATCH", "started", "completed")
    assert ANALYSED not in told(TRACE.format(state="started", culprits=list_))


def test_ranks_that_did_not_join() -> None:
    (row,) = told(ABSENT)[ANALYSED]
    assert (row["case"], row["ranks"], row["group"], row["seq"]) == ("H", [2, 3], "0:default_pg", 78)


def test_the_wavefront() -> None:
    rows = told(FRONT)[ANALYSED]
    assert [(row["by"], row["group"], row["ranks"]) for row in rows] == [
        ("NVRx", "74 EXPERT_MODEL_PARALLEL_GROUP", [12, 14]),
        ("NVRx", "42 TENSOR_MODEL_PARALLEL_GROUP", [14]),
    ]


def test_the_cut_into_turns_does_not_matter() -> None:
    text = TRACE.format(state="started", culprits=culprit(3, "SIZE_OR_SYNTAX_MISMATCH"))
    whole, pieces = told(text)[ANALYSED], told(*text.splitlines(keepends=True))[ANALYSED]
    assert [{**row, "at": 0} for row in whole] == [{**row, "at": 0} for row in pieces]


HOSTILE = [
    "  Rank 99999999999999999999 has launched up to operation 9 -- GPU 0 managed by process 1 on node gpu-01",
    "  99999999 ranks have launched up to operation 999999999999999999999999",
    "error msg: Culprit rank 3; Error type: " + "A" * 10_000,
    "missing ranks: {" + ", ".join(map(str, range(20_000))) + "}",
    "group info: " + "\x1b[31m" * 2_000,
    "  Process 1 on node ../../etc/passwd managing GPU 5",
    "#0-0 (27a079b828ff1a75) MISMATCH" * 100,
]


@pytest.mark.parametrize("line", HOSTILE, ids=[one[:40] for one in HOSTILE])
def test_hostile_lines_do_no_harm(line: str) -> None:
    for rows in told(DEAD + line, line * 2).values():
        assert all(row["host"] in ("", "gpu-01", "gpu-03") for row in rows if "host" in row)

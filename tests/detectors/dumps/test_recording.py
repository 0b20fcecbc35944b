"""What is left of a dump, and what is no dump?"""

from typing import Any

import pytest

from detectors.dumps.pickles import LARGEST, BadDump
from detectors.dumps.recording import looks_recorded, rank_of, recording
from tests.detectors.dumps.building import BASE, dump, entry, pickled, trained, written

NAMES = [
    ("nccl_trace_rank_7", 7),
    ("/dumps/_dump_12", 12),
    ("rank_3.json", 3),
    ("a/rank3.pickle.gz", 3),
    ("trace_0", 0),
    ("rank_7/trace", None),
    ("nothing.json", None),
]


@pytest.mark.parametrize(("name", "rank"), NAMES)
def test_the_rank_is_the_number_that_the_name_ends_in(name: str, rank: int | None) -> None:
    assert rank_of(name) == rank


@pytest.mark.parametrize("form", [pickled, written], ids=["pickle", "JSON"])
def test_the_oldest_open_collective_of_each_group_is_left(form: Any) -> None:
    inner = {"process_group": ("3", "tensor"), "pg_id": 3, "profiling_name": "nccl:_all_gather_base"}
    entries = [*trained(5, "started"), entry(7, 7, "scheduled"), entry(8, 90, "completed", **inner)]
    made = recording(form(dump(entries)), "_dump_4")
    rows = {row["group"]: row for row in made.rows}
    assert made.rank == 4
    assert rows["0 default_pg"] == {
        "group": "0 default_pg",
        "rank": 4,
        "host": "",
        "at": BASE + 7,
        "enq": 7,
        "started": 6,
        "done": 5,
        "seq": 6,
        "op": "all_reduce",
        "size": "4x4/4x4",
        "state": "started",
        "begun": BASE + 6,
    }
    assert "state" not in rows["3 tensor"] and rows["3 tensor"]["done"] == 90
    assert made.groups == ({"group": "0 default_pg", "ranks": list(range(8))},)
    assert made.summary == "Flight Recorder of rank 4: all_reduce #6 of group 0 default_pg is started"


def test_the_counters_know_what_fell_out_of_the_ring() -> None:
    status = {"0": {"last_enqueued_collective": "9", "last_completed_collective": "9"}}
    (row,) = recording(written(dump(trained(5, "started"), pg_status=status)), "r0").rows
    assert (row["enq"], row["done"], "state" in row) == (9, 9, False)


def test_sends_and_receives_are_left_out() -> None:
    made = recording(written(dump([entry(1, 0, "started", is_p2p=True, profiling_name="nccl:send 0->1")])), "r0")
    assert made.rows == ()


def test_what_is_told_of_the_file_comes_first() -> None:
    made = recording(pickled(dump(trained(1))), "rank_9", 3, "n02")
    assert (made.rank, made.rows[0]["host"]) == (3, "n02")


NO_DUMPS = {
    "another pickle": pickled({"epoch": 3}),
    "a list": pickled([1, 2]),
    "another JSON": written({"epoch": 3}),
    "entries that are none": written({"entries": 7}),
    "cut": written(dump(trained(3)))[:-9],
    "nested without end": b'{"entries":' + b"[" * 200_000,
    "a large one": b'{"entries": "' + b"a" * LARGEST,
}


@pytest.mark.parametrize("name", sorted(NO_DUMPS))
def test_what_is_no_dump_is_said(name: str) -> None:
    with pytest.raises(BadDump):
        recording(NO_DUMPS[name], "rank_0")


def test_a_dump_of_nobody_is_said() -> None:
    with pytest.raises(BadDump, match="neither its name nor its content tells the rank"):
        recording(written(dump(trained(1))), "dump")


ODD: list[dict[str, Any]] = [
    {"collective_seq_id": -1},
    {"collective_seq_id": "x" * 10_000},
    {"collective_seq_id": 10**30},
    {"collective_seq_id": True},
    {"state": ["started"]},
    {"state": "gone"},
    {"process_group": None},
    {"process_group": [["a"], {"b": 1}]},
    {"process_group": ["\x1b[2J\x00" * 100, "|" * 500]},
    {"profiling_name": 7},
    {"input_sizes": "4x4", "output_sizes": [7, [None, "a", [1]]]},
    {"time_created_ns": 10**40},
    {"time_created_ns": float("nan")},
    {"time_created_ns": "now", "time_discovered_started_ns": -5},
    {"is_p2p": "yes"},
]


@pytest.mark.parametrize("changes", ODD, ids=[repr(one)[:60] for one in ODD])
def test_odd_values_do_no_harm(changes: dict[str, Any]) -> None:
    made = recording(written(dump([entry(1, 1, "started") | changes, "no entry"])), "r1")
    for row in made.rows:
        assert str(row["group"]).isprintable() and len(row["group"]) < 256
        assert 0 <= row["at"] < 5e9


def test_only_what_begins_like_a_dump_is_taken_for_one() -> None:
    assert looks_recorded(pickled({}))
    assert looks_recorded(written(dump([])))
    assert looks_recorded(b'{"entries":[{"collective_seq_id":1')
    assert not looks_recorded(b'{"ts": 1, "msg": "the entries"}')
    assert not looks_recorded(b'{"version": 1, "entries": 7}')
    assert not looks_recorded(b"step 1 loss 2.0")
    assert not looks_recorded(b"")


@pytest.mark.parametrize("frames", [0, 1, 30], ids="{} frames".format)
def test_the_code_that_waits_is_no_part_of_what_is_left(frames: int) -> None:
    """It is the most of a dump. The same is left of the same dump with it and without it, in both forms."""
    stack = [{"name": f"f{number}", "filename": "train.py", "line": 300 * number} for number in range(frames)]
    entries = [{**one, "frames": [dict(frame) for frame in stack]} for one in trained(40, "started")]
    bare = [{**one, "frames": []} for one in entries]
    made = {repr(recording(form(dump(some)), "r3")) for form in (pickled, written) for some in (entries, bare)}
    assert len(made) == 1

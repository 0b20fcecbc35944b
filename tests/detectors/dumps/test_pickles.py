"""Is a pickle read for what it holds, and never for what it wants to do?"""

import collections
import datetime
import os
import pickle
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from detectors.dumps.pickles import DEEPEST, LONGEST_TEXT, BadDump, values_of
from tests.detectors.dumps.building import dump, pickled, trained

PLAIN: list[Any] = [
    {},
    [],
    "text with \u00e9 and \U0001f600",
    {"a": [1, -1, 255, 256, 65_536, -(2**31), 2**62, 1796000000000000000, 0.25, None, True, False, ""]},
    {"nested": [[[[{"x": [[]]}]]]], 7: "whole numbers may be keys"},
    [{"same": "word"}] * 300,
]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("value", PLAIN, ids=range(len(PLAIN)))
def test_containers_and_scalars_are_read(value: Any, protocol: int) -> None:
    assert values_of(pickle.dumps(value, protocol=protocol)) == value


def test_tuples_become_lists() -> None:
    assert values_of(pickled({"process_group": ("0", "default_pg"), "empty": (), "many": (1, 2, 3, 4)})) == {
        "process_group": ["0", "default_pg"],
        "empty": [],
        "many": [1, 2, 3, 4],
    }


class _Runs:
    """What an attacker writes: a pickle that runs a command when it is read by the ordinary reader."""

    def __init__(self, mark: str, how: Any = os.system) -> None:
        self.mark, self.how = mark, how

    def __reduce__(self) -> Any:
        return self.how, (self.mark,)


def exploits(mark: str) -> dict[str, bytes]:
    """Pickles that run something, by the opcode that would do it."""
    word = mark.encode()
    length = struct.pack("<I", len(word))
    return {
        "GLOBAL and REDUCE": pickle.dumps({"entries": [_Runs(mark)]}, protocol=2),
        "STACK_GLOBAL and REDUCE": pickle.dumps({"entries": [_Runs(mark)]}, protocol=4),
        "eval": pickle.dumps(_Runs(mark, eval), protocol=4),
        "popen": pickle.dumps(_Runs(mark, subprocess.Popen), protocol=5),
        "INST": b"\x80\x02(X" + length + word + b"ios\nsystem\n.",
        "OBJ": b"\x80\x02(cos\nsystem\nX" + length + word + b"o.",
        "NEWOBJ": b"\x80\x02cbuiltins\nobject\n)\x81.",
        "BUILD": b"\x80\x02}}b.",
        "EXT1": b"\x80\x02\x82\x01.",
        "PERSID": b"\x80\x02Pfile\n.",
        "BINPERSID": b"\x80\x02U\x01aQ.",
        "behind a good dump": pickled(dump(trained(3)))[:-1] + b"cos\nsystem\nX" + length + word + b"\x85R.",
    }


@pytest.mark.parametrize("name", sorted(exploits("")))
def test_what_wants_to_run_is_refused_and_does_not(name: str, tmp_path: Path) -> None:
    made = tmp_path / "made"
    with pytest.raises(BadDump) as refused:
        values_of(exploits(f"touch {made}")[name])
    assert not made.exists()
    if name != "BINPERSID":  # refused one opcode earlier
        assert "wants to run something" in str(refused.value)


def test_the_exploits_would_work_on_the_ordinary_reader(tmp_path: Path) -> None:
    made = tmp_path / "made"
    pickle.loads(exploits(f"touch {made}")["GLOBAL and REDUCE"])  # noqa: S301 - what the test is about
    assert made.exists()


@pytest.mark.parametrize(
    "value",
    [collections.OrderedDict(a=1), datetime.datetime(2026, 1, 1), {1, 2}, complex(1, 2), Path("x")],
    ids=lambda value: type(value).__name__,
)
def test_harmless_classes_are_refused_too(value: Any) -> None:
    with pytest.raises(BadDump):
        values_of(pickled({"entries": [value]}))


SHORT = pickled(dump(trained(2)))
DAMAGED = {
    "nothing": b"",
    "only the protocol": b"\x80\x02",
    "an unknown protocol": b"\x80\x09}.",
    "protocol 0": pickle.dumps({"a": 1}, protocol=0),
    "cut": SHORT[: len(SHORT) // 2],
    "without an end": SHORT[:-1],
    "an empty stack": b"\x80\x02.",
    "two values": b"\x80\x02]].",
    "an open mark": b"\x80\x02](.",
    "items without a mark": b"\x80\x02}u.",
    "appended to a number": b"\x80\x02K\x01K\x01a.",
    "filled into a list": b"\x80\x02]X\x01\x00\x00\x00aK\x01s.",
    "a key without a value": b"\x80\x02}(K\x01u.",
    "a list as a key": b"\x80\x02}(]K\x01u.",
    "a tuple as a key": b"\x80\x02}(K\x01\x85K\x01u.",
    "what was never kept": b"\x80\x02h\x07.",
    "kept from an empty stack": b"\x80\x02q\x00.",
    "taken from below a mark": b"\x80\x02]K\x01(a.",
    "a string longer than the file": b"\x80\x02X\xff\xff\xff\x00abc.",
    "a long string": b"\x80\x02X" + struct.pack("<I", LONGEST_TEXT + 1) + b"a" * (LONGEST_TEXT + 1) + b".",
    "a number of 255 bytes": b"\x80\x02\x8a\xff" + b"\x7f" * 255 + b".",
    "an endless number": b"\x80\x02\x8b\xff\xff\xff\x7f.",
    "eight bytes of length": b"\x80\x04\x8d" + struct.pack("<Q", 1 << 62) + b".",
    "a byte array of any length": b"\x80\x05\x96" + struct.pack("<Q", 1 << 40) + b".",
    "too many marks": b"\x80\x02" + b"(" * (DEEPEST + 1) + b".",
}


@pytest.mark.parametrize("name", sorted(DAMAGED))
def test_what_is_damaged_is_refused_in_one_sentence(name: str) -> None:
    with pytest.raises(BadDump) as refused:
        values_of(DAMAGED[name])
    assert "\n" not in str(refused.value) and str(refused.value)


def test_a_place_of_any_number_takes_no_memory() -> None:
    assert values_of(b"\x80\x02]r\xff\xff\xff\xff.") == []


def test_containers_in_containers_end_somewhere() -> None:
    deep = b"\x80\x02]" + b"\x85" * 1_000_000 + b"."
    assert isinstance(values_of(deep), list)  # no recursion in reading or in letting go


def test_a_cut_anywhere_is_no_surprise() -> None:
    for end in range(len(SHORT)):
        with pytest.raises(BadDump):
            values_of(SHORT[:end])


def test_a_changed_byte_anywhere_is_no_surprise() -> None:
    for place in range(len(SHORT)):
        for value in (0x00, 0x28, 0x52, 0x63, 0x85, 0x93, 0xFF):
            content = SHORT[:place] + bytes([value]) + SHORT[place + 1 :]
            try:
                values_of(content)
            except BadDump:
                continue


FRAMES = [
    {"name": "step", "filename": "train.py", "line": 70_000},
    {"name": "main", "filename": "train.py", "line": 9},
]
PASSED_OVER: dict[str, Any] = {
    "the same code again and again": {
        "entries": [{"frames": [dict(one) for one in FRAMES], "n": n} for n in range(9)]
    },
    "one frame": {"entries": [{"frames": FRAMES[:1], "n": n} for n in range(9)]},
    "texts": {"entries": [{"frames": ["Float", "Int"], "n": n} for n in range(9)]},
    "none": {"entries": [{"frames": [], "n": n} for n in range(9)]},
    "other things": {"entries": [{"frames": [[1], {"a": [2]}, 0.5], "n": n} for n in range(9)]},
    "no list": {"entries": [{"frames": "Float", "n": n} for n in range(9)]},
}


@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize("name", sorted(PASSED_OVER))
def test_what_is_not_needed_changes_nothing_beside_it(name: str, protocol: int) -> None:
    content = pickle.dumps(PASSED_OVER[name], protocol=protocol)
    made, whole = values_of(content, ("frames",)), values_of(content)
    for some, every in zip(made["entries"], whole["entries"], strict=True):
        assert some in (every, {**every, "frames": []})


def test_lists_that_hold_nothing_new_are_passed_over() -> None:
    value = PASSED_OVER["the same code again and again"]
    made = values_of(pickled(value), ("frames",))
    assert made["entries"][0] == value["entries"][0]
    assert [one["frames"] for one in made["entries"][1:]] == [[]] * 8


def test_what_is_spoken_of_again_is_built() -> None:
    """The list that is shared was passed over where it stood first."""
    shared = [dict(FRAMES[0])]
    value = {"a": [dict(FRAMES[0])], "entries": [{"frames": shared}], "again": shared}
    assert values_of(pickled(value), ("frames",)) == value


@pytest.mark.parametrize("cut", [b"(", b"(}(", b"(}(h\x00", b"}", b"h", b"(h\x00" * 5000])
def test_a_list_that_breaks_off_is_a_broken_pickle(cut: bytes) -> None:
    with pytest.raises(BadDump):
        values_of(b"\x80\x02}X\x06\x00\x00\x00framesq\x00]" + cut, ("frames",))

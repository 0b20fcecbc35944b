"""Which rows are watched, and in what form are they stored?"""

from dataclasses import replace

import pytest

from schedulers.port import JobRow
from schedulers.states import JobState
from tests.workloads.scripted import a_row
from workloads.rows import watched_rows
from workloads.stored_text import storable

PENDING = JobState.PENDING

CASES: dict[str, tuple[list[JobRow], list[str], list[int], list[int]]] = {
    "no allow-list: every batch job": ([a_row(1), a_row(2, partition="debug")], [], [], [1, 2]),
    "an allow-list": ([a_row(1), a_row(2, partition="debug")], ["main"], [], [1]),
    "waiting for one of several partitions": ([a_row(1, PENDING, partition="debug,main")], ["main"], [], [1]),
    "a known job that moved to another partition": ([a_row(1, partition="debug")], ["main"], [1], [1]),
    "an interactive job": ([a_row(1, batch=False)], [], [], []),
    "the parts of a heterogeneous job": (
        [a_row(23, het_leader=23), a_row(24, het_leader=23, batch=False)],
        [],
        [],
        [23, 24],
    ),
    "the folded line of an array": ([a_row(17, PENDING, array_job=17, array_task=None)], [], [], []),
    "tasks of an array that have started": (
        [a_row(18, array_job=17, array_task=0), a_row(17, array_job=17, array_task=1)],
        [],
        [],
        [17, 18],
    ),
    "waiting tasks that still share the number of the array": (
        [a_row(17, PENDING, array_job=17, array_task=n) for n in (1, 2)] + [a_row(18, array_job=17, array_task=0)],
        [],
        [],
        [18],
    ),
    "the last waiting task has the number for itself": (
        [a_row(17, PENDING, array_job=17, array_task=2)],
        [],
        [],
        [17],
    ),
    "a number that no column takes": ([a_row(2**63), a_row(0), a_row(-4), a_row(5)], [], [], [5]),
    "a restart count that no column takes": ([a_row(1, restarts=2**31), a_row(2, restarts=-1)], [], [], []),
    "the same row twice": ([a_row(1), a_row(1)], [], [], [1]),
}


@pytest.mark.parametrize(("rows", "partitions", "known", "expected"), CASES.values(), ids=CASES.keys())
def test_watched(rows: list[JobRow], partitions: list[str], known: list[int], expected: list[int]) -> None:
    assert sorted(watched_rows(rows, partitions, known)) == expected


def test_of_a_number_listed_twice_the_later_line_counts() -> None:
    rows = [a_row(1), replace(a_row(1), word="SIGNALING")]
    assert watched_rows(rows, (), ())[1].word == "SIGNALING"


def test_texts_and_numbers_are_cut_to_what_columns_take() -> None:
    row = a_row(
        1,
        name="n" * 10_000,
        user="a\0b",
        comment="\udfff",
        nodes=("x" * 300,),
        node_count=-1,
        exit_code=2**40,
        user_id=-1,
        array_job=2**70,
        array_task=3,
        reason="None",
    )
    stored = watched_rows([row], (), ())[1]
    assert len(stored.name) == 255
    assert (stored.user, stored.comment, stored.reason) == ("a�b", "�", "")
    assert (stored.node_count, stored.exit_code, stored.user_id, stored.array_job) == (0, 2**31 - 1, None, None)
    assert len(stored.nodes[0]) == 255


TEXTS = {
    "plain": ("train", 255, "train"),
    "empty": ("", 255, ""),
    "cut": ("abcdef", 3, "abc"),
    "four bytes a sign": ("😀" * 3, 2, "😀😀"),
    "NUL": ("a\0", 9, "a�"),
    "lone surrogates": ("\ud800x\udfff", 9, "�x�"),
}


@pytest.mark.parametrize(("text", "limit", "expected"), TEXTS.values(), ids=TEXTS.keys())
def test_storable(text: str, limit: int, expected: str) -> None:
    assert storable(text, limit) == expected

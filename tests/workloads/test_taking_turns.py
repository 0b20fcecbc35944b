"""Does nobody's crowd of jobs hold up another's?"""

import pytest

from workloads.taking_turns import in_turns

CASES: list[tuple[str, list[str], int, list[str]]] = [
    ("nothing is due", [], 3, []),
    ("one user: the oldest first", ["a1", "a2", "a3"], 2, ["a1", "a2"]),
    ("a crowd and one behind it", ["a1", "a2", "a3", "a4", "b1"], 2, ["a1", "b1"]),
    ("users in the order in which they began to wait", ["b1", "a1", "b2", "a2", "c1"], 4, ["b1", "a1", "c1", "b2"]),
    ("all of it fits", ["a1", "a2", "b1"], 9, ["a1", "b1", "a2"]),
]


@pytest.mark.parametrize(("due", "most", "taken"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_whose_turn_it_is(due: list[str], most: int, taken: list[str]) -> None:
    assert in_turns(due, lambda row: row[0], most) == taken

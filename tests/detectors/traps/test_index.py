"""Which test tries which trap? A number without a test, or a test without a number, fails here."""

import ast
import re
from pathlib import Path

import pytest

from lab.cases.traps import TRAPS

NUMBERS = (*range(1, 13), *range(31, 35))
INDEX: dict[int, str] = {
    1: "the detectors read their own patterns in a log",
    2: "the watcher judges itself",
    3: "a success with an error inside",
    4: "an empty list of a scheduler that restarts",
    5: "a job number used again",
    6: "a requeue truncates the log",
    7: "pauses of evaluation, checkpoint and compile",
    8: "a heartbeat without steps",
    9: "full load without work: a second witness",
    10: "XID 45 on every node of one job",
    11: "a cascade hides the first cause",
    12: "a drain flag while jobs are still there",
    31: "hostile lines",
    32: "the collector stops",
    33: "clocks that jump",
    34: "a slow file system delays every log at once",
}
PUT_ON = {1, 2, 3, 4, 5, 6, 7, 10, 12, 31, 32, 33, 34}
"""Those that stand in the lab's catalogue, too: there the whole product is played with them."""
NAMED = re.compile(r"test_trap_(\d\d)_")


def written() -> dict[int, list[str]]:
    """The tests of this folder by the number in their name."""
    found: dict[int, list[str]] = {}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and (named := NAMED.match(node.name)):
                found.setdefault(int(named[1]), []).append(f"{path.stem}::{node.name}")
    return found


@pytest.mark.parametrize("number", NUMBERS)
def test_every_trap_has_a_test_that_names_it(number: int) -> None:
    assert written().get(number), f"trap {number} ({INDEX[number]}) has no test"


def test_no_test_names_an_unknown_trap() -> None:
    assert set(written()) == set(INDEX) == set(NUMBERS)


def test_the_lab_puts_on_those_that_it_says() -> None:
    assert {case.trap for case in TRAPS} & set(NUMBERS) == PUT_ON

"""Do the processes that share the tests begin with the long files, and is what is known of those still true?"""

from pathlib import Path

import pytest

from tests.ordering import STARTER, Long, known_files, long_files, next_of

ROOT = Path(__file__).resolve().parents[2]
KNOWN = {"rig": Long(100, waits=True), "story": Long(60, waits=True), "proof": Long(30)}
QUEUE = {"many": range(900), "few": range(9), "proof": range(1), "story": range(2), "rig": range(3)}


@pytest.mark.parametrize(
    ("waits", "order"),
    [(True, ["rig", "story", "proof", "many", "few"]), (False, ["proof", "many", "few", "rig", "story"])],
)
def test_the_longest_of_its_kind_comes_first_and_the_other_kind_when_there_is_no_more(
    waits: bool, order: list[str]
) -> None:
    queue, taken = dict(QUEUE), []
    while queue:
        taken.append(next_of(queue, waits, KNOWN))
        del queue[taken[-1]]
    assert taken == order


def test_every_file_that_is_listed_is_there() -> None:
    assert [path for path in long_files() if not (ROOT / path).is_file()] == []


def test_what_starts_a_scheduler_or_a_site_waits_listed_or_not() -> None:
    known = known_files()
    assert known["tests/e2e/test_real_slurm.py"].waits and known["tests/site/test_cluster_command.py"].waits
    assert {path for path, long in known.items() if long == STARTER} - set(long_files())

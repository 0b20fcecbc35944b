"""Do two running workers take a change of the site's signatures in with their next turn? SQLite and MariaDB."""

from pathlib import Path

import pytest

from tests.stories import DATABASES, told_by


@pytest.mark.parametrize("database", DATABASES)
def test_a_change_holds_in_the_next_turn_of_both(database: str, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    told = told_by("tests.detectors.two_workers", tmp_path, database, str(logs))
    assert told == {
        "before": [0, 0],
        "added": [1, 1],
        "changed, the old line": [1, 1],
        "changed, the new line": [2, 2],
        "disabled": [2, 2],
    }

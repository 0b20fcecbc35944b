"""People join and split while workers judge: does exactly one win, and does it stick? On SQLite and on MariaDB."""

from pathlib import Path

import pytest

from tests.stories import DATABASES, told_by


@pytest.mark.parametrize("database", DATABASES)
def test_one_wins_and_no_worker_undoes_it(database: str, tmp_path: Path) -> None:
    told = told_by("tests.advisor_api.incidents.regrouping_workers", tmp_path, database)
    assert told == {
        "in one incident": 1,
        "merges": 1,
        "splits": 1,
        "refused": [2, 2, 2],
        "after the split": 2,
        "open": 2,
        "acknowledged": 1,
        "still due": 0,
        "miscounted": [],
        "errors": [],
    }

"""Several workers judge failures of one cause at the same moment: is it one incident? On SQLite and on MariaDB."""

from pathlib import Path

import pytest

from tests.stories import DATABASES, told_by


@pytest.mark.parametrize("database", DATABASES)
def test_one_cause_is_one_incident_whoever_is_first(database: str, tmp_path: Path) -> None:
    told = told_by("tests.detectors.incident_workers", tmp_path, database)
    assert told == {
        "open": 1,
        "attempts in it": 8,
        "opened": 0,
        "still due": 0,
        "stays": 8,
        "miscounted": [],
        "nodes": 8,
        "errors": [],
    }

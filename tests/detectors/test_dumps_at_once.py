"""Several workers judge one attempt with dumps at the same moment: are they stored once? On SQLite and MariaDB."""

from pathlib import Path

import pytest

from tests.stories import DATABASES, told_by


@pytest.mark.parametrize("database", DATABASES)
def test_the_same_dumps_are_stored_once_whoever_is_first(database: str, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    told = told_by("tests.detectors.dump_workers", tmp_path, database, str(logs))
    assert told == {
        "case": ["A", [5], "fr_dump"],
        "symptoms": 1,
        "told": 1,
        "observations": ["dumps", "members", "recorded"],
        "replayed": True,
        "errors": [],
    }

"""Several workers at the same moment: is everybody told of each thing once? On SQLite and on MariaDB."""

from pathlib import Path

import pytest

from tests.advisor_api.notifying.two_workers import THINGS
from tests.stories import DATABASES, told_by


@pytest.mark.parametrize("database", DATABASES)
def test_each_thing_is_told_once(database: str, tmp_path: Path) -> None:
    each = THINGS // 2  # every second event speaks of the same
    assert told_by("tests.advisor_api.notifying.two_workers", tmp_path, database) == {
        "broken": [],
        "repeated": [],
        "counted": {"/all": 2 * each, "/one": each},
        "subjects": 3 * each,
        "outcomes": ["sent"],
        "events": True,
    }

"""Several workers at the same moment: is everybody told of each thing once? On SQLite and on MariaDB."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.stores.stores import Stores
from tests.advisor_api.notifying.two_workers import THINGS

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("store", ["sqlite", "mariadb"])
def test_each_thing_is_told_once(store: str, tmp_path: Path) -> None:
    if store == "sqlite":
        rush(tmp_path, {})
        return
    with Stores(tmp_path / "stores") as stores:
        rush(tmp_path, {"REKINDLE_DATABASE_URL": stores.environment["REKINDLE_DATABASE_URL"]})


def rush(folder: Path, more: dict[str, str]) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REKINDLE_")}
    environment |= {"REKINDLE_STATE_DIR": str(folder), "REKINDLE_LOG_LEVEL": "ERROR", **more}
    command = [sys.executable, "-m", "tests.advisor_api.notifying.two_workers"]
    run = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=115, check=False
    )
    assert run.returncode == 0, run.stderr[-3000:]
    each = THINGS // 2  # every second event speaks of the same
    assert json.loads(run.stdout) == {
        "broken": [],
        "repeated": [],
        "counted": {"/all": 2 * each, "/one": each},
        "subjects": 3 * each,
        "outcomes": ["sent"],
        "events": True,
    }

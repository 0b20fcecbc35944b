"""Do two running workers take a change of the site's signatures in with their next turn? SQLite and MariaDB."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.stores.stores import Stores

ROOT = Path(__file__).resolve().parents[2]


def story(folder: Path, more: dict[str, str]) -> Any:
    logs = folder / "logs"
    logs.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REKINDLE_")}
    environment |= {"REKINDLE_STATE_DIR": str(folder / "state"), "REKINDLE_LOG_LEVEL": "ERROR", **more}
    command = [sys.executable, "-m", "tests.detectors.two_workers", str(logs)]
    run = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=110, check=False
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout)


@pytest.mark.parametrize("database", ["sqlite", "mariadb"])
def test_a_change_holds_in_the_next_turn_of_both(database: str, tmp_path: Path) -> None:
    if database == "sqlite":
        told = story(tmp_path, {})
    else:
        with Stores(tmp_path / "stores") as stores:
            told = story(tmp_path, {"REKINDLE_DATABASE_URL": stores.environment["REKINDLE_DATABASE_URL"]})
    assert told == {
        "before": [0, 0],
        "added": [1, 1],
        "changed, the old line": [1, 1],
        "changed, the new line": [2, 2],
        "disabled": [2, 2],
    }

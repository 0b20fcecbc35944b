"""Several workers judge one attempt with dumps at the same moment: are they stored once? On SQLite and MariaDB."""

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
    command = [sys.executable, "-m", "tests.detectors.dump_workers", str(logs)]
    run = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=110, check=False
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout)


@pytest.mark.parametrize("database", ["sqlite", "mariadb"])
def test_the_same_dumps_are_stored_once_whoever_is_first(database: str, tmp_path: Path) -> None:
    if database == "sqlite":
        told = story(tmp_path, {})
    else:
        with Stores(tmp_path / "stores") as stores:
            told = story(tmp_path, {"REKINDLE_DATABASE_URL": stores.environment["REKINDLE_DATABASE_URL"]})
    assert told == {
        "case": ["A", [5], "fr_dump"],
        "symptoms": 1,
        "told": 1,
        "observations": ["dumps", "members", "recorded"],
        "replayed": True,
        "errors": [],
    }

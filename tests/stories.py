"""How is a story of several processes told on a database of its own, SQLite or MariaDB?"""

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lab.stores.stores import Stores

ROOT = Path(__file__).resolve().parents[1]
DATABASES = ("sqlite", "mariadb")


def told_by(module: str, folder: Path, database: str, *arguments: str) -> Any:
    """What `python -m MODULE ARGUMENT…` prints as JSON, with its state in `folder` and nothing of our settings."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REKINDLE_")}
    environment |= {"REKINDLE_STATE_DIR": str(folder / "state"), "REKINDLE_LOG_LEVEL": "ERROR"}
    with ExitStack() as stack:
        if database == "mariadb":
            stores = stack.enter_context(Stores(folder / "stores"))
            environment["REKINDLE_DATABASE_URL"] = stores.environment["REKINDLE_DATABASE_URL"]
        run = subprocess.run(
            [sys.executable, "-m", module, *arguments],
            cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout)

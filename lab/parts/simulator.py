"""How is a simulated cluster without jobs of its own started, and given a job?"""

import json
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab.parts.running import PYTHON, ROOT, Running, until
from lab.parts.training import OPT_IN


class Simulator:
    """A simulated cluster without jobs of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running = Running([PYTHON, "-m", "lab.simulate", "serve", str(folder)], {})
        until((folder / "ready").exists, 90, "the simulator")
        self.path = str(folder / "bin")
        self.options = ["--scheduler-path", self.path, "--log-root", str(folder / "logs")]

    def submit(self, play: Mapping[str, Any]) -> int:
        """Submit a play with the opt-in of the tests; the job's number."""
        file = self.folder / "play.json"
        file.write_text(json.dumps({"comment": json.dumps(OPT_IN), "output": "%x_%j.log", **play}))
        words = [PYTHON, "-m", "lab.simulate", "submit", str(self.folder), "--play", str(file)]
        run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
        return int(run.stdout)

    def stop(self) -> None:
        """End it."""
        self.running.end(signal.SIGTERM)

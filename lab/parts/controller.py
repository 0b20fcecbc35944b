"""How is the controller of one cluster started as a process of its own?"""

import json
import re
import signal
from collections.abc import Sequence

from lab.parts.running import PYTHON, Running, expect
from lab.parts.site import Site


class Controller:
    """The controller of one cluster, as its own process."""

    def __init__(self, site: Site, cluster: str, path: str, config: str, mode: str = "action") -> None:
        self.site = site
        token = site.manage(
            "token", "create", f"controller-{cluster}", "--role", "controller", "--cluster", cluster
        )
        secret = re.search(r"rekindle_\S+", token)
        expect(secret, token)
        self.file = site.folder / f"{cluster}.toml"
        (site.folder / f"{cluster}.token").touch(mode=0o600)
        (site.folder / f"{cluster}.token").write_text(secret.group(0) if secret else "")
        acts = json.dumps(mode == "action")
        self.file.write_text(f"""cluster = "{cluster}"
environment = "test"
[advisor]
url = "{site.address}"
token_file = "{site.folder / cluster}.token"
[scheduler]
kind = "slurm"
path = "{path}"
config = "{config}"
command_seconds = 15
[controller]
mode = "{mode}"
acknowledgeSchedulerActions = {acts}
environmentPattern = "test"
poll_seconds = 0.5
journal = "{site.folder / cluster}.journal.jsonl"
holder = "controller-{cluster}"
""")
        self.running: Running | None = None
        self.watchdog: Running | None = None

    def start(self, through: Sequence[str] = ()) -> None:
        """Start it. `through` is a command that runs it instead: it is told which part and how."""
        self.stop()
        part = [*through, "controller"] if through else [PYTHON, "-m", "controller"]
        self.running = Running([*part, "run", "--config", str(self.file)], {})

    def start_watchdog(self) -> None:
        """Start the watchdog of the same cluster, as a process of its own."""
        self.watchdog = Running([PYTHON, "-m", "controller", "watchdog", "--config", str(self.file)], {})

    def died(self) -> bool:
        """Whether it was killed."""
        return self.running is not None and self.running.process.poll() == -signal.SIGKILL

    def stop(self) -> None:
        """End it, and its watchdog."""
        for running in (self.running, self.watchdog):
            if running:
                running.end(signal.SIGTERM)

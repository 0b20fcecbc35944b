"""How does a test get a real Prometheus? Debian's package, on a free port, scraping once a second."""

import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from lab.parts.ports import free_port

BINARY = shutil.which("prometheus")
CONFIG = """\
global: {{scrape_interval: 1s, scrape_timeout: 900ms}}
scrape_configs:
  - job_name: exporter
    honor_labels: true
    static_configs: [{{targets: ["{target}"]}}]
"""
BASIC = "basic_auth_users: {{reader: {hashed}}}\n"


class Server:
    """One process; `start` again after `kill` finds what it had stored."""

    def __init__(self, folder: Path, target: str, web: str = "") -> None:
        self.folder = folder
        (folder / "prometheus.yml").write_text(CONFIG.format(target=target))
        (folder / "web.yml").write_text(web)
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        assert BINARY is not None, "install the Debian package prometheus; ./run test does it"
        self.process = subprocess.Popen(
            [
                BINARY,
                f"--config.file={self.folder / 'prometheus.yml'}",
                f"--web.config.file={self.folder / 'web.yml'}",
                f"--storage.tsdb.path={self.folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{self.port}",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + 90
        while time.monotonic() < until:
            try:
                with urllib.request.urlopen(f"{self.address}/-/ready", timeout=20):
                    return
            except urllib.error.HTTPError as error:
                if error.code == 401:
                    return
                time.sleep(0.1)
            except OSError:
                time.sleep(0.1)
        self.kill()
        raise AssertionError("Prometheus does not answer")

    def kill(self) -> None:
        """End it at once, as a crash does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(60)
            self.process = None

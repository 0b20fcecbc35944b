"""A provider that answers over the network, in a process of its own."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest


@dataclass(frozen=True)
class Outside:
    """The process."""

    address: str

    def at(self, mode: str) -> str:
        """Where it behaves like that."""
        return f"{self.address}/{mode}"

    def replies(self, **said: Any) -> None:
        """From now on its right answers hold this; what came before is forgotten."""
        request = Request(f"{self.address}/reply", data=json.dumps(said).encode(), method="PUT")
        with urlopen(request, timeout=180):
            pass

    def seen(self) -> list[dict[str, Any]]:
        """What it was sent."""
        with urlopen(f"{self.address}/seen", timeout=180) as answer:
            found: list[dict[str, Any]] = json.load(answer)
        return found


@pytest.fixture(scope="session")
def process() -> Iterator[str]:
    """Its address."""
    script = Path(__file__).with_name("pretender.py")
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        yield f"http://127.0.0.1:{int(running.stdout.readline())}"
        running.kill()


@pytest.fixture
def outside(process: str) -> Outside:
    """The process, with nothing said or seen yet."""
    one = Outside(process)
    one.replies()
    return one

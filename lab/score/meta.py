"""When, on what and with which version was a score card made?"""

import os
import platform
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GIT_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Meta:
    """`date` as `2026-11-29`; `seconds` it took; `source`: the labelled file, when there is one."""

    date: str = ""
    version: str = ""
    commit: str = ""
    machine: str = ""
    seed: int | None = None
    seconds: float | None = None
    source: str = ""


def meta(date: str, *, seed: int | None = None, seconds: float | None = None, source: str = "") -> Meta:
    """With the version of pyproject.toml, the commit of the checkout (`+`: changed since) and this machine."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return Meta(date, str(project["version"]), commit(ROOT), machine(), seed, seconds, source)


def commit(root: Path) -> str:
    """`1234abcd`, `1234abcd+` with changes on top of it, or empty where there is no git."""
    words = ["git", "-C", str(root), "describe", "--always", "--abbrev=8", "--dirty=+", "--exclude=*"]
    try:
        told = subprocess.run(words, capture_output=True, text=True, timeout=GIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return told.stdout.strip()


def machine() -> str:
    """Cores, system and Python; not its name."""
    return f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"

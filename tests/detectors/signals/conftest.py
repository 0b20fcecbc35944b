"""Fixtures of the tests of a look at a cluster's sources: a scheduler that answers, and a clock that counts."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

SDIAG = """#!/bin/sh
echo "*******************************************************"
echo "sdiag output at $(date) ($(date +%s))"
echo "Data since      $(date) ($(date +%s))"
"""


@pytest.fixture
def commands(tmp_path: Path) -> str:
    """A folder with the one command that a look asks."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "sdiag"
    program.write_text(SDIAG)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(folder)


@pytest.fixture
def clock() -> Callable[[], float]:
    """Seconds that stand still."""
    return lambda: 100.0

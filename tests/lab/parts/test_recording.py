"""Is every command that is sent noted as one line, and is hearing nothing told apart from sending nothing?"""

import subprocess
from pathlib import Path

import pytest

from lab.parts import recording
from lab.parts.running import NotSo


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Recording commands in `bin` over real ones that do nothing."""
    real = tmp_path / "real"
    real.mkdir()
    for name in recording.COMMANDS:
        (real / name).write_text("#!/bin/sh\nexit 3\n")
        (real / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{real}:/usr/bin:/bin")
    recording.recording_commands(tmp_path / "bin", tmp_path / "log")
    return tmp_path / "log"


def test_many_at_once_are_one_line_each(log: Path) -> None:
    command = [str(log.parent / "bin" / "scontrol"), "update", "JobId=7", "Comment=two\nlines"]
    running = [subprocess.Popen(command) for _ in range(30)]
    assert {one.wait(90) for one in running} == {3}
    assert log.read_text().splitlines() == ["scontrol update JobId=7 Comment=two lines"] * 30


def test_listings_are_no_changes(log: Path) -> None:
    for words in (["squeue", "-h"], ["scontrol", "show", "job", "1"], ["sinfo"], ["sacct"], ["sdiag"]):
        subprocess.run([str(log.parent / "bin" / words[0]), *words[1:]], check=False, timeout=90)
    subprocess.run([str(log.parent / "bin" / "scancel"), "5"], check=False, timeout=90)
    assert recording.changes(log) == ["scancel 5"]


def test_nobody_looked_is_no_proof_of_anything(log: Path) -> None:
    log.write_text("squeue -h\n")
    with pytest.raises(NotSo, match="more than 1 commands"):
        recording.changes(log)

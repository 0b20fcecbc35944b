"""Does a job go on where its last complete checkpoint is, however it ended, and do all its processes end?"""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from lab.trainer import checkpoint
from lab.truth import read
from tests.lab.trainer.playing import ROOT, command, play, processes_of


def test_the_next_attempt_goes_on_from_the_checkpoint(tmp_path: Path) -> None:
    orders = [
        {"kind": "exit", "step": 8, "rank": 1},
        {"kind": "lines", "attempt": 1, "after": 2, "rank": 0, "lines": ["x"]},
    ]
    first = play(tmp_path, orders)
    assert (first.code, first.steps) == (1, [1, 2, 3, 4, 5, 6, 7])
    second = play(tmp_path, orders, "--attempt", "1")
    assert (second.code, second.steps) == (0, [7, 8])
    assert "continuing at step 6" in second.out
    assert [(deed.what, deed.attempt, deed.step) for deed in second.deeds] == [("exit", 0, 8), ("lines", 1, 8)]


def test_a_kill_in_the_middle_of_a_save_leaves_the_checkpoint_before(tmp_path: Path) -> None:
    orders = [{"kind": "sigkill", "when": "saving", "step": 4, "rank": 0}]
    killed = play(tmp_path, orders)
    assert [(deed.what, deed.step) for deed in killed.deeds] == [("sigkill", 6)]
    assert (tmp_path / "saved" / "iter_0000006.draft").exists()
    assert checkpoint.load(tmp_path / "saved") == 3
    again = play(tmp_path, orders, "--attempt", "1")
    assert (again.code, again.steps) == (0, [4, 5, 6, 7, 8])
    assert not list((tmp_path / "saved").glob("*.draft"))


def test_a_damaged_checkpoint_stops_every_later_attempt(tmp_path: Path) -> None:
    orders = [
        {"kind": "corrupt_checkpoint", "step": 7, "rank": 0, "quiet": True},
        {"kind": "exit", "step": 8, "all": True},
    ]
    assert play(tmp_path, orders).steps == [1, 2, 3, 4, 5, 6, 7]
    second = play(tmp_path, orders, "--attempt", "1")
    assert (second.code, second.steps) == (1, [])
    assert "corrupt_checkpoint" in {deed.what for deed in read([tmp_path / "truth"]) if deed.attempt == 1}
    assert (
        "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory"
        in second.err
    )


def test_a_record_at_one_position_fails_in_every_attempt(tmp_path: Path) -> None:
    orders = [{"kind": "data_error", "position": 5, "attempt": None, "rank": 3}]
    for attempt in ("0", "4"):
        assert play(tmp_path, orders, "--attempt", attempt).code == 1
    assert [(deed.attempt, deed.step) for deed in read([tmp_path / "truth"])] == [(0, 5), (4, 5)]


def test_only_the_last_checkpoints_are_kept(tmp_path: Path) -> None:
    for step in range(1, 6):
        checkpoint.save(tmp_path, step)
    assert sorted(path.name for path in tmp_path.glob("*.ckpt")) == [
        f"iter_000000{step}.ckpt" for step in (3, 4, 5)
    ]
    assert checkpoint.load(tmp_path) == 5


def test_a_checkpoint_is_loaded_whole_or_not_at_all(tmp_path: Path) -> None:
    assert checkpoint.load(tmp_path) == 0
    checkpoint.save(tmp_path, 7)
    path = checkpoint.path_of(tmp_path, 7)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(RuntimeError, match="failed finding central directory"):
        checkpoint.load(tmp_path)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        checkpoint.load(tmp_path)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_all_ranks_end_with_their_launcher(number: int, status: int, tmp_path: Path) -> None:
    orders = [{"kind": "sigstop", "step": 2, "rank": 1}, {"kind": "stuck_loader", "step": 2, "rank": 2}]
    words = command(tmp_path, orders, "--timeout-seconds", "0")
    launcher = subprocess.Popen(
        words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert within(
            60, lambda: (tmp_path / "truth").exists() and (tmp_path / "truth").read_text().count("\n") == 2
        )
        assert len(processes_of(tmp_path)) >= 5
        os.kill(launcher.pid, number)
        told, _ = launcher.communicate(timeout=60)
    finally:
        launcher.kill()
        launcher.wait()
    assert launcher.returncode == status
    assert "Traceback" not in told
    assert within(30, lambda: processes_of(tmp_path) == [])


def within(seconds: float, question) -> bool:
    """Whether the answer becomes yes in time."""
    deadline = time.monotonic() + seconds
    while not question():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True

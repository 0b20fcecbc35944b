"""Is every kind of order really carried out, and written down?"""

import os
import re
import signal
import statistics
from pathlib import Path

import pytest

from lab.trainer.orders import KINDS
from tests.lab.trainer.playing import play, processes_of

# Each ends the job by itself: the order, the rank's status as the launcher tells it, what stands in the log.
CRASHES: dict[str, tuple[dict, str, str]] = {
    "raise": (
        {"error": "KeyError", "message": "no such layer"},
        "exit code 1",
        "[rank2]: KeyError: 'no such layer'",
    ),
    "import_error": ({}, "exit code 1", "[rank2]: ModuleNotFoundError: No module named 'flash_attn_lab_build'"),
    "bad_argument": ({}, "exit code 2", "pretrain_gpt.py: error: unrecognized arguments: --use-flash-attn-v4"),
    "shape_mismatch": (
        {},
        "exit code 1",
        "[rank2]: RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x768 and 1024x768)",
    ),
    "corrupt_checkpoint": ({}, "exit code 1", "[rank2]: RuntimeError: PytorchStreamReader failed reading zip"),
    "disk_full": ({}, "exit code 1", "[rank2]: OSError: [Errno 28] No space left on device"),
    "read_only": ({}, "exit code 1", "[rank2]: OSError: [Errno 30] Read-only file system: "),
    "sigkill": ({}, "Killed", ""),
    "sigterm": ({}, "Terminated", ""),
    "sigsegv": ({}, "Segmentation fault", ""),
    "sigabrt": ({}, "Aborted", ""),
    "memory": ({"mebibytes": 32}, "exit code 1", "[rank2]: MemoryError"),
    "shm_full": (
        {},
        "exit code 1",
        "is killed by signal: Bus error. It is possible that dataloader's workers are out",
    ),
    "port_in_use": ({}, "exit code 1", "name: EADDRINUSE, message: address already in use"),
    "data_error": ({}, "exit code 1", "[rank2]: json.decoder.JSONDecodeError: Unterminated string"),
    "text": ({"text": "off_the_bus", "pace": 0.0}, "exit code 1", ""),
    "exit": ({"code": 7}, "exit code 7", ""),
    "ecc": ({}, "exit code 1", "gpu-02: NVRM: Xid (PCI:0000:4e:00): 48, "),
}
# Each makes all others wait, until they give up.
HANGS: dict[str, dict] = {
    "sigstop": {},
    "hold_gil": {},
    "sleep": {},
    "spin": {"lines": ["retrying shard 17"], "seconds": 0.05},
    "stuck_loader": {},
}
GO_ON = {"slow", "slow_files", "nan", "pause", "lines", "no_save"}
ELSEWHERE = {"requeue_self"}
GAVE_UP = "Timed out waiting 1000ms for recv operation to complete"
CLOSED = "Connection closed by peer [127.0.0.1]:"


def test_every_kind_is_tested() -> None:
    assert {*CRASHES, *HANGS} | GO_ON | ELSEWHERE == set(KINDS)


@pytest.mark.parametrize("kind", CRASHES)
def test_a_rank_fails(kind: str, tmp_path: Path) -> None:
    words, status, said = CRASHES[kind]
    played = play(tmp_path, [{"kind": kind, "step": 5, "rank": 2, **words}])
    assert played.steps == [1, 2, 3, 4]
    assert (said in played.out + played.err) and played.code
    assert CLOSED in played.err  # the others tell that a peer has gone
    (deed,) = played.deeds
    assert (deed.case, deed.what, deed.ranks, deed.nodes) == ("a case", kind, (2,), ("gpu-02",))
    assert (deed.step, deed.attempt, deed.job) == (5, 0, 0)
    assert str(tmp_path) not in Path("/proc/mounts").read_text()
    assert f" rank 2: {status}; " in played.err


@pytest.mark.parametrize("kind", HANGS)
def test_all_others_wait(kind: str, tmp_path: Path) -> None:
    order = {"kind": kind, "step": 5, "rank": 2, **HANGS[kind]}
    played = play(tmp_path, [order], "--timeout-seconds", "1")
    assert played.steps == [1, 2, 3, 4]
    assert played.code == 1
    assert GAVE_UP in played.err
    assert "rank 2" not in played.err  # it had nothing to say, and did not end by itself
    assert [(deed.what, deed.ranks, deed.step) for deed in played.deeds] == [(kind, (2,), 5)]
    assert ("retrying shard 17" in played.out) is (kind == "spin")
    assert processes_of(tmp_path) == []


def test_memory_can_end_in_a_kill_or_wait_for_a_limit_from_outside(tmp_path: Path) -> None:
    killed = {"kind": "memory", "step": 2, "rank": 0, "mebibytes": 32, "ends": "killed"}
    played = play(tmp_path / "a", [killed], "--ranks", "1", "--hosts", "")
    assert played.code == 128 + signal.SIGKILL
    assert "MemoryError" not in played.err
    played = play(tmp_path / "b", [{**killed, "rank": 2, "ends": "outside"}], "--timeout-seconds", "1")
    assert GAVE_UP in played.err


def test_slow_steps_take_longer(tmp_path: Path) -> None:
    order = {"kind": "slow", "step": 3, "until": 6, "rank": 2, "factor": 4, "growth": 2, "every": 2}
    played = play(tmp_path, [order], "--step-seconds", "0.05", "--steps", "7")
    assert played.code == 0
    assert played.seconds[3] >= 0.05 * 4
    assert played.seconds[5] >= 0.05 * (4 + 2 * 2)
    assert statistics.median(played.seconds.values()) < 0.05 * 4  # the five others are as fast as ever
    assert [(deed.what, deed.step) for deed in played.deeds] == [("slow", 3)]


def test_saves_on_a_slow_file_system_take_longer(tmp_path: Path) -> None:
    order = {"kind": "slow_files", "step": 4, "rank": 0, "seconds": 0.5}
    played = play(tmp_path, [order], "--dialect", "torchtitan")
    first, second = re.findall(r"Finished saving the checkpoint in (\S+) seconds", played.out)
    assert (played.code, float(second) >= 0.5 > float(first)) == (0, True)
    assert [(deed.what, deed.step) for deed in played.deeds] == [("slow_files", 6)]


def test_the_loss_is_no_number_for_a_while(tmp_path: Path) -> None:
    played = play(tmp_path, [{"kind": "nan", "step": 3, "until": 5, "rank": 3}])
    assert [step for step, loss in played.losses.items() if loss == "nan"] == [3, 4, 5]
    assert [(deed.what, deed.ranks, deed.step) for deed in played.deeds] == [("nan", (3,), 3)]


def test_a_pause_has_the_lines_of_the_dialect_and_then_goes_on(tmp_path: Path) -> None:
    played = play(tmp_path, [{"kind": "pause", "step": 4, "all": True, "phase": "evaluation", "seconds": 0.3}])
    assert played.out.count("evaluating on validation set ...") == 1
    assert played.steps == list(range(1, 9))
    assert played.seconds[4] >= 0.3
    assert sorted(deed.ranks for deed in played.deeds) == [(0,), (1,), (2,), (3,)]


def test_lines_are_printed_by_one_rank_and_nothing_else_happens(tmp_path: Path) -> None:
    played = play(tmp_path, [{"kind": "lines", "step": 4, "host": "gpu-02", "lines": ["ERROR: all is well"]}])
    assert (played.code, played.out.count("ERROR: all is well")) == (0, 1)
    assert sorted(deed.ranks for deed in played.deeds) == [(2,), (3,)]


def test_nothing_is_saved_any_more(tmp_path: Path) -> None:
    played = play(tmp_path, [{"kind": "no_save", "step": 4, "rank": 0}])
    assert played.code == 0
    assert [path.name for path in (tmp_path / "saved").glob("*.ckpt")] == ["iter_0000003.ckpt"]
    assert [(deed.what, deed.step) for deed in played.deeds] == [("no_save", 6)]


def test_a_text_may_go_on_or_hang(tmp_path: Path) -> None:
    text = {"kind": "text", "text": "off_the_bus", "step": 4, "rank": 1, "pace": 0.0}
    assert play(tmp_path / "a", [{**text, "ends": "goes_on"}]).code == 0
    played = play(tmp_path / "b", [{**text, "ends": "hang"}], "--timeout-seconds", "1")
    assert GAVE_UP in played.err


def test_a_job_requeues_itself_only_under_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order = {"kind": "requeue_self", "step": 2, "rank": 0}
    played = play(tmp_path, [order])
    assert (played.code, played.deeds) == (0, [])
    assert "requeue_self is not carried out: there is no Slurm job to requeue." in played.err


def test_before_the_ranks_meet_a_traceback_has_no_rank(tmp_path: Path) -> None:
    played = play(tmp_path, [{"kind": "import_error", "host": "gpu-02"}])
    assert played.code == 1
    assert "\nModuleNotFoundError: No module named 'flash_attn_lab_build'\n" in played.err
    assert {deed.ranks for deed in played.deeds} <= {(2,), (3,)}
    assert {deed.step for deed in played.deeds} == {0}


NOT_DONE: dict[str, dict] = {
    "of another attempt": {"kind": "sigkill", "attempt": 1, "step": 2, "rank": 1},
    "after the last step": {"kind": "sigkill", "step": 9, "rank": 1},
    "of a module that is there": {"kind": "import_error", "step": 2, "rank": 1, "module": "json"},
    "of a save that another rank does": {"kind": "no_save", "step": 2, "rank": 1},
}


@pytest.mark.parametrize("name", NOT_DONE)
def test_nothing_is_written_of_what_is_not_done(name: str, tmp_path: Path) -> None:
    played = play(tmp_path, [NOT_DONE[name]])
    assert (played.code, played.deeds) == (0, [])
    assert not os.path.exists(tmp_path / "truth")


@pytest.mark.parametrize("where", [{"rank": 9}, {"host": "gpu-03"}], ids=lambda where: next(iter(where)))
def test_what_could_never_strike_is_refused_before_anything_starts(where: dict, tmp_path: Path) -> None:
    played = play(tmp_path, [{"kind": "sigkill", "step": 2, **where}])
    assert (played.code, played.deeds, played.err.count("\n")) == (2, [], 1)


def test_nothing_is_written_of_what_would_have_come_later(tmp_path: Path) -> None:
    orders = [{"kind": "exit", "step": 3, "all": True}, {"kind": "sigkill", "step": 4, "rank": 1}]
    assert {deed.what for deed in play(tmp_path, orders).deeds} == {"exit"}


def test_truth_may_be_left_out(tmp_path: Path) -> None:
    played = play(tmp_path, [{"kind": "exit", "step": 3, "rank": 1}], "--truth", str(tmp_path / "other"))
    assert (played.deeds, (tmp_path / "other").exists()) == ([], True)

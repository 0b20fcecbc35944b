"""Does `diagnose` read what it is given, say what happened, and end with the status that it promises?"""

import bz2
import gzip
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.advisor_api.diagnosing.running import CRASH, ECC, ENVIRONMENT, Ran, run, run_alone, steps, text

WATCHDOG = (
    "[rank{0}]:[E501 10:30:00.000000000 ProcessGroupNCCL.cpp:616] [Rank {0}] Watchdog caught collective operation"
    " timeout: WorkNCCL(SeqNum=78, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600029"
    " milliseconds before timing out."
)
SLOW = [
    f"[2026-05-01 {10 + n // 60:02d}:{n % 60:02d}:00] iteration {step}/ 500000 | consumed samples: {step * 256} |"
    " elapsed time per iteration (ms): 1000.0 | global batch size: 256 | lm loss: 2.1E+00 |"
    for n, step in enumerate([*range(0, 3600, 60), *range(3600, 4500, 30)])
]


@pytest.fixture
def log(tmp_path: Path) -> Callable[..., Path]:
    """Writes a log and gives its path."""

    def write(lines: Sequence[str], name: str = "job.log") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text(lines))
        return path

    return write


def with_scheduler(tmp_path: Path, path: Path, **fields: object) -> Ran:
    """The verdict with what the scheduler says."""
    told = tmp_path / "sacct.json"
    told.write_text(json.dumps(fields))
    return run(path, "--scheduler", told, "--json")


@pytest.mark.parametrize(
    ("lines", "status", "kind"),
    [
        pytest.param(CRASH, 10, "crash", id="a broken GPU"),
        pytest.param([ECC], 10, "crash", id="a fragment: one pasted line"),
        pytest.param([*steps(0, 40), *map(WATCHDOG.format, range(4))], 11, "hang", id="a hang that is said"),
        pytest.param(SLOW, 12, "straggler", id="steps that have become slow"),
        pytest.param(steps(0, 40), 0, "none", id="healthy"),
        pytest.param([], 0, "none", id="an empty file"),
        pytest.param(["slurmstepd: error: *** JOB 7 ON n01 CANCELLED AT 2026-05-01T10:00:00 ***"], 10, "crash",
                     id="the scheduler's own line of an end"),
    ],
)  # fmt: skip
def test_the_status_tells_what_was_found(
    log: Callable[..., Path], lines: Sequence[str], status: int, kind: str
) -> None:
    ran = run(log(lines), "--json")
    assert (ran.status, ran.verdict["detection"]["kind"]) == (status, kind)


def test_the_page_answers_every_question(log: Callable[..., Path]) -> None:
    path = log(CRASH)
    page = " ".join(run(path).out.split())
    for words in ("What happened Crash: Uncorrectable ECC", "Which node", "What else", "What to do Restart",
                  f"{path}:43: {ECC}", "no scheduler state"):  # fmt: skip
        assert words in page


@pytest.mark.parametrize(
    "packed",
    [
        pytest.param(gzip.compress, id="gzip"),
        pytest.param(bz2.compress, id="bzip2"),
        pytest.param(lzma.compress, id="xz"),
    ],
)
def test_packed_files_are_read_whatever_they_are_called(tmp_path: Path, packed: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "job.log"
    path.write_bytes(packed(text(CRASH).encode()))
    ran = run(path, "--json")
    assert (ran.status, ran.verdict["evidence"][0]["line"]) == (10, 43)


def test_a_packed_file_that_breaks_off_is_judged_by_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "job.gz"
    path.write_bytes(gzip.compress(os.urandom(300_000).hex().encode() + b"\n" + text(CRASH).encode())[:-20])
    ran = run(path, "--json")
    assert ran.status in (3, 10)
    assert "breaks off" in ran.err
    assert any("breaks off" in one for one in ran.verdict["missing_evidence"])


def test_a_folder_is_one_attempt_and_its_checkpoints_are_passed_over(
    tmp_path: Path, log: Callable[..., Path]
) -> None:
    log(steps(0, 40), "logs/rank0.log")
    log([ECC], "logs/deeper/rank1.log")
    (tmp_path / "logs/model.pt").write_bytes(b"PK\0\0" * 100)
    ran = run(tmp_path / "logs", "--json")
    assert ran.status == 10
    assert ran.verdict["progress"]["last_step"] == 39
    assert "model.pt: it is no text" in ran.err


def test_standard_input_is_a_file(tmp_path: Path) -> None:
    ran = run_alone(tmp_path, "-", "--json", given=text(CRASH).encode())
    assert ran.status == 10
    assert ran.verdict["evidence"][0]["file"] == "(standard input)"


@pytest.mark.parametrize(
    ("files", "status", "words"),
    [
        pytest.param(["missing.log"], 3, "missing.log: no such file", id="nothing can be read"),
        pytest.param(["healthy.log", "missing.log"], 3, "missing.log", id="nothing found, and not all was read"),
        pytest.param(["crash.log", "missing.log"], 10, "missing.log", id="found, and not all was read"),
        pytest.param(["zstd.log"], 3, "zstd", id="a packing that is not understood"),
    ],
)
def test_what_cannot_be_read_is_said(
    tmp_path: Path, log: Callable[..., Path], files: Sequence[str], status: int, words: str
) -> None:
    log(steps(0, 40), "healthy.log")
    log(CRASH, "crash.log")
    (tmp_path / "zstd.log").write_bytes(b"\x28\xb5\x2f\xfdxxxx")
    ran = run(*(tmp_path / name for name in files))
    assert ran.status == status
    assert words in ran.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["--node-of", "rank.log"], "names neither a node", id="a pattern without a field"),
        pytest.param(["--scheduler", "missing.json"], "cannot be read", id="no scheduler's file"),
        pytest.param(["--scheduler", "job.log"], "is no JSON", id="a scheduler's file that is none"),
    ],
)
def test_a_mistake_is_one_sentence(
    tmp_path: Path, log: Callable[..., Path], arguments: Sequence[str], words: str
) -> None:
    path = log(CRASH)
    ran = run(path, arguments[0], tmp_path / arguments[1] if "scheduler" in arguments[0] else arguments[1])
    assert (ran.status, ran.out) == (2, "")
    assert words in ran.err


def test_a_hang_by_silence_needs_stamps(tmp_path: Path, log: Callable[..., Path]) -> None:
    times = {"start": "2026-05-01T10:00:00+00:00", "elapsed": 7200}
    dated = with_scheduler(tmp_path, log(steps(0, 60)), state="RUNNING", **times)
    undated = with_scheduler(
        tmp_path, log([line.split("] ", 1)[1] for line in steps(0, 60)]), state="RUNNING", **times
    )
    alone = run(log(steps(0, 60)), "--json")
    assert (dated.status, dated.verdict["detection"]["signal"]) == (11, "hang.silence")
    assert (undated.status, alone.status) == (0, 0)
    assert any("no time stamps" in one for one in undated.verdict["missing_evidence"])


def test_file_names_tell_the_node(tmp_path: Path, log: Callable[..., Path]) -> None:
    log(steps(0, 40), "gpu-01/rank-0.log")
    log([*steps(0, 40), ECC], "gpu-02/rank-1.log")
    named = run(tmp_path, "--json", "--node-of", "%N/rank-%t.log")
    (blamed,) = [one for one in named.verdict["implicated"] if one["role"] == "culprit"]
    assert (blamed["host"], blamed["rank"]) == ("gpu-02", 1)
    assert named.verdict["recommendation"]["exclude"] == ["gpu-02"]
    unnamed = run(tmp_path, "--json")
    assert [one for one in unnamed.verdict["implicated"] if one["role"] == "culprit"] == []


def test_what_the_scheduler_says_counts(tmp_path: Path, log: Callable[..., Path]) -> None:
    path = log(steps(0, 40))
    end = "2026-05-01T10:01:00+00:00"
    lost = with_scheduler(tmp_path, path, state="NODE_FAIL", nodes="n[01-02]", end=end, exit_code="0:0")
    cancelled = with_scheduler(tmp_path, path, state="CANCELLED by 1000", nodes=["n01"], end=end)
    done = with_scheduler(tmp_path, path, state="COMPLETED", end=end)
    assert (lost.status, lost.verdict["outcome"]["layer"]) == (10, "hardware.host")
    assert cancelled.verdict["recommendation"]["action"] == "none"
    assert done.status == 0


def test_victims_alone_are_told_as_a_broken_communication(log: Callable[..., Path]) -> None:
    line = (
        "[rank3]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1, remote process exited"
    )
    ran = run(log([f"{line} or there was a network error, NCCL version 2.20.5"]), "--json")
    assert ran.status == 10
    assert ran.verdict["outcome"]["layer"] in ("framework.comm", "hardware.network")
    assert ran.verdict["root_cause"]["confidence"] < 0.8


def test_no_control_character_of_a_log_reaches_the_terminal(tmp_path: Path) -> None:
    hostile = f"\x1b]0;owned\x07\x1b[2J {ECC} \x9b31m \u202eevil\u2066\0 <script>\x7f"
    path = tmp_path / "job\x1b[31m.log"
    path.write_bytes(text([*steps(0, 3), hostile]).encode() + b"\xff\xfe" + b"x" * 10_000_000)
    for ran in (run(path), run(path, "--json")):
        assert ran.status == 10
        assert not [one for one in ran.out + ran.err if one != "\n" and (ord(one) < 32 or 0x7F <= ord(one) < 0xA0)]
        assert "\u202e" not in ran.out + ran.err


def test_two_runs_give_the_same_bytes(tmp_path: Path, log: Callable[..., Path]) -> None:
    """Large enough for several processes, in two files."""
    log([*steps(0, 12_000), *CRASH], "gpu-01.log")
    log([f"gpu-0{n % 2 + 1}: {WATCHDOG.format(n % 8)}" for n in range(2000)], "gpu-02.log")
    names = ("gpu-01.log", "gpu-02.log", "--json", "--node-of", "%N.log")
    runs = [run_alone(tmp_path, *names, environment={"PYTHONHASHSEED": seed}).out for seed in ("1", "1", "4711")]
    assert runs[0]
    assert runs[1:] == runs[:1] * 2


def test_it_opens_no_database(tmp_path: Path, log: Callable[..., Path]) -> None:
    """No mark for a database stands here: pytest-django refuses connections. A process leaves nothing behind."""
    path = log(CRASH)
    assert run_alone(tmp_path, path).status == 10
    assert list(tmp_path.iterdir()) == [path]


def test_it_starts_without_the_framework(tmp_path: Path, log: Callable[..., Path]) -> None:
    """Django and what it brings take as long to start as it takes to read some megabytes."""
    code = (
        "import sys; from advisor_api.diagnosing.door import main; main(sys.argv[1:])\n"
        "sys.exit(any(name.partition('.')[0] in ('django', 'celery', 'rest_framework') for name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, str(log(CRASH))],
        env=ENVIRONMENT,
        capture_output=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"Uncorrectable ECC" in done.stdout


def test_modules_in_the_folder_of_the_logs_are_not_taken_for_ours(tmp_path: Path, log: Callable[..., Path]) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(77)")
    assert run_alone(tmp_path, log(CRASH)).status == 10


def test_the_site_has_it_as_a_command_too(tmp_path: Path, log: Callable[..., Path]) -> None:
    path = log(CRASH)
    within, alone = run(path, "--json"), run_alone(tmp_path, path, "--json")
    assert (within.status, within.out) == (alone.status, alone.out)

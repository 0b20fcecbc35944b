"""Does a command run bounded in time and size, without a shell, in its own small environment?"""

import os
import time
from pathlib import Path

import pytest

from schedulers.transport import Answer, LocalTransport, NoProgram, RecordingTransport, TimedOut, TooLong


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def script(folder: Path, body: str, name: str = "squeue") -> LocalTransport:
    """A transport whose folder holds one command."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return LocalTransport(str(folder), "/etc/lab/slurm.conf")


def test_both_outputs_and_the_return_code_come_back(folder):
    transport = script(folder, "echo out; echo err >&2; exit 7")
    assert transport.run(("squeue",), 5) == Answer(7, "out\n", "err\n")


def test_the_folder_comes_before_the_path(folder):
    assert script(folder, "echo mine", name="ls").run(("ls",), 5).stdout == "mine\n"


def test_without_a_folder_the_path_is_searched():
    assert LocalTransport("", "").run(("echo", "x"), 5).stdout == "x\n"


def test_the_environment_holds_what_slurm_needs_and_nothing_else(folder, monkeypatch):
    monkeypatch.setenv("SQUEUE_FORMAT", "%A")
    monkeypatch.setenv("SLURM_CLUSTERS", "other")
    lines = script(folder, "env").run(("squeue",), 5).stdout.splitlines()
    values = dict(line.split("=", 1) for line in lines)
    assert values.pop("PATH").startswith(f"{folder}:")
    for of_the_shell in ("PWD", "_", "SHLVL", "OLDPWD"):
        values.pop(of_the_shell, None)
    assert values == {"LC_ALL": "C.UTF-8", "SLURM_TIME_FORMAT": "%s", "SLURM_CONF": "/etc/lab/slurm.conf"}


def test_an_empty_configuration_leaves_the_sites_own(monkeypatch):
    monkeypatch.setenv("SLURM_CONF", "/site/slurm.conf")
    assert "SLURM_CONF=/site/slurm.conf" in LocalTransport("", "").run(("env",), 5).stdout
    monkeypatch.delenv("SLURM_CONF")
    assert "SLURM_CONF" not in LocalTransport("", "").run(("env",), 5).stdout


def test_no_shell_reads_the_arguments(folder):
    words = ("$HOME", "`id`", "a b", "; exit 3", "*", "\n")
    assert script(folder, 'printf "%s|" "$@"').run(("squeue", *words), 5) == Answer(0, "|".join(words) + "|", "")


def test_a_command_that_does_not_exist_is_named():
    with pytest.raises(NoProgram, match="no command 'no-such-command'"):
        LocalTransport("", "").run(("no-such-command",), 5)


def test_a_command_that_cannot_be_started_is_named(folder):
    (folder / "squeue").write_text("#!/no/such/interpreter\n")
    (folder / "squeue").chmod(0o755)
    with pytest.raises(NoProgram, match="'squeue' cannot be started"):
        LocalTransport(str(folder), "").run(("squeue",), 5)


def test_at_the_limit_the_command_and_its_children_are_killed(folder):
    transport = script(folder, f"sh -c 'echo $$ > {folder}/child; sleep 60' & echo half; wait")
    started = time.monotonic()
    with pytest.raises(TimedOut, match=r"did not answer within 2 s") as caught:
        transport.run(("squeue",), 2)  # in which it has begun, and said its half
    assert time.monotonic() - started < 30
    assert caught.value.raw == "half\n"
    assert gone(int((folder / "child").read_text()))


def test_a_command_that_closed_its_outputs_is_still_bounded(folder):
    with pytest.raises(TimedOut):
        script(folder, "exec >&- 2>&-; sleep 60").run(("squeue",), 0.5)


def test_a_child_that_outlives_its_command_is_not_left_behind(folder):
    transport = script(folder, f"sleep 60 >/dev/null 2>&1 & echo $! > {folder}/child")
    assert transport.run(("squeue",), 5).returncode == 0
    assert gone(int((folder / "child").read_text()))


def test_an_endless_answer_is_cut_off(folder):
    script(folder, "yes 2>&1")
    with pytest.raises(TooLong, match="more than 100000 bytes"):
        LocalTransport(str(folder), "", largest=100_000).run(("squeue",), 30)


def test_bytes_that_are_no_text_are_replaced(folder):
    assert script(folder, r"printf 'a\377b'").run(("squeue",), 5).stdout == "a�b"


def test_a_command_killed_by_a_signal_shows_it(folder):
    assert script(folder, "kill -9 $$").run(("squeue",), 5).returncode == -9


def test_nothing_can_be_asked_of_whoever_started_us(folder):
    assert script(folder, "cat; echo end").run(("squeue",), 5).stdout == "end\n"


def test_every_command_is_recorded_also_one_that_fails(folder):
    transport = RecordingTransport(script(folder, "exit 1"))
    transport.run(("squeue", "-h"), 5)
    with pytest.raises(NoProgram):
        transport.run(("no-such-command",), 5)
    assert transport.calls == [("squeue", "-h"), ("no-such-command",)]


def gone(number: int) -> bool:
    """Whether a process ended, be it that nobody collected it yet."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{number}/stat").read_text().rsplit(") ", 1)[1][0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return not os.path.exists(f"/proc/{number}")


def test_a_relative_folder_of_the_path_is_not_searched(folder, monkeypatch):
    script(folder, "echo taken")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f":.:{folder}/nothing")
    with pytest.raises(NoProgram):
        LocalTransport("", "").run(("squeue",), 5)

"""Does a person get a shell with a watched Slurm, and does everything go when the shell does?"""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lab.parts.person import Person
from lab.parts.running import ROOT, Running, clean_environment
from lab.slurm.processes import start_time

pytestmark = pytest.mark.slurm

TRYOUT = [sys.executable, "-m", "lab.slurm", "tryout"]
ENDED = "rekindle: everything is stopped and removed."
STORY = """
sbatch train.sh
for i in $(seq 80); do
    sleep 0.5
    [ "$(sacct -n -X -j 1 -o state%20 | tr -d ' ')" = FAILED ] && break
done
manage cluster list
manage cluster look lab
manage cluster mode lab action --acknowledge-scheduler-actions --reason "a test"
controller check --config "$(dirname "$PWD")/controller.toml"
controller run --config "$(dirname "$PWD")/controller.toml" &
sleep 2
tail -n +1 -v ../run/*.pid
exit 7
"""


def tried(script: str, folder: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    """The tryout with a script on its standard input instead of a person."""
    return subprocess.run(
        TRYOUT,
        input=script,
        cwd=ROOT,
        env={**clean_environment(), "SHELL": "/bin/sh", "TMPDIR": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def alive(records: str) -> list[str]:
    """Of the recorded processes (id and start time), those that still run."""
    found = re.findall(r"^(\d+) (\d+)$", records, re.MULTILINE)
    assert found
    return [pid for pid, started in found if start_time(int(pid)) == started]


def test_the_commands_work_and_the_end_of_the_script_ends_everything(short_folder: Path) -> None:
    run = tried(STORY, short_folder)
    said = run.stdout + run.stderr
    assert run.returncode == 7, said
    assert re.search(r"sign in once with  http://127\.0\.0\.1:\d+/sign-in/once/\S+", said)
    assert "Submitted batch job 1" in said
    assert re.search(r"^lab +monitor +seen ", said, re.MULTILINE), said
    assert "5 nodes, 5 of them usable" in said
    assert "lab is in mode action." in said
    assert "The Advisor answers: cluster lab, mode action" in said, said
    assert re.search(r"/controller-\d+\.pid <==$", said, re.MULTILINE), said
    assert "controller lab: stopped" in said
    assert ENDED in said
    assert alive(run.stdout) == []
    assert list(short_folder.iterdir()) == []


def test_a_signal_ends_a_shell_that_would_stay(short_folder: Path) -> None:
    shell = short_folder / "shell"
    shell.write_text("#!/bin/sh\ntail -n +1 -v ../run/*.pid\necho ready\nexec sleep 600\n")
    shell.chmod(0o755)
    tryout = Running(TRYOUT, {"SHELL": str(shell), "TMPDIR": str(short_folder)})
    try:
        address = tryout.said(r"Recovery Console +(\S+)/$", 180)
        link = tryout.said(r"sign in once with +\S+(/sign-in/once/\S+)", 90)
        tryout.said("(ready)", 90)
        person = Person(address)
        person.sign_in_once(link)
        assert "Monitor: says what it would do" in person.get("/clusters/lab")
    finally:
        status = tryout.end(signal.SIGTERM, 180)
    assert status == 128 + signal.SIGTERM
    assert ENDED in tryout.text()
    assert alive(tryout.text()) == []
    assert list(short_folder.iterdir()) == [shell]


def test_without_the_packages_one_sentence_says_so(short_folder: Path) -> None:
    run = tried("", short_folder, PATH="/nonexistent")
    assert run.returncode == 1
    assert re.fullmatch(r"lab\.slurm: Missing commands: .*squeue.*\n", run.stderr), run.stderr
    assert run.stdout == ""
    assert list(short_folder.iterdir()) == []

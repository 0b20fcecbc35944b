"""Does `python -m lab` put cases on, and say in one sentence what it cannot do?"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lab.cases.catalogue import CASES
from lab.parts.running import until

ROOT = Path(__file__).resolve().parents[3]


def lab(*words: object, seconds: float = 300) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "lab", *map(str, words)]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False)


def test_the_short_set_gives_a_score_card(tmp_path: Path) -> None:
    short = [case for case in CASES if "simulated" in case.short]
    done = lab("--on", "simulated", "--faults", "short", "--json", tmp_path / "card.json", seconds=800)
    assert done.returncode == 0, done.stderr
    assert len(done.stderr.splitlines()) == len(short) + 2  # a head, and the replay
    card = json.loads((tmp_path / "card.json").read_text())
    (part,) = card["parts"]
    assert (card["where"], len(part["cases"])) == ("simulated", len(short))
    assert {one["standing"] for one in part["cases"]} == {"counted"}
    assert part["all"]["counted"] == len(short)
    assert "faults found" in done.stdout and "traps left alone" in done.stdout


def test_the_list_has_one_line_for_each_case() -> None:
    done = lab("--list")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == len(CASES)
    assert [line.split()[:2] for line in lines] == [[case.sort.value, case.name] for case in CASES]
    assert all(case.says in line for line, case in zip(lines, CASES, strict=True))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "say --list, --on simulated, slurm or fleet, --corpus FILE, or --calibrate SEEDS; --help says more."),
        (("--on", "mars"), "argument --on: invalid choice: 'mars' (choose from 'simulated', 'slurm', 'fleet')"),
        (("--on", "simulated", "--faults", "no-such"), "There is no case 'no-such'; ./run lab --list names them."),
        (("--on", "simulated", "--faults", "sigkil"), "There is no case 'sigkil'; is 'sigkill' meant?"),
        (
            ("--on", "simulated", "--faults", ","),
            "--faults means no case that can be put on with '--on simulated'.",
        ),
        (("--on", "slurm", "--faults", "kernel-panic"), "can only be put on with '--on simulated'."),
        (("--on", "simulated", "--fault", "sigkill"), "unrecognized arguments: --fault sigkill"),
        (("--on", "simulated", "--corpus", "x"), "say --list, --on"),
        (("--calibrate", "1"), "--calibrate takes 2 to 100 seeds."),
        (("--calibrate", "4", "--corpus", "x"), "say --list, --on"),
        (("--on", "simulated", "--days", "3"), "--days and --nodes go with --on fleet."),
        (("--on", "fleet", "--days", "0"), "--days must be from 0.01 to 366."),
        (("--on", "fleet", "--days", "nan"), "--days must be from 0.01 to 366."),
        (("--on", "fleet", "--nodes", "100000000"), "--nodes must be from 1 to 20000."),
        (("--on", "fleet", "--faults", "short"), "--faults is for --on simulated and slurm, and for --calibrate."),
        (("--on", "simulated", "--seed", "x"), "argument --seed: invalid int value: 'x'"),
        (("--on", "simulated", "--json", "/no/such/folder/card.json"), "there is no folder /no/such"),
        (("--on", "simulated", "--json", "/proc/card.json"), "--json /proc/card.json cannot be written: "),
        (("--on", "simulated", "--json", "/proc"), "--json /proc is a folder."),
        (("--on", "simulated", "--folder", "/proc/new"), "--folder /proc/new cannot be made: "),
        (("--on", "simulated", "--faults", "short", "--write"), "--write keeps the card of a whole run"),
        (("--corpus", "/no/such/file"), "there is no file /no/such/file."),
        (("--folder", "/", "--on", "simulated"), "/ is there already."),
        (("--corpus", __file__), "line 1"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_a_mistake_is_one_sentence_and_status_2(words: tuple[str, ...], sentence: str) -> None:
    done = lab(*words)
    assert done.returncode == 2 and done.stdout == ""
    assert sentence in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    assert "Traceback" not in done.stderr


def test_help_tells_what_can_be_said() -> None:
    done = lab("--help")
    assert done.returncode == 0
    assert all(word in done.stdout for word in ("--faults", "representative", "--corpus", "Exit status", "--write"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("words", ["--on simulated --faults all", "--on fleet --days 20 --nodes 64"])
def test_a_signal_leaves_no_process_and_no_folder(tmp_path: Path, words: str, number: signal.Signals) -> None:
    argv = [sys.executable, "-m", "lab", *words.split()]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(argv, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True) as running:
        try:
            until(lambda: any(b"lab.virtual" in line for line in started_with(tmp_path)), 300, "a child runs")
        finally:
            running.send_signal(number)
        told = running.communicate(timeout=120)[1]
    assert running.returncode == 128 + number and told.splitlines()[-1] == "lab: stopped", told
    assert "broken" not in told and "Traceback" not in told
    assert started_with(tmp_path) == [] and list(tmp_path.iterdir()) == []


def started_with(folder: Path) -> list[bytes]:
    """The command lines of the processes that were told this folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found.append((process / "cmdline").read_bytes())
    return [line for line in found if str(folder).encode() in line]


def test_labelled_text_gives_a_score_card(tmp_path: Path) -> None:
    corpus = tmp_path / "some.jsonl"
    label = {"kind": "crash", "layer": "hardware.gpu", "action": "restart_exclude"}
    text = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
    corpus.write_text(json.dumps({"id": "one", "snippet": text, "expected": label}))
    done = lab("--corpus", corpus, "--json", tmp_path / "card.json")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "card.json").read_text())["where"] == "corpus"

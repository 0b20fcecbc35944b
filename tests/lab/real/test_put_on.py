"""Is a case put on on a real Slurm, is its truth kept from the product, and does everything go with the run?"""

import os
import re
import signal
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from lab.cases.case import Act, Did, Sort
from lab.parts.running import PYTHON, ROOT, Running, until
from lab.real.run import put_on
from lab.score.grade import Standing
from lab.score.grading import grade
from lab.score.said import Result
from tests.lab.real.making import a_case

pytestmark = [pytest.mark.slurm, pytest.mark.e2e]

ECC = {"kind": "ecc", "attempt": 0, "step": 12, "rank": 1}
KILLED = {"kind": "sigkill", "attempt": 0, "step": 12, "rank": 1}
NEVER = {"kind": "sigkill", "attempt": 0, "step": 9_999, "rank": 1}
CASES = (
    a_case("telltale-gpu", orders=(ECC,), seconds=300),
    a_case("telltale-kill", orders=(KILLED,), seconds=300),
    a_case("telltale-cancel", acts=(Act("cancel", ("0",), on_step=10),), seconds=300),
    a_case("telltale-never", orders=(NEVER,), seconds=3),
    a_case("telltale-mistake", orders=(), acts=(Act("cancel", ("7",), on_step=2),), seconds=60),
    a_case("telltale-calm", Sort.TRAP, seconds=25),
)
RUN = """
import sys, tempfile
from pathlib import Path
from lab.real.run import put_on
from tests.lab.real.making import a_case
put_on([a_case(seconds=200, training={"steps": 5000})], Path(sys.argv[1]), print)
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Result], list[str]]:
    """One run of all cases: its folder, the results by name, and what was said meanwhile."""
    folder, lines = tmp_path_factory.mktemp("real"), list[str]()
    results = put_on(CASES, folder, lines.append)
    assert [result.case for result in results] == list(CASES)
    return folder, {result.case.name: result for result in results}, lines


def dids(result: Result) -> list[Did]:
    return [one.did for one in result.said.advice]


def test_a_broken_gpu_is_put_on_found_and_left_out(run) -> None:
    result = run[1]["telltale-gpu"]
    assert not result.broken
    ((what, nodes, case),) = {(deed.what, deed.nodes, deed.case) for deed in result.injected}
    assert (what, case) == ("ecc", "telltale-gpu")
    assert dids(result) == [Did.RESTART_EXCLUDE]
    assert result.said.advice[0].nodes == nodes
    assert result.said.advice[0].acknowledged_at
    assert any("requeuehold" in command for command in result.said.commands)
    assert list(result.said.states.values()) == ["completed"]
    first = min(symptom.detected_at.timestamp() for symptom in result.said.symptoms)
    assert -1 < first - result.injected[0].at < 180


def test_each_case_hears_of_its_own_jobs_only(run) -> None:
    jobs = [frozenset(result.said.states) for result in run[1].values()]
    assert all(len(numbers) == 1 for numbers in jobs)
    assert len(set(jobs)) == len(jobs)
    for result in run[1].values():
        (number,) = result.said.states
        assert {one.job for one in (*result.said.symptoms, *result.said.verdicts)} <= {number}


def test_what_is_done_from_outside_counts_as_done(run) -> None:
    result = run[1]["telltale-cancel"]
    assert [deed.what for deed in result.injected] == ["cancel"]
    assert list(result.said.states.values()) == ["cancelled"]


def test_a_fault_that_did_not_happen_is_reported_as_not_put_on(run) -> None:
    result = run[1]["telltale-never"]
    assert result.injected == ()
    assert not result.broken
    assert grade(result, "slurm").standing is Standing.NOT_PUT_ON
    assert any("telltale-never: not put on" in line for line in run[2])


def test_a_mistake_of_the_lab_breaks_its_case_alone(run) -> None:
    assert run[1]["telltale-mistake"].broken.startswith("IndexError")


def test_a_calm_job_is_watched_to_the_end_and_is_healthy(run) -> None:
    result = run[1]["telltale-calm"]
    assert [deed.what for deed in result.injected] == ["as_it_is"]
    # It is watched for 25 s, of which a busy machine takes some to start it and some for each look.
    assert 0 < result.healthy_seconds < 60
    assert dids(result) == []


def test_nothing_that_the_product_saw_or_stored_names_a_case(run) -> None:
    folder = run[0] / "round1"
    assert list(folder.glob("truth/*.jsonl"))
    seen = [*folder.glob("logs/*"), folder / "commands.log", *folder.glob("*.out")]
    texts = {str(path): path.read_text(errors="replace") for path in seen}
    with sqlite3.connect(f"file:{folder / 'site' / 'rekindle.sqlite3'}?mode=ro", uri=True) as database:
        texts["database"] = "\n".join(database.iterdump())
    assert "train-01-0" in texts["database"]
    assert [name for name, text in texts.items() if re.search(r"telltale|/truth", text)] == []


def left(marks: Sequence[str]) -> list[str]:
    """Processes whose command line or environment names one of these folders."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            said = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
        except OSError:
            continue
        if int(folder.name) != os.getpid() and any(mark.encode() in said for mark in marks):
            found.append(f"{folder.name} {said[:200]!r}")
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_every_process_and_removes_every_mount(
    short_folder: Path, tmp_path: Path, number: signal.Signals
) -> None:
    marks = [str(short_folder), str(tmp_path)]
    environment = {"TMPDIR": str(short_folder), "PYTHONPATH": str(ROOT)}
    running = Running([PYTHON, "-c", RUN, str(tmp_path)], environment)
    running.said("(are up)", 300)
    until(lambda: any("lab.trainer" in one for one in left(marks)), 180, "the job runs")
    assert running.end(number, 180) == 128 + number, running.text()
    assert left(marks) == []
    assert [line for line in Path("/proc/mounts").read_text().splitlines() if str(short_folder) in line] == []
    assert list(short_folder.iterdir()) == []

"""Does a seed change how a case comes about, and never what is true of it? Does another run find the same?"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from detectors.attribution.attributing import SEARCH
from detectors.catalogue.catalogue import catalogue
from lab.calibrating.judging import graded_as, usable, verdict
from lab.calibrating.measuring import of_seed
from lab.calibrating.playing import play
from lab.calibrating.table import by_seed, read
from lab.calibrating.varying import situation
from lab.cases.case import Case, Sort
from lab.cases.catalogue import CASES
from lab.virtual.child import ROOT

USABLE = [case for case in CASES if usable(case)]
BY_NAME = {case.name: case for case in CASES}
STALE = 3  # of about 80 in a seed
SHORT = "sigkill,xid-48-ecc,bad-argument,time-limit,two-gpus-at-once,retries-succeed"


@pytest.mark.parametrize("case", USABLE, ids=[case.name for case in USABLE])
def test_a_seed_changes_how_a_case_is_put_on_and_not_its_truth(case: Case) -> None:
    first, again, other = situation(case, 1), situation(case, 1), situation(case, 2)
    assert first == again and (first.case.simulated, first.copy) != (other.case.simulated, other.copy)
    assert first.case.truth == other.case.truth == case.truth and first.case.name == case.name
    script = case.simulated
    assert script is not None
    before, after = script.jobs[0][1].faults, first.own
    assert [(one.kind, one.text) for one in before] == [(one.kind, one.text) for one in after]
    pairs = [(one.node, other.node) for one, other in zip(before, after, strict=True)]
    assert len({one for one, _ in pairs}) == len({other for _, other in pairs}), "different nodes stay different"


@pytest.mark.parametrize("seed", range(1, 6))
def test_what_is_put_on_is_the_case_and_not_the_harmless_beside_it(seed: int) -> None:
    for name in ("xid-48-ecc", "import-error-one-host", "two-gpus-at-once", "sigkill"):
        made = situation(BY_NAME[name], seed)
        played = play(made)
        assert len(played.deeds) == len(made.own) and played.log == play(made).log
        assert all(node in played.told.nodes for deed in played.deeds for node in deed.nodes if played.told.nodes)


def test_logs_of_two_seeds_differ_and_say_nothing_of_the_case() -> None:
    logs = {play(situation(BY_NAME["xid-48-ecc"], seed)).log for seed in range(1, 8)}
    assert len(logs) == 7 and not any(b"xid-48-ecc" in log for log in logs)


def test_what_the_product_is_silent_about_is_no_verdict() -> None:
    quiet = BY_NAME["long-save"]
    assert quiet.sort is Sort.TRAP and graded_as(quiet, 1) is None and verdict(quiet, 1) is None
    loud = verdict(BY_NAME["bad-argument"], 2)
    assert loud is not None and (loud.case, loud.seed) == ("bad-argument", 2)
    assert not usable(BY_NAME["node-drained-then-killed"]), "somebody acts from outside"


@pytest.mark.parametrize("place", [0, 1], ids=["to fit on", "to report on"])
def test_the_kept_table_comes_out_again(place: int) -> None:
    """One seed of each set: what has been changed since may move `STALE` verdicts, then it has to be made anew."""
    kept = read(ROOT)
    assert kept is not None
    row = kept["sets"][place]["by_seed"][0]
    (found,) = by_seed(of_seed(USABLE, int(row[0])))
    same = (kept["engine"], kept["catalogue"]) == (SEARCH, catalogue().version)
    most = STALE if same else 2 * STALE
    moved = [abs(one - other) for one, other in zip(found, row, strict=True)]
    assert max(moved) <= most, f"{found}, not {row}: ./run lab --calibrate 40 --write makes it anew"


def test_the_command_finds_the_same_on_every_hash_seed(tmp_path: Path) -> None:
    found = []
    for hash_seed in ("1", "2"):
        file = tmp_path / f"{hash_seed}.json"
        command = [sys.executable, "-m", "lab", "--calibrate", "2", "--faults", SHORT, "--json", str(file)]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "TZ": "America/New_York"}
        subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, timeout=120)
        found.append(json.loads(file.read_text()))
    assert found[0] == found[1]
    seeds = found[0]["sets"]
    here = by_seed(of_seed([case for case in USABLE if case.name in SHORT.split(",")], 2))
    assert seeds[1]["by_seed"] == here, "and in this process"

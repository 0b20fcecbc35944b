"""What does `diagnose` say of a few lines that somebody pasted: nothing but the error, no stamps, no scheduler?

`pasted.json` holds them, written by hand in the formats of the programs, with what a person would say of each.
Where several layers or actions are right, all are listed.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.advisor_api.diagnosing.running import run, steps, text

PASTED = json.loads(Path(__file__).with_name("pasted.json").read_text())


@pytest.mark.parametrize("case", PASTED["failures"], ids=lambda case: case["what"])
def test_a_fragment_is_judged(tmp_path: Path, case: dict[str, Any]) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(text(case["said"]))
    ran = run(path, "--json")
    assert ran.status == case["status"]
    assert ran.verdict["outcome"]["layer"] in case["layers"]
    assert ran.verdict["recommendation"]["action"] in case["actions"]
    assert [one["host"] for one in ran.verdict["implicated"]][:1] == ([case["host"]] if case["host"] else [])


@pytest.mark.parametrize("line", PASTED["healthy"])
def test_what_only_sounds_like_a_failure_is_none(tmp_path: Path, line: str) -> None:
    path = tmp_path / "job.log"
    path.write_text(text([*steps(0, 20), line, *steps(20, 40, minute=1)]))
    assert run(path).status == 0
    path.write_text(text([line]))
    assert run(path).status == 0

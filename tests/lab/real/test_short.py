"""Does the reduced run of the lab on a real Slurm put everything on, and does the product do no harm in it?"""

import json
import subprocess
from pathlib import Path

import pytest

from lab.cases.catalogue import CASES
from lab.parts.running import PYTHON, ROOT

pytestmark = [pytest.mark.slurm, pytest.mark.e2e]


def test_the_short_set_gives_a_score_card(tmp_path: Path) -> None:
    short = [case.name for case in CASES if "slurm" in case.short]
    file = tmp_path / "card.json"
    words = [PYTHON, "-m", "lab", "--on", "slurm", "--faults", "short", "--json", str(file)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=800, check=False)
    assert done.returncode == 0, done.stderr
    assert all(f" {place}/{len(short)} " in done.stderr for place in range(1, len(short) + 1)), done.stderr
    (part,) = json.loads(file.read_text())["parts"]
    assert [one["name"] for one in part["cases"]] == short
    assert {one["standing"] for one in part["cases"]} == {"counted"}
    assert [one["said"] for one in part["cases"] if one["false_actions"]] == []
    assert [one["said"] for one in part["cases"] if one["fault"] and not one["found"]] == []

"""Is a stored verdict the one that its own inputs give, in a process that has nothing else?"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.cases.catalogue import CASES
from lab.choosing import SIMULATED, choose
from lab.measuring import measure_cases
from lab.replay.asking import HASH_SEEDS, Replay, ReplayFailed, kept_in, replay
from lab.score.card import from_json
from lab.score.docs import page
from lab.virtual.run import put_on

KINDS = ("xid-48-ecc", "file-missing", "sigkill")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """What a run of the lab leaves of a few cases."""
    folder = tmp_path_factory.mktemp("run") / "lab"
    put_on(choose(CASES, KINDS, SIMULATED), folder, lambda _line: None, processes=1)
    return kept_in(folder)


def test_every_verdict_of_a_run_is_identical_on_two_hash_seeds(kept: list[Path]) -> None:
    assert {file.stem for file in kept} == set(KINDS)
    told = replay(kept)
    assert (told.identical, told.different) == (told.n, ()) and told.n >= len(KINDS)


def change(file: Path, into: Path, how: Callable[[dict[str, Any]], None]) -> list[Path]:
    """The same file with its first verdict changed."""
    first, *others = file.read_text().splitlines()
    told = json.loads(first)
    how(told)
    into.write_text("".join(f"{line}\n" for line in (json.dumps(told), *others)))
    return [into]


def surer(told: dict[str, Any]) -> None:
    told["body"]["root_cause"]["confidence"] += 0.01


def another_input(told: dict[str, Any]) -> None:
    told["body"]["inputs"]["attempt"]["user"] = "somebody"


def without_a_witness(told: dict[str, Any]) -> None:
    told["body"]["inputs"]["symptoms"].clear()


def another_order(told: dict[str, Any]) -> None:
    told["body"] = dict(reversed(told["body"].items()))


def unreadable(told: dict[str, Any]) -> None:
    del told["body"]["inputs"]["attempt"]


CHANGES: list[tuple[Callable[[dict[str, Any]], None], str]] = [
    (surer, "body.root_cause"),
    (another_input, "input_hash"),
    (without_a_witness, "signature"),
    (another_order, "order of body."),
    (unreadable, "its inputs cannot be read"),
]


@pytest.mark.parametrize(("how", "words"), CHANGES, ids=[how.__name__ for how, _ in CHANGES])
def test_what_was_changed_is_named(
    kept: list[Path], tmp_path: Path, how: Callable[[dict[str, Any]], None], words: str
) -> None:
    file = next(file for file in kept if file.stem == "xid-48-ecc")
    (line,) = replay(change(file, tmp_path / "xid-48-ecc.jsonl", how)).different
    assert line.startswith("xid-48-ecc: job 7001, attempt 0") and words in line


def test_whoever_computes_again_has_no_database() -> None:
    words = "import lab.replay.__main__, sys; print([name for name in sys.modules if name == 'django'])"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, timeout=180, check=True)
    assert done.stdout.strip() == "[]"


def test_a_file_that_is_no_verdict_ends_it_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "broken.jsonl").write_text("{}\n")
    with pytest.raises(ReplayFailed, match=r"lab\.replay ended with status 1"):
        replay([tmp_path / "broken.jsonl"])


def test_the_card_holds_it_and_a_difference_is_no_whole_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = choose(CASES, ("sigkill",), SIMULATED)
    measured = measure_cases(cases, SIMULATED, 1, tmp_path / "one", lambda _line: None)
    assert measured.complete and "verdicts identical" in measured.text
    again = from_json(measured.values)
    assert again.replay == measured.card.replay is not None
    assert "verdicts identical" in page([again])
    monkeypatch.setattr("lab.measuring.replay", lambda files: Replay(3, ("sigkill: body.rules",), HASH_SEEDS))
    other = measure_cases(cases, SIMULATED, 1, tmp_path / "two", lambda _line: None)
    assert not other.complete and "2 of 3 verdicts identical" in other.text

"""Do the pages say what the kept score cards say, and nothing more?"""

import re
from pathlib import Path

import pytest

from lab.calibrating.table import read as read_calibration
from lab.score.card import Card, score
from lab.score.causes import CAUSES
from lab.score.docs import BEGIN, END, PAGE, NoPlace, page, read, short, write
from lab.score.meta import ROOT, Meta
from tests.lab.score.building import a_fault, a_trap, result, said

META = Meta("2026-11-29", "0.1.0")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "README.md").write_text(f"# Rekindle\n\nbefore\n\n{BEGIN}\nold\n{END}\n\nafter\n")
    return tmp_path


def a_card(where: str = "simulated", date: str = "2026-11-29") -> Card:
    return score(
        [result(a_fault()), result(a_fault("missed"), said()), result(a_trap(), said())], where, Meta(date, "0.1.0")
    )


def test_a_card_is_written_into_both_pages(root: Path) -> None:
    write(a_card(), root)
    readme = (root / "README.md").read_text()
    assert readme.startswith("# Rekindle\n\nbefore\n") and readme.endswith("\nafter\n") and "old" not in readme
    assert re.search(r"^\| simulated cluster +\| 2026-11-29 +\| +0\.1\.0 +\| 50 % of 2 ", readme, re.M)
    assert "Measured on injected faults" in readme
    told = (root / PAGE).read_text()
    assert "- **missed** (hardware): not found" in told and "Cause: not yet looked into" in told
    assert read(root) == [a_card()]


def test_a_later_card_takes_the_place_of_an_older_one_of_its_kind_only(root: Path) -> None:
    write(a_card("slurm"), root)
    write(a_card("simulated", "2026-11-28"), root)
    write(a_card("simulated"), root)
    assert [one.where for one in read(root)] == ["simulated", "slurm"]
    readme = (root / "README.md").read_text()
    assert "2026-11-28" not in readme and readme.count("2026-11-29") == 2


def test_writing_twice_changes_nothing(root: Path) -> None:
    write(a_card(), root)
    once = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    write(a_card(), root)
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == once


def test_a_readme_without_a_place_is_refused_before_anything_is_written(root: Path) -> None:
    (root / "README.md").write_text("# Rekindle\n")
    with pytest.raises(NoPlace, match="no place"):
        write(a_card(), root)
    assert [path.name for path in root.iterdir()] == ["README.md"]


def test_our_own_pages_are_those_of_the_kept_cards() -> None:
    cards = read(ROOT)
    assert (ROOT / PAGE).read_text() == page(cards, read_calibration(ROOT)), (
        "write the card again: ./run lab … --write"
    )
    readme = (ROOT / "README.md").read_text()
    assert short(cards) in readme.partition(BEGIN)[2].partition(END)[0]


def test_every_cause_explains_a_miss_that_there_is() -> None:
    missed = {one.name for card in read(ROOT) for part in card.parts for one in part.grades if one.wrong}
    assert set(CAUSES) - missed == set(), "what is no longer missed needs no cause"


def test_no_kept_card_holds_a_line_of_other_peoples_text() -> None:
    for card in read(ROOT):
        for part in card.parts:
            assert all(len(one.said) < 600 and "\n" not in one.said for one in part.grades)

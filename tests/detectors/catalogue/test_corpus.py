"""How much of labelled log text is read as its label says? Real and modelled text apart, never added up."""

import pytest

from tests.detectors.catalogue.scoring import FAULTS, Score, scores, shares, table

FLOORS: dict[str, dict[str, int]] = {
    "dev.jsonl": {
        "faults found": 33,
        "healthy text left alone": 12,
        "steps and checkpoints read": 6,
        "layer of the strongest line": 28,
        "labelled line is the strongest": 27,
        "labelled line is evidence of any finding": 32,
    },
    "dev-modelled.jsonl": {
        "faults found": 33,
        "healthy text left alone": 2,
        "steps and checkpoints read": 1,
        "layer of the strongest line": 31,
        "labelled line is the strongest": 26,
        "labelled line is evidence of any finding": 31,
    },
}
"""At least so many; slightly below what was measured."""


@pytest.fixture(scope="module", params=["dev.jsonl", "dev-modelled.jsonl"])
def scored(request: pytest.FixtureRequest) -> tuple[str, list[Score]]:
    return request.param, scores(request.param)


def test_the_scores_stay(scored: tuple[str, list[Score]]) -> None:
    file, some = scored
    print("\n" + table(file, some))
    measured = {name: hits for name, hits, _ in shares(some)}
    below = {name: measured[name] for name, floor in FLOORS[file].items() if measured[name] < floor}
    assert below == {}
    assert set(FLOORS[file]) == {name for name, _, cases in shares(some) if cases}


def test_no_healthy_text_has_a_cause(scored: tuple[str, list[Score]]) -> None:
    _, some = scored
    assert [one.name for one in some if one.kind not in FAULTS and not one.detected] == []

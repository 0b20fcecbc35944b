"""Is nothing called measured that is not, and is nothing fitted that the data do not support?"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from detectors.attribution.calibration import NAME, measured_at
from lab.calibrating.measuring import verdicts_of
from lab.calibrating.reliability import (
    Verdict,
    bin_of,
    effective,
    error_of,
    error_on_others,
    fitted,
    joined,
    likeness,
    reliability,
    share_at,
)
from lab.calibrating.table import Measured, Versions, read, section, table
from lab.score.calibration import EDGES
from lab.score.grading import grade
from lab.virtual.child import ROOT
from tests.lab.score.building import a_fault, result

VERSIONS = Versions("2026-11-29", "6", "abc")


def verdicts(confidence: float, cases: int, right: int, times: int = 1) -> list[Verdict]:
    """So many cases, each put on so many times; the first `right` of them are."""
    return [
        Verdict(f"{confidence}-{number}", confidence, number < right, "supported", "cause.first", turn + 1)
        for number in range(cases)
        for turn in range(times)
    ]


def test_fewer_than_thirty_independent_verdicts_measure_nothing() -> None:
    (few,) = reliability(verdicts(0.9, 29, 28)).by_confidence
    assert (few.name, few.n, few.observed, few.low) == ("0.90–0.95", 29, None, None)
    (enough,) = reliability(verdicts(0.9, 30, 27)).by_confidence
    assert (enough.n, enough.effective, enough.observed) == (30, 30.0, 0.9)
    (alike,) = reliability(verdicts(0.9, 29, 20, times=40)).by_confidence
    assert (alike.n, alike.effective, alike.observed) == (29 * 40, 29.0, None)


def test_the_same_case_again_makes_no_bound_narrower() -> None:
    (once,) = reliability(verdicts(0.9, 30, 27)).by_confidence
    (often,) = reliability(verdicts(0.9, 30, 27, times=10)).by_confidence
    assert often.n == 300 and (often.cases, often.low, often.high) == (once.cases, once.low, once.high)


def test_verdicts_on_one_case_that_differ_as_others_do_count_each() -> None:
    mixed = [Verdict(f"c{case}", 0.9, (case + seed) % 2 == 0) for case in range(20) for seed in range(10)]
    assert likeness(mixed) == 0.0 and effective(mixed, likeness(mixed)) == 200
    half = [Verdict(f"c{case}", 0.9, case < 10 or seed == 0) for case in range(20) for seed in range(10)]
    assert 0.5 < likeness(half) < 1.0 and 20 < effective(half, likeness(half)) < 40


@pytest.mark.parametrize(
    "some",
    [[], verdicts(0.9, 20, 10), verdicts(0.9, 1, 1, times=9), verdicts(0.9, 20, 20, times=5)],
    ids=["nothing", "no case twice", "no second case", "nothing differs"],
)
def test_where_nothing_tells_how_alike_they_are_they_are_taken_for_the_same(some: list[Verdict]) -> None:
    assert likeness(some) == 1.0


def test_one_case_that_makes_most_of_a_bin_does_not_stand_for_many() -> None:
    some = [*verdicts(0.9, 1, 1, times=1000), *(Verdict(f"x{n}", 0.9, True) for n in range(29))]
    assert effective(some, 1.0) < 2


JOINED = [
    ("nothing", [], (0.0, 1.0)),
    ("too few for one bin", verdicts(0.9, 29, 20), (0.0, 1.0)),
    ("enough at the top", [*verdicts(0.97, 30, 30), *verdicts(0.4, 3, 0)], (0.0, 0.95, 1.0)),
    (
        "neighbours together",
        [*verdicts(0.97, 20, 9), *verdicts(0.92, 10, 9), *verdicts(0.3, 5, 1)],
        (0.0, 0.9, 1.0),
    ),
    ("each alone", [v for low in EDGES[:-1] for v in verdicts(low, 30, 15)], EDGES),
    ("a claim of all", verdicts(1.0, 30, 30), (0.0, 0.95, 1.0)),
]


@pytest.mark.parametrize(("some", "edges"), [one[1:] for one in JOINED], ids=[one[0] for one in JOINED])
def test_neighbours_are_joined_by_their_numbers_alone(some: list[Verdict], edges: tuple[float, ...]) -> None:
    assert joined(some) == edges
    assert joined([replace(one, right=True) for one in some]) == edges


FITS: list[tuple[str, list[Verdict], list[tuple[float, float, float | None]]]] = [
    ("nothing", [], []),
    ("many verdicts on few cases", verdicts(0.9, 29, 10, times=20), [(0.9, 0.95, None)]),
    ("claimed too high", verdicts(0.97, 40, 30), [(0.95, 1.0, 0.75)]),
    ("right more often than claimed", verdicts(0.5, 40, 40), [(0.5, 0.6, 1.0)]),
    (
        "a surer bin that is right less often is one with its neighbour",
        [*verdicts(0.9, 30, 30), *verdicts(0.97, 30, 21)],
        [(0.9, 0.95, 0.85), (0.95, 1.0, 0.85)],
    ),
    (
        "a small bin between them has no part in it",
        [*verdicts(0.8, 30, 15), *verdicts(0.86, 29, 0), *verdicts(0.97, 30, 27)],
        [(0.8, 0.85, 0.5), (0.85, 0.9, None), (0.95, 1.0, 0.9)],
    ),
]


@pytest.mark.parametrize(("some", "shares"), [one[1:] for one in FITS], ids=[one[0] for one in FITS])
def test_what_is_fitted(some: Sequence[Verdict], shares: list[tuple[float, float, float | None]]) -> None:
    found = fitted(some, EDGES)
    assert [(one.low, one.high, one.share) for one in found] == shares
    measured = [one for one in found if one.share is not None]
    assert all((one.share or 0) <= (other.share or 0) for one, other in pairwise(measured))
    for one in measured:
        assert one.at_least is not None and one.at_most is not None and one.share is not None
        assert one.at_least <= one.share <= one.at_most
    assert share_at(0.1, found) is None


def test_neighbours_that_became_one_have_the_bounds_of_both() -> None:
    apart = fitted(verdicts(0.9, 30, 25), EDGES)[0]
    both = fitted([*verdicts(0.9, 30, 30), *verdicts(0.97, 30, 20)], EDGES)[0]
    assert both.effective == 30.0 and both.at_least is not None and apart.at_least is not None
    assert both.share == apart.share and both.at_least > apart.at_least


def test_the_error_of_a_fit_is_that_of_its_shares() -> None:
    fits = fitted(verdicts(0.97, 40, 30), EDGES)
    assert error_of(fits, verdicts(0.97, 40, 20)) == 0.25
    assert error_of(fits, verdicts(0.5, 40, 20)) is None  # nothing is said about those
    some = [replace(one, case=f"case {n}") for n, one in enumerate(verdicts(0.97, 200, 150))]
    assert error_on_others(some, some, EDGES) is not None
    assert error_on_others(some[:20], some, EDGES) is None


def test_the_table_says_what_it_is_of() -> None:
    few = table(VERSIONS, [Measured("Set one", tuple(verdicts(0.9, 29, 29))), Measured("Two", ())])
    assert few["name"].startswith("2026-11-29-") and few["bins"][0]["share"] is None
    words = "\n".join(section(few))
    assert "not measured" in words and "catalogue `abc`" in words
    many = table(VERSIONS, [Measured("Set one", tuple(verdicts(0.97, 40, 30))), Measured("Two", ())])
    assert many["name"] != few["name"] and many["bins"][0]["share"] == 0.75
    assert many["sets"][0]["by_seed"] == [[1, 40, 30, 38.8]]


def test_the_table_that_is_kept_is_the_one_that_verdicts_name() -> None:
    kept = read(ROOT)
    assert kept is not None and kept["name"] == NAME
    for one in kept["sets"]:
        assert all((row["observed"] is None) == (row["effective"] < 30) for row in one["by_confidence"])
    for row in kept["bins"]:
        told = measured_at((row["low"] + row["high"]) / 2)
        assert (told["share"], told["n"], told["table"]) == (row["share"], row["n"], NAME)
        assert (row["share"] is None) == (row["effective"] < 30)


def test_no_claim_on_which_policy_acts_is_known_to_be_too_high() -> None:
    """What is claimed stays what the rules say: so where they claim too much, a rule has to be changed."""
    kept = read(ROOT)
    assert kept is not None
    report = kept["sets"][1]["by_confidence"]
    acted_on = [row for row in report if float(row["name"].split("–")[0]) >= 0.8 and row["observed"] is not None]
    assert acted_on and all(row["high"] >= float(row["name"].split("–")[0]) for row in acted_on)


def test_every_confidence_has_a_place() -> None:
    for confidence in (0.0, 0.3, 0.4999, 0.5, 0.8, 0.85, 0.99, 1.0):
        told = measured_at(confidence)
        assert set(told) == {"table", "share", "at_least", "at_most", "n", "cases", "effective_n"}
    assert measured_at(0.9, [])["n"] == 0 and measured_at(0.9, [])["share"] is None
    assert bin_of(1.0, (0.0, 0.9, 1.0)) == "0.90–1.00"


def test_a_grade_is_a_verdict_of_its_case() -> None:
    graded = grade(result(a_fault()), "simulated")
    varied = replace(graded, evidence_status="supported", rule="cause.first")
    (one,) = verdicts_of([varied])
    assert (one.case, one.right, one.status, one.seed) == (graded.name, True, "supported", 0)
    assert verdicts_of([replace(graded, confidence=None)]) == ()

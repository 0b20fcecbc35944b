"""Is nothing called measured that is not, and is nothing fitted that the data do not support?"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from detectors.attribution.calibration import FITTED, NAME, calibrated
from lab.calibrating.measuring import verdicts_of
from lab.calibrating.reliability import Verdict, bin_of, fitted, reliability
from lab.calibrating.table import Measured, read, section, table
from lab.calibrating.varying import case_of, vary
from lab.cases.case import Sort
from lab.cases.catalogue import CASES
from lab.score.grading import grade
from lab.virtual.child import ROOT
from tests.lab.score.building import a_fault, result


def verdicts(confidence: float, cases: int, right: int, times: int = 1) -> list[Verdict]:
    """So many cases, each put on so many times; the first `right` of them are."""
    return [
        Verdict(f"{confidence}-{number}", confidence, number < right, "supported", "cause.first")
        for number in range(cases)
        for _ in range(times)
    ]


def test_fewer_than_thirty_verdicts_measure_nothing() -> None:
    (few,) = reliability(verdicts(0.9, 29, 29)).by_confidence
    assert (few.name, few.n, few.observed, few.low) == ("0.90–0.95", 29, None, None)
    (enough,) = reliability(verdicts(0.9, 30, 27)).by_confidence
    assert (enough.n, enough.observed) == (30, 0.9)


def test_the_same_case_again_makes_no_bound_narrower() -> None:
    (once,) = reliability(verdicts(0.9, 30, 27)).by_confidence
    (often,) = reliability(verdicts(0.9, 30, 27, times=10)).by_confidence
    assert often.n == 300 and (often.cases, often.low, often.high) == (once.cases, once.low, once.high)


FITS: list[tuple[str, list[Verdict], list[tuple[float, float, float]]]] = [
    ("nothing", [], []),
    ("many verdicts on few cases", verdicts(0.9, 29, 10, times=20), []),
    ("claimed too high", verdicts(0.97, 40, 30), [(0.95, 1.0, 0.75)]),
    ("right more often than claimed is kept, and no claim rises", verdicts(0.5, 40, 40), [(0.5, 0.6, 1.0)]),
    (
        "a surer bin that is right less often is one with its neighbour",
        [*verdicts(0.9, 30, 30), *verdicts(0.97, 30, 21)],
        [(0.9, 0.95, 0.85), (0.95, 1.0, 0.85)],
    ),
    (
        "a small bin between them has no part in it",
        [*verdicts(0.8, 30, 15), *verdicts(0.86, 29, 0), *verdicts(0.97, 30, 27)],
        [(0.8, 0.85, 0.5), (0.95, 1.0, 0.9)],
    ),
]


@pytest.mark.parametrize(("some", "pairs"), [one[1:] for one in FITS], ids=[one[0] for one in FITS])
def test_what_is_fitted(some: Sequence[Verdict], pairs: list[tuple[float, float, float]]) -> None:
    found = fitted(some)
    assert list(found) == pairs
    assert all(one[2] <= other[2] for one, other in pairwise(found))
    for confidence in (0.0, 0.3, 0.5, 0.79, 0.8, 0.85, 0.9, 0.96, 0.99):
        assert calibrated(confidence, found) <= confidence
        assert calibrated(confidence, found) == confidence or bin_of(confidence) in {
            bin_of(low) for low, *_ in found
        }


def test_the_table_says_what_it_is_of() -> None:
    few = table("2026-11-29", [Measured("Set one", tuple(verdicts(0.9, 29, 29))), Measured("Two", ())])
    assert few["name"] == "measured-2026-11-29" and few["fitted"] == []
    words = "\n".join(section(few))
    assert "**Not fitted**" in words and "the fullest 29" in words and "not measured" in words
    many = table("2026-11-29", [Measured("Set one", tuple(verdicts(0.97, 40, 30)))])
    assert many["name"] == "fitted-2026-11-29" and "applied to every verdict" in "\n".join(section(many))


def test_the_table_that_is_kept_is_the_one_that_verdicts_name() -> None:
    kept = read(ROOT)
    assert kept is not None
    assert (kept["name"], tuple(map(tuple, kept["fitted"]))) == (NAME, FITTED)
    assert all(row["observed"] is None for one in kept["sets"] for row in one["by_confidence"] if row["n"] < 30)


def test_a_grade_is_a_verdict_of_its_case() -> None:
    graded = grade(result(a_fault()), "simulated")
    varied = replace(graded, name=f"{graded.name}~3", evidence_status="supported", rule="cause.first")
    (one,) = verdicts_of([varied])
    assert (one.case, one.right, one.status) == (graded.name, True, "supported")
    assert verdicts_of([replace(graded, confidence=None)]) == ()


FAULTS = [case for case in CASES if case.simulated and case.sort is Sort.FAULT]


@pytest.mark.parametrize("case", FAULTS, ids=[case.name for case in FAULTS])
def test_a_seed_changes_how_a_case_is_put_on_and_not_its_truth(case) -> None:  # type: ignore[no-untyped-def]
    first, again, other = vary(case, 1), vary(case, 1), vary(case, 2)
    assert first == again and first.simulated != other.simulated
    assert {case_of(one.name) for one in (first, other)} == {case.name}
    assert first.truth == other.truth == case.truth
    assert vary(case, 0).simulated == case.simulated
    for (_, before), (_, after) in zip(case.simulated.jobs, first.simulated.jobs, strict=True):
        assert [fault.kind for fault in before.faults] == [fault.kind for fault in after.faults]
        assert all(one.node < after.nodes for one in after.faults if isinstance(one.node, int))

"""Are intervals, percentiles, calibration and matrices what the books say?"""

import pytest

from lab.score.calibration import ENOUGH, calibrate
from lab.score.confusion import confusion
from lab.score.percentiles import percentile, spread
from lab.score.wilson import Rate, Share, at_most, poisson, wilson


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [
        # Newcombe 1998, table I, method 3 (score, no continuity correction).
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (29, 29, 1 - 0.1170, 1.0),
    ],
)
def test_wilson_against_published_values(hits: int, n: int, low: float, high: float) -> None:
    assert wilson(hits, n) == pytest.approx((low, high), abs=6e-5)


@pytest.mark.parametrize(("hits", "n"), [(1, 0), (-1, 5), (6, 5)])
def test_no_share_has_no_interval(hits: int, n: int) -> None:
    with pytest.raises(ValueError, match="no share"):
        wilson(hits, n)


@pytest.mark.parametrize(
    ("count", "low", "high"),
    [
        # Garwood 1936; the usual table of exact Poisson limits.
        (0, 0.0, 3.689),
        (1, 0.0253, 5.572),
        (2, 0.242, 7.225),
        (5, 1.623, 11.668),
        (10, 4.795, 18.390),
        (100, 81.36, 121.63),
    ],
)
def test_poisson_against_published_values(count: int, low: float, high: float) -> None:
    assert poisson(count) == pytest.approx((low, high), rel=5e-4, abs=5e-4)


def test_the_ends_of_a_poisson_interval_leave_their_tails() -> None:
    low, high = poisson(7)
    assert at_most(7, high) == pytest.approx(0.025)
    assert 1 - at_most(6, low) == pytest.approx(0.025)


def test_a_rate_is_per_thousand_hours_and_none_without_hours() -> None:
    rate = Rate(0, 100.0)
    assert rate.per_thousand == 0
    assert rate.interval == pytest.approx((0.0, 36.89), abs=0.01)
    assert Rate(2, 500.0).per_thousand == 4
    assert (Rate(3, 0.0).per_thousand, Rate(3, 0.0).interval) == (None, None)
    assert (Share(0, 0).share, Share(0, 0).interval) == (None, None)


@pytest.mark.parametrize(
    ("values", "percent", "right"),
    [([7.0], 95, 7.0), ([1.0, 2.0, 3.0, 4.0], 50, 2.0), (list(range(1, 101)), 95, 95), ([3.0, 1.0], 95, 3.0)],
    ids=["one", "lower middle", "of a hundred", "unsorted"],
)
def test_percentiles_are_measured_values(values: list[float], percent: float, right: float) -> None:
    assert percentile(values, percent) == right


def test_no_value_has_no_percentile() -> None:
    with pytest.raises(ValueError, match="No value"):
        spread([])


def test_calibration_error_is_the_weighted_distance() -> None:
    said = [(0.9, True)] * 15 + [(0.9, False)] * 5 + [(0.55, True)] * 10
    told = calibrate(said)
    assert [(one.low, one.n, one.right) for one in told.bins] == [(0.5, 10, 10), (0.9, 20, 15)]
    assert told.error == pytest.approx((20 * 0.15 + 10 * 0.45) / 30)


def test_too_few_verdicts_are_not_measured_and_their_bins_are_shown() -> None:
    told = calibrate([(1.0, True)] * (ENOUGH - 1))
    assert told.error is None
    assert [(one.n, one.high) for one in told.bins] == [(ENOUGH - 1, 1.0)]
    assert calibrate([]).bins == ()


def test_confusion_counts_pairs_with_nothing_last() -> None:
    told = confusion([("hang", "crash"), ("hang", "hang"), ("none", "hang"), ("crash", "none")])
    assert told.rows == ("crash", "hang", "none")
    assert told.columns == ("crash", "hang", "none")
    assert told.counts == ((0, 0, 1), (1, 1, 0), (0, 1, 0))

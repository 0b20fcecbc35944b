"""Does each beat keep its rhythm?"""

import pytest

from lab.virtual.beats import BEATS, Beat, Controlling, Guarding, Observing, Reading, Stage
from lab.virtual.clock import VirtualClock


def beat(kind: type[Beat]) -> Beat:
    return kind(Stage(VirtualClock(0.0)))


@pytest.mark.parametrize(
    ("kind", "now", "due", "first"),
    [
        (Observing, 0.0, 0.0, 0.5),  # never the same moment twice
        (Observing, 0.2, 0.0, 0.5),
        (Observing, 0.5, 17.3, 17.5),
        (Reading, 3.0, -5.0, 4.0),  # long due
        (Reading, 3.0, 4.0, 4.0),
        (Reading, 3.0, 4.0000001, 4.0),  # a float is no later moment
        (Reading, 3.0, 4.01, 5.0),
        (Controlling, 0.0, 0.0, 0.5),  # half a poll behind the beat
        (Controlling, 0.5, 0.0, 1.5),
        (Guarding, 0.5, 0.0, 5.5),
    ],
)
def test_the_next_moment_is_on_the_grid(kind: type[Beat], now: float, due: float, first: float) -> None:
    assert beat(kind).first_after(now, due) == pytest.approx(first)
    assert beat(kind).is_at(first)


def test_no_rhythm_is_finer_than_that_of_the_product() -> None:
    assert {kind.__name__: kind.every for kind in BEATS} == {
        "SettingRight": 5.0,
        "Observing": 0.5,
        "Reading": 1.0,
        "Judging": 1.0,
        "Deciding": 1.0,
        "Following": 1.0,
        "Controlling": 1.0,
        "Guarding": 5.0,
    }


@pytest.mark.parametrize("moment", [0.25, 0.75, 1.2])
def test_between_two_moments_nothing_happens(moment: float) -> None:
    assert not any(beat(kind).is_at(moment) for kind in BEATS)

"""Do attempts, marks and ticks stand where they happened?"""

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.mark_kind import MarkKind
from console.sparkline import HEIGHT, sparkline
from console.timeline import (
    MARK_WIDTH,
    MARKS_PER_LANE,
    TICKS_AT_MOST,
    Happening,
    Run,
    lay_out,
    spread,
)

START = datetime(2026, 11, 29, 3, 0, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def run(index: int, start: float, end: float | None, **more: object) -> Run:
    return Run(index, f"Attempt {index}", "success", None, at(start), None if end is None else at(end), **more)


def happening(minutes: float, index: int = 0, kind: MarkKind = MarkKind.SYMPTOM) -> Happening:
    return Happening(index, at(minutes), kind, "something", "event-1")


def test_without_times_there_is_no_picture() -> None:
    assert lay_out([], [], START) is None
    assert lay_out([Run(0, "", "info", None, None, None)], [], START) is None


def test_two_attempts_share_one_axis() -> None:
    picture = lay_out([run(0, 0, 50), run(1, 50, 100)], [], at(500))
    first, second = (lane.bars[0] for lane in picture.lanes)
    assert first.x + first.width == pytest.approx(second.x, abs=0.01)
    assert first.width == pytest.approx(second.width, abs=0.01)
    assert picture.end < at(110), "an ended job does not grow with the clock"


def test_a_running_attempt_reaches_to_now() -> None:
    picture = lay_out([run(0, 0, None)], [], at(10))
    bar = picture.lanes[0].bars[0]
    assert bar.x + bar.width == pytest.approx(100 * (1.02 / 1.04), abs=0.1)


def test_waiting_comes_before_running() -> None:
    waiting = Run(0, "", "success", at(0), at(4), at(10))
    first, second = lay_out([waiting], [], at(10)).lanes[0].bars
    assert first.waiting
    assert first.x + first.width == pytest.approx(second.x, abs=0.01)


def test_an_attempt_that_never_started_only_waits() -> None:
    picture = lay_out([Run(0, "", "secondary", at(0), None, None)], [], at(5))
    assert [bar.waiting for bar in picture.lanes[0].bars] == [True]


def test_marks_stand_on_their_own_lane_and_point_to_their_moment() -> None:
    picture = lay_out([run(0, 0, 50), run(1, 50, 100)], [happening(25), happening(75, index=1)], at(100))
    assert [len(lane.marks) for lane in picture.lanes] == [1, 1]
    mark = picture.lanes[0].marks[0]
    assert mark.x == mark.true_x == pytest.approx(25, abs=1)


def test_marks_of_one_kind_at_one_moment_are_one() -> None:
    marks = lay_out([run(0, 0, 100)], [happening(50 + i / 60) for i in range(9)], at(100)).lanes[0].marks
    assert len(marks) == 1
    assert marks[0].words == "something (and 8 more)"


def test_marks_of_the_same_second_stand_side_by_side_in_order() -> None:
    kinds = [MarkKind.SYMPTOM, MarkKind.VERDICT, MarkKind.ADVICE, MarkKind.ACTION, MarkKind.OUTCOME]
    happenings = [happening(50 + i / 60, kind=kind) for i, kind in enumerate(kinds)]
    marks = lay_out([run(0, 0, 100)], happenings, at(100)).lanes[0].marks
    assert [mark.first.kind for mark in marks] == kinds
    assert all(b.x - a.x >= MARK_WIDTH - 0.01 for a, b in itertools.pairwise(marks))
    assert marks[-1].true_x - marks[0].true_x < 0.1


def test_too_many_marks_are_left_to_the_list() -> None:
    lane = lay_out([run(0, 0, 100)], [happening(2 * i) for i in range(50)], at(100)).lanes[0]
    assert len(lane.marks) == MARKS_PER_LANE
    assert lane.left_out == 50 - MARKS_PER_LANE


@given(st.lists(st.floats(0, 100), max_size=MARKS_PER_LANE).map(sorted))
def test_spread_marks_keep_order_distance_and_the_frame(places: list[float]) -> None:
    spread_out = spread(places)
    assert all(b - a >= MARK_WIDTH - 0.01 for a, b in itertools.pairwise(spread_out))
    assert all(0 <= place <= 100 for place in spread_out)


@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)).map(lambda d: d.replace(tzinfo=UTC)),
    st.floats(0, 400 * 86400),
)
def test_ticks_are_few_and_within_the_frame(start: datetime, seconds: float) -> None:
    ended = Run(0, "", "success", None, start, start + timedelta(seconds=seconds))
    picture = lay_out([ended], [], start)
    assert 1 <= len(picture.ticks) <= TICKS_AT_MOST + 1
    assert all(0 <= tick.x <= 100 for tick in picture.ticks)
    assert len({tick.x for tick in picture.ticks}) == len(picture.ticks)


def test_a_new_day_is_named_on_the_axis() -> None:
    night = Run(0, "", "success", None, START - timedelta(hours=6), START)
    assert any(tick.label.startswith("11-29 ") for tick in lay_out([night], [], START).ticks)


def test_a_checkpoint_read_after_the_end_stands_at_the_end() -> None:
    late = run(0, 0, 50, checkpoints=(at(20), at(55)))
    lane = lay_out([late], [happening(100)], at(100)).lanes[0]
    assert lane.checkpoints[1] == pytest.approx(lane.bars[0].x + lane.bars[0].width, abs=0.01)


@pytest.mark.parametrize("values", [[], [1.0]])
def test_one_value_is_no_curve(values: list[float]) -> None:
    assert sparkline(values) is None


@pytest.mark.parametrize("values", [[0.0, 0.0], [1, 2, 3], [2.0] * 50 + [900.0], [-1.0, 5.0]])
def test_the_curve_stays_in_its_box(values: list[float]) -> None:
    curve = sparkline(values, baseline=2.0)
    ys = [float(pair.partition(",")[2]) for pair in curve.points.split()]
    assert all(0 <= y <= HEIGHT for y in ys)
    assert 0 <= curve.baseline_y <= HEIGHT
    assert curve.latest == values[-1]


def test_one_slow_step_does_not_flatten_the_others() -> None:
    curve = sparkline([2.0, 2.0, 2.0, 2.0, 500.0])
    assert float(curve.points.split()[0].partition(",")[2]) < HEIGHT * 0.8

"""Do attempts, marks and ticks stand where they happened?"""

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.job_window import Window, around, read_window
from console.mark_kind import MarkKind
from console.sparkline import HEIGHT, sparkline
from console.time_axis import FOLDS_WIDTH, TICKS_AT_MOST, axis_of
from console.timeline import (
    AXIS_HEIGHT,
    LANE_HEIGHT,
    LANES_APART,
    MARK_WIDTH,
    MARKS_PER_LANE,
    NARROW_HEIGHT,
    WIDE_AMONG_MANY,
    Happening,
    Run,
    Saved,
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


def test_too_many_marks_become_fewer_and_none_is_lost() -> None:
    kinds = [MarkKind.SYMPTOM, MarkKind.VERDICT]
    many = [happening(i / 50, kind=kinds[i % 2]) for i in range(5000)]
    lane = lay_out([run(0, 0, 100)], many, at(100)).lanes[0]
    assert 10 <= len(lane.marks) <= MARKS_PER_LANE
    assert sum(len(mark.happenings) for mark in lane.marks) == 5000
    assert {mark.kind for mark in lane.marks} == {MarkKind.SYMPTOM}, "of several kinds the one that weighs most"


def test_of_many_attempts_the_newest_have_wide_lanes() -> None:
    runs = [run(i, i, i + 1) for i in range(LANES_APART)]
    picture = lay_out(runs, [happening(i + 0.5, index=i) for i in range(LANES_APART)], at(LANES_APART))
    heights = [lane.height for lane in picture.lanes]
    assert heights == [LANE_HEIGHT] * WIDE_AMONG_MANY + [NARROW_HEIGHT] * (LANES_APART - WIDE_AMONG_MANY)
    assert [lane.run.index for lane in picture.lanes] == list(range(LANES_APART - 1, -1, -1)), "the newest on top"
    assert [lane.y for lane in picture.lanes] == list(itertools.accumulate(heights, initial=AXIS_HEIGHT))[:-1]
    assert picture.height == AXIS_HEIGHT + sum(heights)
    assert all(len(lane.marks) == 1 for lane in picture.lanes)


@pytest.mark.parametrize(("number", "lanes"), [(LANES_APART + 1, LANES_APART + 1), (200, LANES_APART + 1)])
def test_the_attempts_before_share_a_lane_that_leads_to_theirs(number: int, lanes: int) -> None:
    runs = [run(i, i, i + 1) for i in range(number)]
    picture = lay_out(runs, [happening(i + 0.5, index=i) for i in range(number)], at(number))
    assert len(picture.lanes) == lanes
    last = picture.lanes[-1]
    assert picture.height == last.y + last.height and last.narrow
    shared = number - LANES_APART
    assert len([bar for bar in last.bars if not bar.waiting]) == shared, "each has its bar"
    assert sum(len(mark.happenings) for lane in picture.lanes for mark in lane.marks) == number, "and its marks"
    if shared == 1:
        assert (last.name, last.earlier) == ("Attempt 0", ())
    else:
        assert (last.name, last.title) == (f"Attempts 0 to {shared - 1}", f"{shared} attempts")
        within = lay_out(runs[:shared], [], at(number), last.window)
        assert within and within.lanes[-1].name.endswith(f" to {shared - LANES_APART - 1}")
        assert all(last.window.meets(*(one.begun, one.ended_at)) for one in runs[:shared])


def test_a_change_of_state_stands_below_the_bar_and_takes_no_place_of_a_mark() -> None:
    lane = lay_out([run(0, 0, 50)], [happening(0, kind=MarkKind.STATE), happening(50)], at(50)).lanes[0]
    assert [mark.kind for mark in lane.turns] == [MarkKind.STATE]
    assert [mark.kind for mark in lane.marks] == [MarkKind.SYMPTOM]


def test_a_long_wait_between_two_attempts_is_folded() -> None:
    picture = lay_out([run(0, 0, 60), run(1, 3000, 3060)], [happening(60)], at(3060))
    (fold,) = picture.folds
    assert fold.length == timedelta(minutes=2940)
    assert 2 < fold.width < 4
    first, second = (lane.bars[0] for lane in picture.lanes)
    assert first.width == pytest.approx(second.width, abs=0.01)
    assert first.width > 40, "what ran fills the picture"
    assert first.x + first.width == pytest.approx(fold.x, abs=0.01)
    assert fold.x + fold.width == pytest.approx(second.x, abs=0.01)


def test_a_mark_in_a_long_wait_is_in_no_fold() -> None:
    picture = lay_out([run(0, 0, 60), run(1, 3000, 3060)], [happening(1500)], at(3060))
    assert len(picture.folds) == 2
    (mark,) = picture.lanes[0].marks
    assert picture.folds[0].x + picture.folds[0].width == pytest.approx(mark.true_x, abs=0.01)


def test_a_short_wait_is_not_folded() -> None:
    assert lay_out([run(0, 0, 60), run(1, 61, 120)], [], at(120)).folds == ()


def test_a_hundred_long_waits_leave_most_of_the_axis_to_what_ran() -> None:
    picture = lay_out([run(i, 1000 * i, 1000 * i + 1) for i in range(100)], [], at(100_000))
    assert len(picture.folds) == 99
    assert sum(fold.width for fold in picture.folds) <= 100 * FOLDS_WIDTH + 0.1


@given(
    st.lists(st.tuples(st.floats(0, 1e5), st.floats(0, 500)), min_size=1, max_size=30),
    st.floats(0, 1e5),
    st.floats(0, 1e5),
)
def test_the_axis_keeps_the_order_of_time(stretches: list[tuple[float, float]], one: float, other: float) -> None:
    axis = axis_of([(at(begun), at(begun + long)) for begun, long in stretches])
    early, late = sorted((at(one), at(other)))
    assert 0 <= axis.x(early) <= axis.x(late) <= 100


def test_a_window_shows_its_attempts_and_their_marks_alone() -> None:
    runs = [run(i, 10 * i, 10 * i + 9) for i in range(30)]
    marks = [happening(10 * i + 5, index=i) for i in range(30)]
    picture = lay_out(runs, marks, at(300), Window(at(100), at(128)))
    assert [lane.run.index for lane in picture.lanes] == [10, 11, 12]
    assert picture.elsewhere == 27
    assert [len(lane.marks) for lane in picture.lanes] == [1, 1, 1]
    assert (picture.start, picture.end) == (at(100), at(128))


def test_a_window_without_end_goes_on_with_the_clock() -> None:
    runs = [run(0, 0, 50), run(1, 60, None)]
    assert lay_out(runs, [], at(100), Window(at(60))).end > lay_out(runs, [], at(90), Window(at(60))).end


def test_a_window_with_nothing_in_it_is_still_a_picture() -> None:
    picture = lay_out([run(0, 0, 50)], [], at(100), Window(at(60), at(70)))
    assert picture.lanes == ()
    assert lay_out([], [], at(100), Window(at(60))) is None


@pytest.mark.parametrize(
    ("asked", "window"),
    [
        ({}, Window()),
        ({"from": "2026-11-29T03:00:00Z"}, Window(START)),
        ({"from": "2026-11-29T03:00:00Z", "to": "2026-11-29T03:10:00Z"}, Window(START, at(10))),
        ({"from": "2026-11-29T04:00:00 01:00"}, Window(START)),
        ({"from": "2026-11-29T03:10:00Z", "to": "2026-11-29T03:00:00Z"}, Window()),
        ({"from": "9999-12-31T23:59:59-23:59", "to": "0001-01-01T00:00:00+23:59"}, Window()),
        ({"from": "yesterday", "to": "' OR 1=1"}, Window()),
        ({"from": "2" * 5000}, Window()),
    ],
)
def test_a_window_is_read_from_an_address_or_left_out(asked: dict[str, str], window: Window) -> None:
    assert read_window(asked) == window


def test_a_window_is_the_same_after_its_own_address() -> None:
    window = around(at(1.2345), at(7.77777))
    assert window.query == "?from=2026-11-29T03:01:14Z&to=2026-11-29T03:07:47Z"
    pairs = (pair.split("=") for pair in window.query[1:].split("&"))
    assert read_window({name: text for name, text in pairs}) == window


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
    late = run(0, 0, 50, checkpoints=(Saved(at(20)), Saved(at(55))))
    lane = lay_out([late], [happening(100)], at(100)).lanes[0]
    assert lane.checkpoints[1][0] == pytest.approx(lane.bars[0].x + lane.bars[0].width, abs=0.01)


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

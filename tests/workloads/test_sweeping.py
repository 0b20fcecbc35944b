"""Are series thinned when they are due, a bounded part a tick, and by two workers at once?"""

from datetime import datetime, timedelta

import pytest

from tests.workloads.scripted import after
from workloads import sweeping
from workloads.models import Attempt
from workloads.progress import CheckpointSample, ProgressSample, ProgressUpdate, store_progress
from workloads.progress_models import ProgressPoint
from workloads.sweeping import thin_due

HOURS = timedelta(hours=1)


def write(attempt: Attempt, count: int, now: datetime) -> None:
    """One point a second from the start on."""
    samples = [ProgressSample(after(n), n, 1.0, 2.0, 8000.0, 400.0) for n in range(count)]
    store_progress(attempt, ProgressUpdate(), samples, now)


def stored(attempt: Attempt) -> list[int]:
    points = ProgressPoint.objects.filter(attempt=attempt).order_by("at")
    return list(points.values_list("step", flat=True))


def test_a_series_is_thinned_an_hour_after_its_first_point(attempt: Attempt) -> None:
    write(attempt, 7200, after(7200))
    assert thin_due(after(7200) + HOURS - timedelta(seconds=1)) == 0
    assert thin_due(after(7200) + HOURS) > 6900
    steps = stored(attempt)
    assert len(steps) < 130 and (steps[0], steps[-1]) == (0, 7199)
    assert Attempt.objects.get(pk=attempt.pk).thin_due_at == after(7200) + 2 * HOURS
    assert thin_due(after(7200) + HOURS) == 0


def test_the_last_hour_is_whole(attempt: Attempt) -> None:
    write(attempt, 7200, after(0))
    thin_due(after(7200))
    assert stored(attempt)[-3600:] == list(range(3600, 7200))


def test_a_tick_without_anything_due_is_one_query(attempt: Attempt, django_assert_num_queries: object) -> None:
    with django_assert_num_queries(1):  # type: ignore[operator]
        thin_due(after(0))


def test_a_tick_is_a_few_queries_however_many_are_due(
    attempt: Attempt, django_assert_max_num_queries: object
) -> None:
    write(attempt, 9000, after(0))
    with django_assert_max_num_queries(6):  # type: ignore[operator]
        assert thin_due(after(9000) + HOURS) > 8000


def test_what_is_not_read_to_its_end_stays_due(attempt: Attempt, monkeypatch: pytest.MonkeyPatch) -> None:
    write(attempt, 3000, after(0))
    now = after(3000) + HOURS
    monkeypatch.setattr(sweeping, "ROWS", 1000)
    deleted = [thin_due(now) for _ in range(4)]
    assert all(0 < count < 1000 for count in deleted)
    assert len(stored(attempt)) < 70
    assert thin_due(now) == 0


def test_an_ended_attempt_is_left_alone_in_the_end(attempt: Attempt) -> None:
    write(attempt, 600, after(600))
    Attempt.objects.filter(pk=attempt.pk).update(state="failed", ended_at=after(600))
    now = after(600) + HOURS
    for _ in range(10):
        thin_due(now)
        due = Attempt.objects.get(pk=attempt.pk).thin_due_at
        if due is None:
            break
        now = due
    assert due is None
    assert now == after(600) + timedelta(days=7, hours=1)
    assert len(stored(attempt)) <= 3


def test_two_at_once_delete_the_same(attempt: Attempt, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one comes between the reading and the deletion."""
    write(attempt, 600, after(0))
    now, read = after(600) + HOURS, sweeping._old_points

    def other_first(attempts: list[int], at: datetime) -> list[sweeping.Row]:
        rows = read(attempts, at)
        monkeypatch.setattr(sweeping, "_old_points", read)
        assert thin_due(at) > 500
        return rows

    monkeypatch.setattr(sweeping, "_old_points", other_first)
    thin_due(now)
    steps = stored(attempt)
    assert len(steps) <= 12 and (steps[0], steps[-1]) == (0, 599)


def test_values_on_several_lines_are_one_point(attempt: Attempt) -> None:
    samples = [
        ProgressSample(after(1), 7, 0.5),
        ProgressSample(after(1), 7, None, 2.5, 8000.0, float("inf")),
        ProgressSample(after(1), 8, 9.0, 9.0),
        ProgressSample(after(3), 8, None, None, nan=True),
    ]
    store_progress(attempt, ProgressUpdate(), samples, after(9))
    first, second = ProgressPoint.objects.order_by("at")
    assert (first.step, first.step_seconds, first.loss) == (7, 0.5, 2.5)
    assert (first.tokens_per_second, first.tflop_per_second, first.not_a_number) == (8000.0, None, False)
    assert (second.step, second.loss, second.not_a_number) == (8, None, True)


def test_a_checkpoint_is_kept_once_with_its_place(attempt: Attempt) -> None:
    saved = CheckpointSample(after(5), 10, "saved", "/ckpt/\0step10")
    for _ in range(2):  # every rank says it, some in the next turn
        store_progress(attempt, ProgressUpdate(checkpoints=(saved, saved)), [], after(9))
    (row,) = attempt.checkpoints.all()
    assert (row.step, row.deed, row.place) == (10, "saved", "/ckpt/\N{REPLACEMENT CHARACTER}step10")


def test_checkpoints_of_an_attempt_are_bounded(attempt: Attempt) -> None:
    for turn in range(60):
        told = tuple(CheckpointSample(after(turn), 100 * turn + n, "saved", "x" * 9000) for n in range(100))
        store_progress(attempt, ProgressUpdate(checkpoints=told), [], after(turn))
    steps = [row.step for row in attempt.checkpoints.all()]
    assert (len(steps), steps[-1]) == (500, 5999)

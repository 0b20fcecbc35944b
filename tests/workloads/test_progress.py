"""How far an attempt came: what is stored of it, and what is not."""

from datetime import timedelta

import pytest

from audit.event_type import EventType
from audit.models import AuditEvent
from tests.workloads.scripted import ScriptedScheduler, a_row, after, failed
from workloads.models import Attempt
from workloads.observing import observe
from workloads.progress import ProgressSample, ProgressUpdate, store_progress
from workloads.progress_models import ProgressPoint


def steps(attempt: Attempt) -> list[int]:
    return list(ProgressPoint.objects.filter(attempt=attempt).order_by("at").values_list("step", flat=True))


def test_progress_points_and_checkpoints(attempt: Attempt) -> None:
    update = ProgressUpdate(
        first_step=1,
        last_step=20,
        last_step_at=after(40),
        last_checkpoint_step=20,
        loaded_checkpoint_step=0,
        baseline_step_seconds=0.5,
        phase="training",
        checkpoints_saved=(10, 20),
        checkpoints_loaded=(0,),
    )
    points = [ProgressSample(after(20), 10, 0.5, 2.5), ProgressSample(after(40), 20)]
    store_progress(attempt, update, points, after(41))
    stored = Attempt.objects.get(pk=attempt.pk)
    for each in (attempt, stored):
        assert (each.first_step, each.last_step, each.last_step_at) == (1, 20, after(40))
        assert (each.last_checkpoint_step, each.loaded_checkpoint_step) == (20, 0)
        assert (each.baseline_step_seconds, each.phase, each.changed_at) == (0.5, "training", after(41))
    first, second = ProgressPoint.objects.order_by("at")
    assert (first.step, first.step_seconds, first.loss) == (10, 0.5, 2.5)
    assert (second.step, second.step_seconds, second.loss) == (20, None, None)
    told = AuditEvent.objects.exclude(type=EventType.ATTEMPT_SEEN)
    assert [(event.type, event.sentence, event.payload) for event in told] == [
        ("checkpoint_saved", "Attempt 12345-0 saved the checkpoint of step 10.", {"step": 10}),
        ("checkpoint_saved", "Attempt 12345-0 saved the checkpoint of step 20.", {"step": 20}),
        ("checkpoint_loaded", "Attempt 12345-0 loaded the checkpoint of step 0.", {"step": 0}),
    ]


def test_nothing_new_writes_nothing(attempt: Attempt, django_assert_num_queries: object) -> None:
    update = ProgressUpdate(first_step=1, last_step=2, phase="training")
    store_progress(attempt, update, [], after(41))
    with django_assert_num_queries(0):  # type: ignore[operator]
        store_progress(attempt, update, [], after(99))
        store_progress(attempt, ProgressUpdate(phase="training"), [], after(99))
    assert Attempt.objects.get(pk=attempt.pk).last_step == 2


def test_one_point_a_second_over_several_turns(attempt: Attempt) -> None:
    def turn(*moments: float) -> None:
        points = [ProgressSample(after(moment), int(moment * 10)) for moment in moments]
        store_progress(attempt, ProgressUpdate(), points, after(99))

    turn(10.1, 10.2, 10.9, 11.0, 12.5)
    turn(12.6, 13.0)
    turn(10.5, 9.9)  # times that go back
    assert steps(attempt) == [99, 101, 110, 125, 130]


def test_numbers_that_no_column_takes_are_left_out(attempt: Attempt) -> None:
    nan, infinite = float("nan"), float("inf")
    points = [ProgressSample(after(1), 2**63), ProgressSample(after(2), 5, nan, infinite)]
    update = ProgressUpdate(
        last_step=2**63, baseline_step_seconds=nan, phase="no such phase", checkpoints_saved=(2**63, -1)
    )
    store_progress(attempt, update, points, after(9))
    stored = Attempt.objects.get(pk=attempt.pk)
    assert (stored.last_step, stored.baseline_step_seconds, stored.phase) == (None, None, "starting")
    point = ProgressPoint.objects.get()
    assert (point.step, point.step_seconds, point.loss) == (5, None, None)
    assert not AuditEvent.objects.filter(type=EventType.CHECKPOINT_SAVED).exists()


def test_a_log_that_claims_a_checkpoint_on_every_line_does_not_flood_the_trail(attempt: Attempt) -> None:
    store_progress(attempt, ProgressUpdate(checkpoints_saved=tuple(range(1000)) * 2), [], after(9))
    events = list(AuditEvent.objects.filter(type=EventType.CHECKPOINT_SAVED))
    assert [event.payload["step"] for event in events] == list(range(980, 1000))
    assert events[0].payload["earlier_left_out"] == 980


@pytest.mark.parametrize("points", [[], [ProgressSample(after(9), 5)]])
def test_an_attempt_that_ended_meanwhile_stays_ended(attempt: Attempt, points: list[ProgressSample]) -> None:
    observe(attempt.job.cluster, ScriptedScheduler([failed(a_row(), after(18))]), after(20))
    assert attempt.state == "running"  # the caller's copy is older
    store_progress(attempt, ProgressUpdate(last_step=5, phase="training"), points, after(21))
    stored = Attempt.objects.get(pk=attempt.pk)
    assert (stored.state, stored.phase, stored.last_step) == ("failed", "ended", 5)


def test_thousands_of_points_cost_a_few_statements(attempt: Attempt, django_assert_max_num_queries: object) -> None:
    points = [ProgressSample(after(0) + timedelta(milliseconds=10 * n), n) for n in range(20_000)]
    with django_assert_max_num_queries(6):  # type: ignore[operator]
        store_progress(attempt, ProgressUpdate(), points, after(300))
    assert len(steps(attempt)) == 200

"""Are many rows changed at once, each to its own values, and none that moved meanwhile?"""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.detectors.rows import make_attempt, make_cluster
from tests.workloads.scripted import after
from workloads.many_rows import ROWS, change_each
from workloads.models import Attempt

pytestmark = pytest.mark.django_db


def attempts(count: int) -> list[int]:
    cluster = make_cluster()
    return [make_attempt(cluster).pk for _ in range(count)]


def test_each_row_gets_its_own_values_of_every_type() -> None:
    first, second, third = attempts(3)
    changes: dict[int, dict[str, Any]] = {
        first: {"last_step": 2**62, "last_step_at": after(1), "nodes": ["n'1", 'n"2', "%s"], "reason": "a ' b"},
        second: {"last_step": None, "last_step_at": None, "nodes": [], "reason": "é\\"},
    }
    assert change_each(Attempt, changes) == 2
    rows = {row.pk: row for row in Attempt.objects.all()}
    for key, values in changes.items():
        assert {name: getattr(rows[key], name) for name in values} == values
    assert rows[third].last_step is None and rows[third].nodes == ["n01", "n02", "n03"]


def test_rows_with_different_fields_are_changed_apart() -> None:
    first, second = attempts(2)
    assert change_each(Attempt, {first: {"last_step": 7}, second: {"phase": "training"}}) == 2
    assert Attempt.objects.get(pk=first).phase == "starting"
    assert Attempt.objects.get(pk=second).last_step is None


def test_a_row_that_moved_meanwhile_is_left_alone_and_counted() -> None:
    first, second = attempts(2)
    Attempt.objects.filter(pk=first).update(last_step=1)
    Attempt.objects.filter(pk=second).update(last_step=9)
    changes = {key: {"last_step": 2, "reason": "moved"} for key in (first, second)}
    assert change_each(Attempt, changes, {first: 1, second: 8}, "last_step") == 1
    assert list(Attempt.objects.order_by("pk").values_list("last_step", "reason")) == [(2, "moved"), (9, "")]


def test_what_is_the_same_for_all_is_said_once() -> None:
    keys, now = attempts(3), after(7)
    changes = {key: {"changed_at": now, "nodes": [str(key)], "blind_since": None} for key in keys[:2]}
    with CaptureQueriesContext(connection) as asked:
        assert change_each(Attempt, changes) == 2
    assert asked[0]["sql"].count("CASE") == 1
    rows = list(Attempt.objects.order_by("pk").values_list("changed_at", "nodes"))
    assert rows[:2] == [(now, [str(key)]) for key in keys[:2]] and rows[2][0] != now


def test_a_row_that_is_gone_is_not_made_again() -> None:
    (only,) = attempts(1)
    assert change_each(Attempt, {only: {"last_step": 1}, only + 1: {"last_step": 1}}) == 1
    assert Attempt.objects.count() == 1


def test_nothing_to_change_asks_nothing_and_many_rows_ask_once_for_each_hundred() -> None:
    keys = attempts(ROWS + 1)
    with CaptureQueriesContext(
        connection,
    ) as none:
        assert change_each(Attempt, {keys[0]: {}}) == 0
    with CaptureQueriesContext(connection) as two:
        assert change_each(Attempt, {key: {"last_step": key} for key in keys}) == ROWS + 1
    assert len(none) == 0 and len(two) == 2
    assert all(row.last_step == row.pk for row in Attempt.objects.all())

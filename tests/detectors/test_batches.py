"""What does a turn over many attempts ask the database, and what happens when one of them cannot be stored?"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from detectors.claims import claim_due
from detectors.models import Feed, Watch
from detectors.reading import read_attempts
from tests.detectors.rows import Log, again, make_attempt, make_cluster, megatron
from workloads.models import Attempt

pytestmark = pytest.mark.django_db


def now() -> datetime:
    return datetime.now(UTC)


def write(attempts: list[Attempt], step: int) -> None:
    for attempt in attempts:
        Log.of(attempt).write("a dull line", megatron(step, now()))


def queries(attempts: list[Attempt]) -> int:
    """How many statements claiming and reading all of them takes."""
    Attempt.objects.filter(pk__in=[one.pk for one in attempts]).update(read_due_at=now())
    Attempt.objects.exclude(pk__in=[one.pk for one in attempts]).update(read_due_at=None)
    with CaptureQueriesContext(connection) as asked:
        claimed = claim_due(0, 1, now() + timedelta(seconds=1))
        assert read_attempts(claimed, now()) == len(attempts)
    return len(asked)


def test_statements_do_not_grow_with_attempts(tmp_path: Path) -> None:
    cluster = make_cluster(tmp_path)
    few, many = ([make_attempt(cluster) for _ in range(count)] for count in (3, 60))
    for step in range(3):
        write([*few, *many], step)
        assert queries(many) < queries(few) + 5  # a few more where points lie in two minutes


def test_what_says_nothing_is_not_remembered(tmp_path: Path) -> None:
    attempt = make_attempt(make_cluster(tmp_path))
    write([attempt], 5)
    assert read_attempts([attempt], now()) == 1
    known = set(Watch.objects.values_list("detector", flat=True))
    assert "progress" in known and not known & {"crash", "witnesses", "hang", "ending", "saves"}


def test_only_the_one_that_somebody_else_took_is_dropped(tmp_path: Path) -> None:
    cluster = make_cluster(tmp_path)
    attempts = [make_attempt(cluster) for _ in range(9)]
    write(attempts, 5)
    Attempt.objects.filter(pk=attempts[4].pk).update(read_due_at=now() + timedelta(hours=1))
    assert read_attempts(attempts, now()) == 8
    assert set(Feed.objects.values_list("attempt", flat=True)) == {one.pk for one in attempts} - {attempts[4].pk}
    assert [again(one).last_step for one in attempts] == [5, 5, 5, 5, None, 5, 5, 5, 5]


def test_a_cursor_that_somebody_else_moved_drops_that_attempt_alone(tmp_path: Path) -> None:
    cluster = make_cluster(tmp_path)
    attempts = [make_attempt(cluster) for _ in range(5)]
    write(attempts, 5)
    assert read_attempts(attempts, now()) == 5
    write(attempts, 6)
    attempts = [again(one) for one in attempts]
    taken = Feed.objects.get(attempt=attempts[2])
    real = Feed.objects.filter

    def overtaken(*args: object, **kwargs: object) -> object:
        rows = list(real(*args, **kwargs))
        real(pk=taken.pk).update(revision=taken.revision + 1)  # between reading and storing
        return rows

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Feed.objects, "filter", overtaken)
        assert read_attempts(attempts, now()) == 4
    assert [again(one).last_step for one in attempts] == [6, 6, 5, 6, 6]

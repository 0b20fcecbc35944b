"""Do the doors claim what is due, once, and leave the rest alone?"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from detectors import claims, tasks
from detectors.claims import LEASE, claim_due
from detectors.models import Feed, Verdict
from tests.detectors.rows import ECC, Log, again, end, make_attempt, make_cluster, make_nodes
from workloads.models import Attempt

pytestmark = pytest.mark.django_db


def now() -> datetime:
    return datetime.now(UTC)


class TestClaims:
    def test_what_is_due_is_claimed_once(self, tmp_path: Path) -> None:
        attempt = make_attempt(make_cluster(tmp_path))
        later = make_attempt(attempt.job.cluster, read_due_at=now() + timedelta(hours=1))
        at = now()
        assert claim_due(0, 1, at) == [attempt]
        assert claim_due(0, 1, at) == []
        claimed = again(attempt).read_due_at
        assert claimed is not None and at + LEASE <= claimed < at + LEASE + timedelta(seconds=1)
        assert again(later).read_due_at == later.read_due_at

    def test_two_workers_share_and_never_take_the_same(self, tmp_path: Path) -> None:
        cluster = make_cluster(tmp_path)
        attempts = {make_attempt(cluster).pk for _ in range(6)}
        at = now()
        taken: list[int] = []
        real = Attempt.objects.filter

        def interleaved(*args: Any, **kwargs: Any) -> Any:
            # The second worker claims between the first one's looking and its claiming.
            if "read_due_at__lte" in kwargs and "pk__in" in kwargs and not taken:
                taken.append(0)
                with mock.patch.object(claims, "BATCH", 3):
                    taken.extend(attempt.pk for attempt in claim_due(0, 1, at))
            return real(*args, **kwargs)

        with mock.patch.object(Attempt.objects, "filter", interleaved):
            first = [attempt.pk for attempt in claim_due(0, 1, at)]
        assert len(taken) == 4 and len(first) == 3
        assert not set(first) & set(taken) and {*first, *taken[1:]} == attempts

    def test_shards_are_disjoint_and_complete(self, tmp_path: Path) -> None:
        cluster = make_cluster(tmp_path)
        attempts = {make_attempt(cluster).pk for _ in range(9)}
        parts = [{attempt.pk for attempt in claim_due(shard, 4, now())} for shard in range(4)]
        assert set.union(*parts) == attempts and sum(len(part) for part in parts) == 9

    def test_a_dead_workers_claim_ends(self, tmp_path: Path) -> None:
        attempt = make_attempt(make_cluster(tmp_path))
        at = now()
        claim_due(0, 1, at)
        assert claim_due(0, 1, at + LEASE + timedelta(seconds=2)) == [attempt]


class TestDoors:
    def test_a_failed_attempt_goes_all_the_way(self, tmp_path: Path) -> None:
        attempt = make_attempt(make_cluster(tmp_path))
        make_nodes(attempt.job.cluster)
        Log.of(attempt).write(ECC)
        tasks.read_due()
        end(attempt, at=now() - timedelta(seconds=30))
        tasks.read_due()
        verdict = Verdict.objects.get()  # judged in the same task, not a sweep later
        assert verdict.sentence.endswith("on n03") and verdict.action == "restart_exclude"
        assert again(attempt).read_due_at is None and again(attempt).judge_due_at > now()  # the last look

    def test_what_is_behind_is_read_on_in_the_same_task(self, tmp_path: Path, settings: Any) -> None:
        settings.REKINDLE = {**settings.REKINDLE, "REKINDLE_READ_BYTES": 4096}
        attempt = make_attempt(make_cluster(tmp_path))
        Log.of(attempt).write(*("x" * 99 for _ in range(200)))
        tasks.read_due()
        assert Feed.objects.get().position["offset"] == 20_000

    def test_a_sweep_that_comes_a_moment_early_reads_all_the_same(self, tmp_path: Path) -> None:
        cluster, at = make_cluster(tmp_path), now()
        soon, later = (make_attempt(cluster, read_due_at=at + timedelta(seconds=n)) for n in (0.15, 0.25))
        for attempt in (soon, later):
            Log.of(attempt).write("a line")
        with mock.patch("detectors.tasks.timezone.now", lambda: at):  # however long that took
            tasks.read_due()
        assert [feed.attempt_id for feed in Feed.objects.all()] == [soon.pk]

    def test_other_shards_are_tasks_of_their_own(self, settings: Any) -> None:
        settings.REKINDLE = {**settings.REKINDLE, "REKINDLE_SHARDS": 3}
        own: list[int] = []
        for second in range(3):
            at = datetime(2026, 5, 1, 10, 0, second, tzinfo=UTC)
            with (
                mock.patch.object(tasks.read_shard, "apply_async") as started,
                mock.patch("detectors.tasks.timezone.now", lambda at=at: at),
            ):
                tasks.read_due()
            own += {0, 1, 2} - {call.args[0][0] for call in started.call_args_list}
            assert len(started.call_args_list) == 2
        assert sorted(own) == [0, 1, 2]  # where tasks have to wait, it is not always the same shard that does

    def test_one_attempt_that_cannot_be_judged_stops_no_other(self, tmp_path: Path) -> None:
        cluster = make_cluster(tmp_path)
        attempts = [end(make_attempt(cluster), judge_due_at=now() - timedelta(seconds=n)) for n in (2, 1)]
        real = tasks.judge

        def breaking(attempt: Attempt, at: datetime, *more: Any) -> Any:
            if attempt == attempts[0]:
                raise ZeroDivisionError
            return real(attempt, at, *more)

        with mock.patch.object(tasks, "judge", breaking):
            tasks.judge_due()
        assert Verdict.objects.get().attempt == attempts[1]

    def test_attempts_that_cannot_be_judged_leave_room_for_others(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tasks, "JUDGED_AT_ONCE", 2)
        cluster = make_cluster(tmp_path)
        attempts = [end(make_attempt(cluster), judge_due_at=now() - timedelta(seconds=n)) for n in (3, 2, 1)]
        real = tasks.judge

        def breaking(attempt: Attempt, at: datetime, *more: Any) -> Any:
            if attempt != attempts[2]:
                raise ZeroDivisionError
            return real(attempt, at, *more)

        monkeypatch.setattr(tasks, "judge", breaking)
        tasks.judge_due()
        tasks.judge_due()
        assert Verdict.objects.get().attempt == attempts[2]
        assert again(attempts[0]).judge_due_at is not None

    def test_nothing_due_does_nothing(self) -> None:
        tasks.read_due()
        tasks.judge_due()
        assert not Feed.objects.exists()

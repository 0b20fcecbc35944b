"""When there is more to read than can be read: may only what is dull wait, and is nothing of it lost?"""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.urgent import is_urgent
from detectors.glancing import GLANCED, WAITS, may_wait
from detectors.models import Anomaly, Feed
from detectors.reading import read_attempts
from detectors.sweeping import sweep
from tests.detectors.rows import ECC, Log, again, end, make_attempt, make_cluster, megatron
from workloads.models import Attempt

pytestmark = pytest.mark.django_db
PAUSE = timedelta(seconds=1)
LATE = timedelta(seconds=3)
NAN = megatron(7, datetime(2026, 5, 1, tzinfo=UTC)).replace("2.104561E+00", "nan")


def now() -> datetime:
    return datetime.now(UTC)


def quiet_moment(attempt: Attempt) -> datetime:
    """A time at which the attempt's own turn is not due by the clock: neither the short nor the long rhythm."""
    at = now()
    while not _waits(attempt, at):
        at += timedelta(seconds=0.5)
    return at


def _waits(attempt: Attempt, at: datetime) -> bool:
    return may_wait({attempt.pk: at}, at, PAUSE) == {attempt.pk}


def read_once(tmp_path: Path, *lines: str) -> tuple[Attempt, Log]:
    """An attempt whose log was read."""
    attempt = make_attempt(make_cluster(tmp_path))
    log = Log.of(attempt)
    log.write(*(lines or ("a line",)))
    assert read_attempts([attempt], now()) == 1
    return again(attempt), log


class TestWhatWaits:
    def test_dull_lines_and_steps_wait(self, tmp_path: Path) -> None:
        attempt, log = read_once(tmp_path)
        at = quiet_moment(attempt)
        log.write("a dull line", megatron(5, now()))
        assert _waits(attempt, at)

    @pytest.mark.parametrize(
        "line",
        [
            ECC,
            NAN,
            "Traceback (most recent call last):",
            f"n03: {ECC}",
            f"\x1b[31m{ECC}\x1b[0m",
            "x" * (GLANCED + 1),
        ],
        ids=["a fault", "a loss that is no number", "a traceback", "a label", "colours", "very much text"],
    )
    def test_what_may_be_a_symptom_does_not(self, tmp_path: Path, line: str) -> None:
        attempt, log = read_once(tmp_path)
        at = quiet_moment(attempt)
        log.write("a dull line", line)
        assert not _waits(attempt, at)

    @pytest.mark.parametrize(
        "change",
        [
            lambda attempt, log: end(attempt),
            lambda attempt, log: Attempt.objects.update(blind_since=now()),
            lambda attempt, log: Feed.objects.all().delete(),
            lambda attempt, log: log.path.write_text("cut\n"),
            lambda attempt, log: log.path.unlink(),
            lambda attempt, log: (log.path.unlink(), log.path.symlink_to("/etc/passwd")),
            lambda attempt, log: os.mkfifo(log.path.rename(log.path.with_suffix(".old")).with_suffix(".out")),
            lambda attempt, log: Attempt.objects.get().job.__class__.objects.update(user_id=os.getuid() + 1),
            lambda attempt, log: Anomaly.objects.create(
                attempt=attempt,
                key="k",
                kind="crash",
                sentence="s",
                happened_at=now(),
                basis="line",
                detected_at=now(),
            ),
        ],
        ids=["ended", "blind", "never read", "cut", "gone", "a link", "a FIFO", "another's", "an open anomaly"],
    )
    def test_what_is_not_plainly_the_same_running_log_does_not(self, tmp_path: Path, change: Any) -> None:
        attempt, log = read_once(tmp_path, "a first line that is long enough")
        at = quiet_moment(attempt)
        log.write("a dull line")
        change(attempt, log)
        assert not _waits(attempt, at)

    def test_each_gets_its_turn_once_in_ten_seconds(self, tmp_path: Path) -> None:
        attempt, log = read_once(tmp_path)
        log.write("a dull line")
        begins = now()
        for start in range(20):
            looks = [begins + timedelta(seconds=start + n) for n in range(int(WAITS.total_seconds()))]
            assert sum(not _waits(attempt, at) for at in looks) == 1

    def test_a_silent_log_waits_half_as_long(self, tmp_path: Path) -> None:
        attempt, _log = read_once(tmp_path)
        looks = [now() + timedelta(seconds=n) for n in range(10)]
        assert 2 <= sum(not _waits(attempt, at) for at in looks) <= 3

    def test_questions_do_not_grow_with_attempts(self, tmp_path: Path) -> None:
        cluster = make_cluster(tmp_path)
        attempts = [make_attempt(cluster) for _ in range(40)]
        for attempt in attempts:
            Log.of(attempt).write("a line")
        read_attempts(attempts, now())
        asked = []
        for some in (attempts[:20], attempts):
            with CaptureQueriesContext(connection) as queries:
                may_wait({one.pk: now() for one in some}, now(), PAUSE)
            asked.append(len(queries))
        assert asked[0] == asked[1] <= 6


class TestSweep:
    def test_what_waits_is_due_again_and_read_later(self, tmp_path: Path) -> None:
        attempt, log = read_once(tmp_path)
        at = quiet_moment(attempt)
        log.write(megatron(5, now()))
        Attempt.objects.update(read_due_at=at - LATE)
        looked = [sweep(0, at)]
        waited = again(attempt)
        if waited.last_step is None:
            assert waited.read_due_at == at + PAUSE and Feed.objects.get().revision == 1
        while again(attempt).last_step is None:
            at += PAUSE
            Attempt.objects.update(read_due_at=at - LATE)
            looked.append(sweep(0, at))
        assert again(attempt).last_step == 5 and len(looked) <= 11 and set(looked) == {1}

    def test_a_fault_is_read_at_once_among_many_that_wait(self, tmp_path: Path) -> None:
        cluster, at = make_cluster(tmp_path), now()
        attempts = [make_attempt(cluster) for _ in range(30)]
        for attempt in attempts:
            Log.of(attempt).write("a line")
        assert read_attempts(attempts, at) == 30
        for attempt in attempts:
            Log.of(attempt).write(ECC if attempt is attempts[17] else "a dull line")
        Attempt.objects.update(read_due_at=at - LATE)
        assert sweep(0, at) == 30
        assert Anomaly.objects.get().attempt_id == attempts[17].pk
        assert Feed.objects.filter(revision=1).count() >= 10  # the others wait, but for those whose moment it is

    def test_no_more_are_read_than_a_claim_lasts_for_and_the_others_come_next(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("detectors.sweeping.BATCH", 4)
        cluster, at = make_cluster(tmp_path), now()
        attempts = [make_attempt(cluster, read_due_at=at - LATE + timedelta(milliseconds=n)) for n in range(10)]
        for attempt in attempts:
            Log.of(attempt).write("a line")  # never read before: none may wait
        read = [(sweep(0, at), Feed.objects.count()) for _ in range(3)]
        assert [count for _looked, count in read] == [4, 8, 10]
        assert set(Feed.objects.order_by("pk").values_list("attempt", flat=True)[:4]) == {
            a.pk for a in attempts[:4]
        }

    def test_who_is_on_time_is_read_and_not_glanced_at(self, tmp_path: Path) -> None:
        attempt, log = read_once(tmp_path)
        log.write(megatron(5, now()))
        at = now()
        Attempt.objects.update(read_due_at=at - PAUSE)
        assert sweep(0, at) == 1 and again(attempt).last_step == 5

    def test_one_that_is_made_due_during_a_glance_stays_due(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        attempt, log = read_once(tmp_path)
        at = quiet_moment(attempt)
        log.write("a dull line")
        Attempt.objects.update(read_due_at=at - LATE)

        def glanced(due: Any, *_rest: Any) -> set[int]:
            Attempt.objects.update(read_due_at=at - PAUSE)  # its end was seen meanwhile
            return set(due)

        monkeypatch.setattr("detectors.sweeping.may_wait", glanced)
        assert sweep(0, at) == 1 and again(attempt).read_due_at == at - PAUSE


EXAMPLES = [(one.id, one.example) for one in catalogue().signatures if one.is_fault]


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[name for name, _example in EXAMPLES])
def test_every_symptom_is_urgent(name: str, example: str) -> None:
    assert is_urgent(example.encode(), catalogue())


def test_steps_and_checkpoints_are_not() -> None:
    dull = [one for one in catalogue().signatures if one.kind in ("progress", "checkpoint", "phase")]
    urgent = [one.id for one in dull if is_urgent(one.example.encode(), catalogue())]
    assert len(urgent) < len(dull) / 10, urgent

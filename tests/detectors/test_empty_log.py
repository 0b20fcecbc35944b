"""Is a job blind whose log holds nothing, though there was something, or must be something by now?"""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from detectors.models import Anomaly
from detectors.reading import read_attempt
from schedulers.states import JobState
from tests.detectors.rows import Log, again, end, make_attempt, make_cluster, megatron
from workloads.models import Attempt, Cluster

pytestmark = pytest.mark.django_db
START = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    return make_attempt(make_cluster(tmp_path), started_at=START, first_seen_at=START)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def read(attempt: Attempt, seconds: float) -> str:
    """One turn; the reason for which it is blind then."""
    Cluster.objects.update(seen_at=at(seconds))
    read_attempt(again(attempt), at(seconds))
    return again(attempt).blind_reason


def kinds(attempt: Attempt) -> list[str]:
    return sorted(Anomaly.objects.filter(attempt=attempt, refuted_at=None).values_list("kind", flat=True))


def trained(attempt: Attempt) -> Log:
    """A step a second, the last one half a minute after the start."""
    log = Log.of(attempt)
    log.write(*(megatron(n, at(n)) for n in range(1, 31)), at=at(30))
    assert read(attempt, 31) == ""
    return log


def test_a_log_that_was_cut_to_nothing_is_no_silence(attempt: Attempt) -> None:
    log = trained(attempt)
    os.truncate(log.path, 0)
    assert read(attempt, 60) == ""
    for seconds in (95, 100, 105, 400, 4000):
        reason = read(attempt, seconds)
    assert reason.startswith("the log was cut to nothing") and str(log.path) in reason
    assert kinds(attempt) == ["blind"]


def test_it_goes_on_behind_the_cut(attempt: Attempt) -> None:
    log = trained(attempt)
    os.truncate(log.path, 0)
    for seconds in (95, 100, 105, 110):
        read(attempt, seconds)
    log.write(megatron(31, at(120)), at=at(120))
    for seconds in (121, 126, 131):
        reason = read(attempt, seconds)
    assert (reason, again(attempt).last_step, kinds(attempt)) == ("", 31, [])


def test_a_log_that_stays_empty_is_blind_after_the_time_of_a_start(attempt: Attempt) -> None:
    path = Log.of(attempt).path
    path.touch()
    os.utime(path, (at(1).timestamp(), at(1).timestamp()))
    assert read(attempt, 1799) == ""
    assert "the log is still empty; the job may write elsewhere" in read(attempt, 1801)
    read(attempt, 9000)
    assert kinds(attempt) == ["blind"]
    assert Anomaly.objects.count() == 1


def test_one_file_with_lines_is_enough(attempt: Attempt) -> None:
    attempt.job.stdout = attempt.job.work_dir + "/out"
    attempt.job.stderr = attempt.job.work_dir + "/err"
    attempt.job.save()
    Path(attempt.job.stderr).touch()
    os.utime(attempt.job.stderr, (at(1).timestamp(), at(1).timestamp()))
    Path(attempt.job.stdout).write_text("loading\n")
    os.utime(attempt.job.stdout, (at(1).timestamp(), at(1).timestamp()))
    assert read(attempt, 2) == ""
    assert read(attempt, 2000) == ""


def test_an_ended_attempt_with_an_empty_log_is_judged_by_its_end(attempt: Attempt) -> None:
    Log.of(attempt).path.touch()
    end(attempt, JobState.FAILED, at(5000))
    assert read(attempt, 5010) == ""

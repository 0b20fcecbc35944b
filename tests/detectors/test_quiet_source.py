"""Do jobs that fall silent together hang? Only when somebody still hears a line of their cluster."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from detectors.models import Anomaly, Feed
from detectors.reading import read_attempts
from detectors.stores.seen import Cursor
from detectors.stores.store import SECOND, Line
from schedulers.states import JobState
from tests.detectors.rows import Log, again, make_attempt, make_cluster, megatron
from workloads.models import Attempt, Cluster

pytestmark = pytest.mark.django_db
START = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
QUIET = 300.0  # seconds after the last step: beyond what a step a second allows


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return make_cluster(tmp_path)


def trained(cluster: Cluster, until: float = 30) -> Attempt:
    """A job with a step a second, the last one `until` seconds after the start."""
    attempt = make_attempt(cluster, started_at=START, first_seen_at=START)
    Log.of(attempt).write(
        *(megatron(n, START + timedelta(seconds=until - 30 + n)) for n in range(1, 31)), at=moment(until)
    )
    read(attempt, at=until + 0.5)
    return attempt


def moment(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def read(*attempts: Attempt, at: float) -> None:
    read_attempts([again(attempt) for attempt in attempts], moment(at))


def kinds(attempt: Attempt) -> list[str]:
    return sorted(Anomaly.objects.filter(attempt=attempt, refuted_at=None).values_list("kind", flat=True))


def test_a_job_alone_on_its_cluster_hangs(cluster: Cluster) -> None:
    job = trained(cluster)
    read(job, at=QUIET)
    assert kinds(job) == ["hang"]


def begun(cluster: Cluster, seconds: float) -> Attempt:
    """A job that began then, and has no log file yet."""
    return make_attempt(cluster, started_at=moment(seconds), first_seen_at=moment(seconds))


def test_while_a_job_that_began_since_has_no_log_nobody_hangs(cluster: Cluster) -> None:
    job, next_one = trained(cluster), begun(cluster, QUIET - 40)
    for at in (QUIET - 39, QUIET - 25, QUIET):
        read(next_one, at=at)
    read(job, at=QUIET)
    assert kinds(job) == ["blind"]
    assert "began after 12:00:30 UTC has no log file" in again(job).blind_reason
    Log.of(next_one).write("Starting.", at=moment(QUIET + 1))
    read(next_one, at=QUIET + 2)
    read(job, at=QUIET + 3)
    assert kinds(job) == ["hang"]


@pytest.mark.parametrize("began", [20.0, QUIET - 5], ids=["before it", "just now"])
def test_a_job_without_a_log_from_before_or_that_is_just_beginning_hides_no_hang(
    cluster: Cluster, began: float
) -> None:
    job, other = trained(cluster), begun(cluster, began)
    read(other, at=QUIET - 1)
    read(job, at=QUIET)
    assert kinds(job) == ["hang"]


def test_all_at_once_is_blind_and_nobody_hangs(cluster: Cluster) -> None:
    first, second = trained(cluster), trained(cluster, until=40)
    for at in (QUIET, QUIET + 1, QUIET + 600):
        read(first, second, at=at)
    assert kinds(first) == kinds(second) == ["blind"]
    assert "another job" in again(first).blind_reason


def test_a_job_that_ends_in_silence_proves_no_hearing(cluster: Cluster) -> None:
    """Whose collector stopped with the other's, and who has ended since: nobody is heard any more."""
    job, other = trained(cluster), trained(cluster)
    read(job, other, at=QUIET)
    assert kinds(job) == ["blind"]
    ended = moment(QUIET + 1)
    Attempt.objects.filter(pk=other.pk).update(state=JobState.COMPLETED.value, ended_at=ended, changed_at=ended)
    for at in (QUIET + 2, QUIET + 900):
        read(job, at=at)
    assert kinds(job) == ["blind"]
    third = trained(cluster, until=QUIET + 1000)
    assert kinds(third) == []
    read(job, at=QUIET + 1001)
    assert kinds(job) == ["hang"], "a line of a new job shows that lines arrive"


def test_a_job_whose_last_line_was_heard_at_its_end_shows_that_lines_arrive(cluster: Cluster) -> None:
    hung, other = trained(cluster), trained(cluster, until=150)
    ended = moment(151)
    Attempt.objects.filter(pk=other.pk).update(state=JobState.COMPLETED.value, ended_at=ended, changed_at=ended)
    read(hung, at=QUIET)
    assert kinds(hung) == ["hang"]


def test_a_job_that_ended_when_the_silence_began_says_nothing(cluster: Cluster) -> None:
    hung, other = trained(cluster), trained(cluster)
    ended = moment(32)
    Attempt.objects.filter(pk=other.pk).update(state=JobState.COMPLETED.value, ended_at=ended, changed_at=ended)
    read(hung, at=QUIET)
    assert kinds(hung) == ["hang"]


def test_a_stall_does_not_hold_back_all_in_the_same_second(cluster: Cluster) -> None:
    first, second = trained(cluster), trained(cluster, until=60)
    for at in (QUIET, QUIET + 30):
        read(first, second, at=at)
    assert kinds(first) == kinds(second) == ["blind"]


def test_somebody_who_writes_on_shows_that_lines_arrive(cluster: Cluster) -> None:
    hung, other = trained(cluster), trained(cluster)
    read(hung, other, at=QUIET - 200)
    Log.of(other).write(megatron(31, moment(QUIET - 100)), at=moment(QUIET - 100))
    read(other, at=QUIET - 99)
    read(hung, other, at=QUIET)
    assert kinds(hung) == ["hang"]


def test_lines_that_arrive_again_end_it(cluster: Cluster) -> None:
    first, second = trained(cluster), trained(cluster)
    read(first, second, at=QUIET)
    Log.of(second).write(*(megatron(n, moment(QUIET + n - 31)) for n in range(31, 40)), at=moment(QUIET + 10))
    read(first, second, at=QUIET + 11)
    assert kinds(second) == []
    read(first, at=QUIET + 12)
    assert kinds(first) == ["hang"], "the other one is heard, so this silence is its own"


def test_who_was_silent_long_before_or_does_not_run_is_not_asked(cluster: Cluster) -> None:
    long_silent, ended = trained(cluster, until=-300), trained(cluster)
    Attempt.objects.filter(pk=ended.pk).update(state=JobState.COMPLETED.value)
    hung = trained(cluster)
    read(hung, at=QUIET)
    assert kinds(hung) == ["hang"]
    assert long_silent.pk != hung.pk


def test_other_clusters_are_not_asked(cluster: Cluster, tmp_path: Path) -> None:
    hung = trained(cluster)
    trained(make_cluster(tmp_path))
    read(hung, at=QUIET)
    assert kinds(hung) == ["hang"]


def test_a_time_in_which_the_site_stood_still_is_nobodys_silence(cluster: Cluster) -> None:
    job = trained(cluster)
    for at in (QUIET, QUIET + 10):
        read_attempts([Attempt.objects.select_related("job__cluster").get(pk=job.pk)], moment(at))
        assert kinds(job) == []
    read(job, at=QUIET + 300)
    assert kinds(job) == ["hang"]


class TestAloneBehindALogStore:
    """Nobody else is there to be heard: the collector may have stopped as well."""

    def behind(self, cluster: Cluster, **cursor: int) -> Attempt:
        job = trained(cluster)
        Cluster.objects.update(log_store="loki")
        if cursor:
            at = int(moment(cursor["line"]).timestamp())
            stored = Cursor.at(0).taking([Line(at * SECOND, "a line", {}, b"12345678")]).stored()
        else:
            stored = Cursor.at(0).stored()
        Feed.objects.create(cluster=cluster, source="loki", stream="nodes", stream_key="nodes", position=stored)
        return job

    def test_is_blind_and_does_not_hang(self, cluster: Cluster) -> None:
        job = self.behind(cluster)
        read(job, at=QUIET)
        assert kinds(job) == ["blind"]
        assert "none of any job or node since 12:00:30 UTC" in again(job).blind_reason

    def test_hangs_when_a_line_of_a_node_shows_that_lines_arrive(self, cluster: Cluster) -> None:
        job = self.behind(cluster, line=200)
        read(job, at=QUIET)
        assert kinds(job) == ["hang"]

    def test_a_line_from_before_the_silence_shows_nothing(self, cluster: Cluster) -> None:
        job = self.behind(cluster, line=30)
        read(job, at=QUIET)
        assert kinds(job) == ["blind"]

    def test_is_judged_as_soon_as_anything_is_heard(self, cluster: Cluster) -> None:
        job = self.behind(cluster)
        read(job, at=QUIET)
        trained(cluster, until=QUIET + 1)
        read(job, at=QUIET + 2)
        assert kinds(job) == ["hang"]

"""Does what a job tells of itself take the same road as its log?"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from detectors import telling
from detectors.catalogue.turning import turn as catalogue_turn
from detectors.excerpts import WHY_END
from detectors.models import Anomaly, Excerpt, Feed
from detectors.reading import read_attempts
from detectors.stores.store import Answer, Request, StoreTrouble
from detectors.telling import Message, NotRunning, TooMuch, lines_of, tell
from detectors.told_models import ToldLine
from schedulers.states import JobState
from tests.detectors.rows import Log, again, end, make_attempt, make_cluster, megatron
from tests.detectors.stores.pretend import Pretend
from tests.detectors.test_store_reading import at as store_time
from tests.detectors.test_store_reading import job_line, stored_cluster
from tests.detectors.test_store_reading import read as read_store
from workloads.models import Attempt, Cluster
from workloads.progress_models import Checkpoint, ProgressPoint

pytestmark = pytest.mark.django_db
START = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
QUIET = 300.0  # seconds after the start: far beyond what a step a second allows


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()  # no log can be read on it


def moment(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def started(cluster: Cluster) -> Attempt:
    return make_attempt(cluster, started_at=START, first_seen_at=START)


def told(attempt: Attempt, *messages: Message, at: float) -> None:
    for number, message in enumerate(messages):
        tell(attempt, f"{at}-{number}", message, "ingest", moment(at))


def read(*attempts: Attempt, at: float) -> None:
    read_attempts([again(attempt) for attempt in attempts], moment(at))


def train(*attempts: Attempt, steps: range) -> None:
    """A step a second, read in two turns."""
    for second in steps:
        for attempt in attempts:
            told(attempt, Message(step=second, loss=2.5), at=second)
        if second in (5, steps[-1]):
            read(*attempts, at=second + 0.5)


def kinds(attempt: Attempt) -> list[str]:
    return sorted(Anomaly.objects.filter(attempt=attempt, refuted_at=None).values_list("kind", flat=True))


def test_told_steps_are_progress(cluster: Cluster) -> None:
    attempt = started(cluster)
    train(attempt, steps=range(1, 31))
    seen = again(attempt)
    assert (seen.first_step, seen.last_step, seen.phase, seen.blind_since) == (1, 30, "training", None)
    assert seen.baseline_step_seconds == pytest.approx(1.0)
    points = ProgressPoint.objects.filter(attempt=attempt).order_by("at")
    assert [(point.step, point.loss) for point in points] == [(n, 2.5) for n in range(1, 31)]
    assert not ToldLine.objects.filter(unread=True).exists()


def test_a_job_without_a_log_that_tells_no_more_hangs(cluster: Cluster) -> None:
    """Within twice its rhythm's allowance (a minute at a step a second), while another job still tells."""
    hung, other = started(cluster), started(cluster)
    train(hung, other, steps=range(1, 31))
    found_at = None
    for second in range(40, 181, 2):
        told(other, Message(step=second), at=second)
        read(hung, other, at=second + 0.5)
        if "hang" in kinds(hung):
            found_at = second
            break
    assert found_at is not None
    assert found_at <= 30 + 2 * 60 + 2
    hang = Anomaly.objects.get(attempt=hung, kind="hang")
    assert (hang.step, hang.evidence[0]["stream"]) == (30, "told by the job")
    assert kinds(other) == []


def test_it_tells_again_and_the_hang_is_over(cluster: Cluster) -> None:
    hung, other = started(cluster), started(cluster)
    train(hung, other, steps=range(1, 31))
    told(other, Message(step=100), at=QUIET - 1)
    read(hung, other, at=QUIET)
    assert kinds(hung) == ["hang"]
    told(hung, Message(step=31), at=QUIET + 1)
    read(hung, at=QUIET + 2)
    assert kinds(hung) == []


def test_when_nobody_tells_any_more_the_site_may_be_what_is_missing(cluster: Cluster) -> None:
    """The site's own door may be shut: that no message comes of any job proves no hang of one."""
    one, two = started(cluster), started(cluster)
    train(one, two, steps=range(1, 31))
    for at in (QUIET, QUIET + 600):
        read(one, two, at=at)
    assert kinds(one) == kinds(two) == ["blind"]
    assert "whether messages arrive is not known" in again(one).blind_reason


def test_few_messages_are_no_sight(cluster: Cluster) -> None:
    """Who told once that it begins would else look hung for not telling again."""
    attempt, other = started(cluster), started(cluster)
    told(attempt, Message(step=1), at=1)
    for at in (2, 90, 8000):
        told(other, Message(step=int(at)), at=at)
        read(attempt, at=at)
    assert kinds(attempt) == ["blind"]
    assert "no log roots" in again(attempt).blind_reason
    assert again(attempt).last_step == 1, "what it told is known all the same"


def test_a_log_that_was_read_is_not_replaced(tmp_path: Path) -> None:
    """A lost log stays lost, whatever is told: its job may tell once an hour what its log says every second."""
    cluster = make_cluster(tmp_path)
    attempt = started(cluster)
    log = Log.of(attempt)
    log.write(*(megatron(n, moment(n)) for n in range(1, 31)), at=moment(30))
    train(attempt, steps=range(1, 31))
    assert kinds(attempt) == []
    log.path.unlink()
    for at in (100, 200, QUIET):
        told(attempt, Message(step=int(at)), at=at)
        read(attempt, at=at + 1)
    assert kinds(attempt) == ["blind"]


def test_steps_that_were_told_beside_a_living_log_need_a_witness_too(tmp_path: Path) -> None:
    cluster = make_cluster(tmp_path)
    attempt = started(cluster)
    log = Log.of(attempt)
    log.write("starting", at=moment(1))
    train(attempt, steps=range(1, 31))
    for at in (100, 200, QUIET):
        log.write("a line without a step", at=moment(at))
        read(attempt, at=at + 1)
    assert kinds(attempt) == ["blind"]
    told(started(cluster), Message(step=1), at=QUIET + 2)
    read(attempt, at=QUIET + 3)
    assert "hang" in kinds(attempt)


def test_a_log_and_messages_move_the_same_job(tmp_path: Path) -> None:
    cluster = make_cluster(tmp_path)
    attempt = started(cluster)
    log = Log.of(attempt)
    log.write(*(megatron(n, moment(n)) for n in range(1, 31)), at=moment(30))
    read(attempt, at=30.5)
    told(attempt, Message(deed="saved", at_step=30, path="/lustre/ckpt/30"), at=31)
    read(attempt, at=32)
    assert again(attempt).last_checkpoint_step == 30
    saved = Checkpoint.objects.get(attempt=attempt)
    assert (saved.deed, saved.step, saved.place) == ("saved", 30, "/lustre/ckpt/30")
    assert kinds(attempt) == []


def test_what_was_told_is_kept_as_the_end_of_a_log_is(cluster: Cluster) -> None:
    attempt = started(cluster)
    train(attempt, steps=range(1, 31))
    told(attempt, Message(deed="saved", at_step=30, path="/c?token=abcdefghijkl"), at=31)
    end(attempt, JobState.FAILED, at=moment(32))
    for at in (33, 40, 50, 400):
        read(attempt, at=at)
    kept = Excerpt.objects.get(attempt=attempt, why=WHY_END)
    assert kept.stream == "told by the job"
    assert kept.text.splitlines()[-1] == "successfully saved checkpoint from iteration 30 to /c?token=[masked]"
    assert len(kept.text.splitlines()) == 31


def test_the_same_message_is_stored_once(cluster: Cluster) -> None:
    attempt = started(cluster)
    first, new = tell(attempt, "k", Message(step=1), "ingest", moment(1))
    second, again_new = tell(attempt, "k", Message(step=99), "ingest", moment(2))
    assert (new, again_new, second.pk, second.text) == (True, False, first.pk, "step 1")


@pytest.mark.parametrize("state", [JobState.PENDING, JobState.FAILED, JobState.REQUEUED, JobState.GONE])
def test_who_does_not_run_tells_nothing(cluster: Cluster, state: JobState) -> None:
    attempt = started(cluster)
    Attempt.objects.filter(pk=attempt.pk).update(state=state.value)
    with pytest.raises(NotRunning):
        tell(attempt, "k", Message(step=1), "ingest", moment(1))
    assert not ToldLine.objects.exists()


def test_messages_are_bounded(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "KEPT", 20)
    attempt = started(cluster)
    for second in range(40):
        told(attempt, Message(step=second + 1), at=second)
        if second % 10 == 9:
            read(attempt, at=second)
    assert ToldLine.objects.filter(attempt=attempt).count() == 20
    assert again(attempt).last_step == 40
    assert Feed.objects.get(attempt=attempt, source="told").position["count"] == 40


def test_who_tells_too_often_is_told_to_wait(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "IN_EACH", 10)
    attempt = started(cluster)
    for number in range(10):
        tell(attempt, str(number), Message(step=number), "ingest", moment(number))
    with pytest.raises(TooMuch) as refused:
        tell(attempt, "more", Message(step=1), "ingest", moment(30))
    assert timedelta() < refused.value.wait <= timedelta(seconds=60)
    tell(attempt, "later", Message(step=999), "ingest", moment(61))


def test_what_nobody_reads_does_not_pile_up(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "UNREAD", 10)
    attempt = started(cluster)
    for number in range(10):
        tell(attempt, str(number), Message(step=number), "ingest", moment(number))
    with pytest.raises(TooMuch, match="not been read"):
        tell(attempt, "more", Message(step=1), "ingest", moment(200))
    read(attempt, at=201)
    assert again(attempt).last_step == 9


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (Message(step=4200), "step 4200"),
        (Message(step=4200, total=5000, loss=2.31), "step 4200/5000 | loss 2.31"),
        (Message(step=1, loss=float("nan")), "step 1 | loss nan"),
        (Message(step=1, loss=float("-inf")), "step 1 | loss -inf"),
        (Message(step=1, rate=12.5), "step 1 | tokens_per_sec: 12.500000"),
        (Message(step=1, seconds=0.81), "step 1 | s/it | timing_s/step: 0.810000"),
        (Message(step=7, phase="saving", path="/c"), "step 7\nsaving checkpoint at iteration 7 to /c"),
        (Message(phase="loading"), " loading checkpoint from told"),
        (Message(phase="evaluating"), "***** Running Evaluation *****"),
        (Message(phase="training"), "** Finished validation **"),
        (Message(step=3, phase="training"), "step 3"),
        (Message(phase="ended"), "Training complete"),
        (Message(deed="loaded", at_step=5), " successfully loaded checkpoint from told at iteration 5"),
    ],
)
def test_how_a_message_reads_as_a_log(message: Message, line: str) -> None:
    assert lines_of(message) == line


@pytest.mark.parametrize(
    ("message", "phase", "step"),
    [
        (Message(phase="saving", path="/c"), "saving", 30),
        (Message(phase="loading"), "loading", 30),
        (Message(phase="evaluating"), "evaluating", 30),
        (Message(step=31, seconds=0.5), "training", 31),
        (Message(step=31, total=900, loss=float("inf"), rate=7.0, seconds=0.5), "training", 31),
        (Message(step=31, phase="saving"), "saving", 31),
        (Message(phase="ended"), "ended", 30),
    ],
)
def test_every_phase_that_is_told_is_entered(cluster: Cluster, message: Message, phase: str, step: int) -> None:
    attempt = started(cluster)
    train(attempt, steps=range(1, 31))
    told(attempt, message, at=31)
    read(attempt, at=32)
    assert (again(attempt).phase, again(attempt).last_step) == (phase, step)
    told(attempt, Message(phase="training"), at=33)
    read(attempt, at=34)
    assert again(attempt).phase == ("ended" if phase == "ended" else "training")


class TestBesideALogStore:
    """Its lines come by the cluster, what is told by the attempt: one turn reads both."""

    def test_both_move_the_attempt(self) -> None:
        cluster, pretend = stored_cluster("loki"), Pretend("loki")
        attempt = make_attempt(cluster)
        job_line(pretend, attempt, megatron(5, store_time(-1)))
        tell(attempt, "k", Message(deed="saved", at_step=5, path="/c"), "ingest", store_time(-1))
        assert read_store(cluster, pretend, turn=catalogue_turn)
        seen = again(attempt)
        assert (seen.last_step, seen.last_checkpoint_step) == (5, 5)
        assert not ToldLine.objects.filter(unread=True).exists()

    def test_what_is_told_is_read_though_the_store_has_nothing_or_is_gone(self) -> None:
        cluster, pretend = stored_cluster("loki"), Pretend("loki")
        attempt = make_attempt(cluster)
        tell(attempt, "k", Message(step=1), "ingest", store_time(-1))
        assert read_store(cluster, pretend, turn=catalogue_turn)
        assert again(attempt).last_step == 1

        def gone(_request: Request) -> Answer:
            raise StoreTrouble("no answer")

        tell(attempt, "l", Message(step=2), "ingest", store_time(-1))
        assert read_store(cluster, gone, store_time(2), turn=catalogue_turn)
        assert again(attempt).last_step == 2

    def test_a_job_that_tells_all_is_seen_without_the_store_until_it_had_a_line(self) -> None:
        cluster = stored_cluster(
            "loki", log_store_unseen_since=store_time(-100), log_store_unseen_reason="no answer"
        )
        told_alone, logged = make_attempt(cluster), make_attempt(cluster)
        Feed.objects.create(
            cluster=cluster, attempt=logged, source="loki", stream="s", stream_key="s", position={"offset": 9}
        )
        for attempt in (told_alone, logged):
            for number in range(25):
                tell(attempt, str(number), Message(step=number + 1), "ingest", store_time(number - 30))

        def gone(_request: Request) -> Answer:
            raise StoreTrouble("no answer")

        assert read_store(cluster, gone, store_time(1), turn=catalogue_turn)
        assert (kinds(told_alone), kinds(logged)) == ([], ["blind"])
        assert again(logged).last_step == 25

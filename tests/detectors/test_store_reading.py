"""Do the lines of a log store reach the right attempts once, and is a store that gives none *cannot see*?"""

from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

import pytest

from advisor_api.models import Advice
from advisor_api.tasks import decide_due
from audit.models import AuditEvent
from detectors import store_reading, storing, tasks
from detectors.models import Anomaly, Excerpt, Feed, Verdict, Watch
from detectors.store_claims import Claim, claim_cluster, due_clusters
from detectors.store_reading import read_cluster
from detectors.stores.store import Answer, Request, StoreTrouble
from schedulers.states import JobState
from tests.detectors.rows import ECC, again, end, make_attempt, make_cluster, make_nodes, megatron
from tests.detectors.stores.pretend import Pretend
from tests.detectors.stores.served import served
from tests.detectors.test_reading import counting, seen
from workloads.models import Attempt, Cluster

pytestmark = pytest.mark.django_db
LABELS = {"job_id": "job_id", "node": "node", "rank": "rank", "filename": "filename"}


def at(seconds: float = 0) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


def ns(moment: datetime) -> int:
    return int(moment.timestamp()) * 1_000_000_000 + moment.microsecond * 1000


@pytest.fixture(params=["loki", "victorialogs"])
def pretend(request: pytest.FixtureRequest) -> Pretend:
    return Pretend(request.param)


@pytest.fixture
def cluster(pretend: Pretend) -> Cluster:
    return stored_cluster(pretend.kind)


def stored_cluster(kind: str, **changes: Any) -> Cluster:
    values = {
        "log_store": kind,
        "log_store_address": "http://127.0.0.1:1",
        "log_store_job_lines": '{job_id!=""}',
        "log_store_node_lines": '{unit="kernel"}',
        "log_store_labels": LABELS,
        "seen_at": at(),
    }
    return make_cluster(**{**values, **changes})


def job_line(pretend: Pretend, attempt: Attempt, text: str, moment: datetime | None = None, **labels: str) -> None:
    own = {"job_id": str(attempt.job.number), "node": "n01", **labels}
    pretend.push(ns(moment or at(-1)), text, own)


def claimed(cluster: Cluster) -> Claim:
    claim = claim_cluster(cluster.pk, at(100_000))
    assert claim is not None
    return claim


def read(cluster: Cluster, ask: Any, moment: datetime | None = None, turn: Any = counting) -> bool:
    if isinstance(ask, Pretend):
        ask = ask.answer
    return read_cluster(claimed(cluster), moment or at(), ask, turn)


def last_lines(attempt: Attempt) -> list[str]:
    return list(Watch.objects.get(attempt=attempt, detector="count").state["lines"])


def cursor(cluster: Cluster, selector: str = "job_id") -> dict[str, Any]:
    position: dict[str, Any] = Feed.objects.get(cluster=cluster, attempt=None, stream__contains=selector).position
    return position


class TestATurn:
    def test_every_attempt_gains_its_own_lines_with_the_cursor(self, cluster: Cluster, pretend: Pretend) -> None:
        first, second = make_attempt(cluster), make_attempt(cluster)
        job_line(pretend, first, "one")
        job_line(pretend, second, "fault 2")
        job_line(pretend, first, "two")
        assert read(cluster, pretend)
        assert (seen(first), seen(second)) == (2, 1)
        assert Anomaly.objects.get().attempt == second
        feed = Feed.objects.get(attempt=first)
        assert (feed.source, feed.position["offset"]) == (pretend.kind, len("one\ntwo\n"))
        assert cursor(cluster)["nobody"] == 0
        assert Cluster.objects.get(pk=cluster.pk).log_store_read_at is not None

    def test_one_query_for_a_selector_and_none_for_a_job(self, cluster: Cluster, pretend: Pretend) -> None:
        for _ in range(10):
            job_line(pretend, make_attempt(cluster), "a line")
        assert read(cluster, pretend)
        assert len(pretend.asked) == 2
        assert Watch.objects.count() == 10

    def test_what_was_read_is_not_read_again(self, cluster: Cluster, pretend: Pretend) -> None:
        attempt = make_attempt(cluster)
        job_line(pretend, attempt, "one")
        for seconds in (0, 1, 40):
            assert read(cluster, pretend, at(seconds))
        assert seen(attempt) == 1
        job_line(pretend, attempt, "late", at(-9))
        job_line(pretend, attempt, "new", at())
        assert read(cluster, pretend, at(80))
        assert seen(attempt) == 3

    def test_pages_are_stored_one_after_the_other(self, cluster: Cluster, pretend: Pretend) -> None:
        attempt = make_attempt(cluster, started_at=at(-60))
        for number in range(25):
            job_line(pretend, attempt, f"line {number}", at(-50 + number))
        store = type(store_reading.place_of(cluster).store)
        with mock.patch.object(store, "page", 10):
            assert read(cluster, pretend)
        assert seen(attempt) == 25 and last_lines(attempt) == ["line 22", "line 23", "line 24"]
        assert Feed.objects.get(cluster=cluster, attempt=None, stream__contains="job_id").revision >= 3

    def test_no_more_than_a_turns_lines_and_the_rest_at_once(self, cluster: Cluster, pretend: Pretend) -> None:
        attempt = make_attempt(cluster, started_at=at(-60))
        for number in range(25):
            job_line(pretend, attempt, f"line {number}", at(-50 + number))
        store = type(store_reading.place_of(cluster).store)
        with mock.patch.object(store, "page", 10), mock.patch.object(store_reading, "LINES", 10):
            assert read(cluster, pretend)
            assert seen(attempt) < 25 and due_clusters(at(0.1)) == [cluster.pk]
            for _turn in range(3):
                assert read(cluster, pretend)
        assert seen(attempt) == 25

    def test_streams_are_told_apart_by_file_node_and_rank(self, cluster: Cluster, pretend: Pretend) -> None:
        attempt = make_attempt(cluster)
        job_line(pretend, attempt, "fault a", filename="/logs/a", rank="3")
        job_line(pretend, attempt, "fault b", filename="/logs/a", node="n02")
        assert read(cluster, pretend)
        streams = {row.evidence[0]["stream"] for row in Anomaly.objects.all()}
        assert streams == {'filename="/logs/a", node="n01", rank="3"', 'filename="/logs/a", node="n02"'}

    def test_an_entry_of_several_lines_is_several_lines(self, cluster: Cluster, pretend: Pretend) -> None:
        attempt = make_attempt(cluster)
        job_line(pretend, attempt, "Traceback\n  File\nfault \0")
        assert read(cluster, pretend)
        assert seen(attempt) == 3 and Anomaly.objects.get().evidence[0]["offset"] == len("Traceback\n  File\n")

    def test_text_around_evidence_is_kept(self, cluster: Cluster, pretend: Pretend) -> None:
        attempt = make_attempt(cluster)
        for text in ("before", "fault", "after"):
            job_line(pretend, attempt, text, at(-3 + len(text) / 10))
        assert read(cluster, pretend)
        assert set(Excerpt.objects.get().text.split()) == {"before", "fault", "after"}


class TestBelonging:
    def test_a_line_before_the_listing_waits_for_its_attempt(self, cluster: Cluster, pretend: Pretend) -> None:
        pretend.push(ns(at(-1)), "first words", {"job_id": "1000"})
        pretend.push(ns(at(-60)), "of a job that is not watched", {"job_id": "7"})
        assert read(cluster, pretend)
        assert cursor(cluster)["nobody"] == 1 and cursor(cluster)["waits_from"] > 0
        attempt = make_attempt(cluster)
        assert attempt.job.number == 1000
        Cluster.objects.filter(pk=cluster.pk).update(seen_at=at(20))
        assert read(cluster, pretend, at(21))
        assert seen(attempt) == 1 and cursor(cluster)["waits_from"] == 0
        assert cursor(cluster)["nobody"] == 1

    def test_a_line_that_waits_survives_a_store_that_breaks_off(self, cluster: Cluster, pretend: Pretend) -> None:
        pretend.push(ns(at(-1)), "first words", {"job_id": "1000"})
        Cluster.objects.filter(pk=cluster.pk).update(seen_at=at(-30))
        assert read(cluster, pretend)
        attempt = make_attempt(cluster)
        other = make_attempt(cluster)
        for second in range(30, 400, 10):
            job_line(pretend, other, f"line {second}", at(second))

        def breaking(request: Request) -> Answer:
            if len(pretend.asked) > 4:
                raise StoreTrouble("broke off")
            return pretend.answer(request)

        store = type(store_reading.place_of(cluster).store)
        Attempt.objects.filter(pk=attempt.pk).update(started_at=at(9000))  # not listed yet
        with mock.patch.object(store, "page", 10):
            assert read(cluster, breaking, at(420))
        Attempt.objects.filter(pk=attempt.pk).update(started_at=at(-9))
        Cluster.objects.filter(pk=cluster.pk).update(log_store_retry_at=None)
        assert read(cluster, pretend, at(460))
        assert seen(attempt) == 1 and seen(other) == 37

    def test_what_fits_two_attempts_belongs_to_none_is_counted_and_said(
        self, cluster: Cluster, pretend: Pretend
    ) -> None:
        first = make_attempt(cluster, state=JobState.REQUEUED.value, started_at=at(-90), ended_at=at(-20))
        second = make_attempt(cluster, job=first.job, index=1, started_at=at(-10))
        job_line(pretend, first, "whose?", at(-5))
        assert read(cluster, pretend)
        assert cursor(cluster)["several"] == 1
        assert not Watch.objects.filter(state__has_key="lines", attempt=second).exclude(state__seen=0).exists()
        blind = again(second)
        assert blind.blind_since is not None and "map the label restart" in blind.blind_reason

    def test_a_node_that_only_one_attempt_had_tells_whose_it_is(self, cluster: Cluster, pretend: Pretend) -> None:
        first = make_attempt(cluster, state=JobState.REQUEUED.value, started_at=at(-90), ended_at=at(-20))
        second = make_attempt(cluster, job=first.job, index=1, started_at=at(-10), nodes=["n01", "n02", "n09"])
        Cluster.objects.filter(pk=cluster.pk).update(seen_at=at(20))
        job_line(pretend, first, "from a node of both", at(-5))
        job_line(pretend, first, "mine", at(-4), node="n09.example.org")
        job_line(pretend, first, "a process that outlived its attempt", at(-3), node="n03")
        assert read(cluster, pretend)
        assert last_lines(second) == ["mine"] and last_lines(first) == ["a process that outlived its attempt"]
        assert cursor(cluster)["several"] == 1
        assert again(second).blind_since is None

    @pytest.mark.parametrize("hours", [0, 2])
    def test_lines_that_begin_with_the_time_are_seen_at_once_after_a_requeue(
        self, cluster: Cluster, pretend: Pretend, hours: int
    ) -> None:
        """The zone is known from the lines of the attempt before."""
        first = make_attempt(cluster, started_at=at(-200))
        zone = timedelta(hours=hours)

        def step(number: int, seconds: float, late: float = 0.0) -> None:
            text = megatron(number, at(seconds) + zone)
            job_line(pretend, first, text, at(seconds + late), filename="/logs/a")

        for number in range(1, 11):
            step(number, number * 5 - 190)
        assert read(cluster, pretend, at(-130), turn=store_reading.catalogue_turn)
        assert again(first).last_step == 10
        end(first, JobState.REQUEUED, at(-130))
        second = make_attempt(cluster, job=first.job, index=1, started_at=at(-100))
        step(11, -135, late=90)  # printed by the first, stamped by a shipper that came late
        for number in range(5, 12):
            step(number, number * 5 - 115)
        Cluster.objects.filter(pk=cluster.pk).update(seen_at=at())
        assert read(cluster, pretend, turn=store_reading.catalogue_turn)
        assert again(second).last_step == 11 and again(second).blind_since is None
        assert again(first).last_step == 10 and cursor(cluster)["several"] == 1

    def test_with_a_restart_count_it_belongs(self, cluster: Cluster, pretend: Pretend) -> None:
        Cluster.objects.filter(pk=cluster.pk).update(log_store_labels={**LABELS, "restart": "restart"})
        first = make_attempt(cluster, state=JobState.REQUEUED.value, started_at=at(-90), ended_at=at(-20))
        second = make_attempt(cluster, job=first.job, index=1, started_at=at(-10))
        job_line(pretend, first, "mine", at(-5), restart="1")
        assert read(cluster, pretend)
        assert seen(second) == 1 and cursor(cluster)["several"] == 0

    def test_a_line_of_a_node_joins_the_attempt_that_runs_there_and_is_no_sign_of_life(
        self, cluster: Cluster, pretend: Pretend
    ) -> None:
        attempt = make_attempt(cluster)
        text = "NVRM: Xid (PCI:0000:9d:00): 79, pid=1, name=python3, GPU has fallen off the bus."
        pretend.push(ns(at(-1)), text, {"unit": "kernel", "node": "n02"})
        pretend.push(ns(at(-1)), text, {"unit": "kernel", "node": "n09"})
        assert read(cluster, pretend, turn=store_reading.catalogue_turn)
        anomaly = Anomaly.objects.get(signature="xid.79")
        assert (anomaly.attempt, anomaly.nodes, anomaly.count) == (attempt, ["n02"], 1)
        assert not Feed.objects.filter(attempt=attempt).exists()
        assert cursor(cluster, "kernel")["nobody"] == 1


class TestCannotSee:
    @pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503])
    def test_an_error_is_said_on_the_cluster_and_blinds_its_attempts(
        self, cluster: Cluster, pretend: Pretend, status: int
    ) -> None:
        attempt = make_attempt(cluster)
        job_line(pretend, attempt, "one")
        assert read(cluster, pretend)
        pretend.fails = Answer(status, b"no <b>way</b>\n")
        moments = [at(60), at(66)]
        for moment in moments:
            Cluster.objects.filter(pk=cluster.pk).update(log_store_retry_at=None)
            assert read(cluster, pretend, moment)
        unseen = Cluster.objects.get(pk=cluster.pk)
        assert unseen.log_store_unseen_since == moments[0]
        assert f"answered {status}" in unseen.log_store_unseen_reason
        blind = again(attempt)
        assert blind.blind_since == moments[1] and "the log store cannot be seen since" in blind.blind_reason
        said = list(AuditEvent.objects.filter(type="blind").order_by("pk").values_list("sentence", flat=True))
        assert len(said) == 2 and said[0].startswith(f"Cannot see the log store of {cluster.name}")

    def test_a_silent_job_behind_a_store_that_fails_is_no_hang(self, cluster: Cluster, pretend: Pretend) -> None:
        attempt = make_attempt(cluster, started_at=at(-100))
        other = make_attempt(cluster, started_at=at(-100))
        for second in range(-90, 0):
            job_line(pretend, attempt, megatron(second + 100, at(second)), at(second))
        read(cluster, pretend, turn=store_reading.catalogue_turn)
        pretend.fails = Answer(503, b"busy")
        for seconds in (60, 120, 400, 900, 3000):
            Attempt.objects.update(read_due_at=at())
            read(cluster, pretend, at(seconds), turn=store_reading.catalogue_turn)
        assert set(Anomaly.objects.values_list("kind", flat=True)) == {"blind"}
        pretend.fails = None
        job_line(pretend, attempt, megatron(1000, at(3001)), at(3001))
        Attempt.objects.update(read_due_at=at())
        read(cluster, pretend, at(3200), turn=store_reading.catalogue_turn)
        assert again(attempt).blind_since is None and other.blind_since is None
        assert not Anomaly.objects.filter(kind="hang", refuted_at=None).exists()
        assert AuditEvent.objects.filter(sentence__contains="Sees the log store of").count() == 1

    def test_a_moment_without_an_answer_blinds_nobody(self, cluster: Cluster, pretend: Pretend) -> None:
        attempt = make_attempt(cluster)
        pretend.fails = Answer(503, b"busy")
        assert read(cluster, pretend)
        pretend.fails = None
        Cluster.objects.filter(pk=cluster.pk).update(log_store_retry_at=None)
        job_line(pretend, attempt, "one")
        assert read(cluster, pretend, at(2))
        assert again(attempt).blind_since is None and seen(attempt) == 1

    def test_it_is_asked_less_and_less_often(self, cluster: Cluster, pretend: Pretend) -> None:
        pretend.fails = Answer(503, b"busy")
        start = at()
        for seconds in range(300):
            read(cluster, pretend, start + timedelta(seconds=seconds))
        assert 8 <= len(pretend.asked) <= 40

    def test_what_was_read_before_the_error_is_kept_and_not_read_again(
        self, cluster: Cluster, pretend: Pretend
    ) -> None:
        attempt = make_attempt(cluster, started_at=at(-60))
        for number in range(25):
            job_line(pretend, attempt, f"line {number}", at(-50 + number))

        def breaking(request: Request) -> Answer:
            if len(pretend.asked) == 2:
                raise StoreTrouble("broke off")
            return pretend.answer(request)

        store = type(store_reading.place_of(cluster).store)
        with mock.patch.object(store, "page", 10):
            assert read(cluster, breaking)
            assert 0 < seen(attempt) < 25
            Cluster.objects.filter(pk=cluster.pk).update(log_store_retry_at=None)
            assert read(cluster, pretend)
        assert seen(attempt) == 25

    def test_a_wrong_credential_is_said(self, cluster: Cluster, tmp_path: Any, settings: Any) -> None:
        settings.REKINDLE = {**settings.REKINDLE, "REKINDLE_CREDENTIALS_DIR": str(tmp_path)}
        Cluster.objects.filter(pk=cluster.pk).update(log_store_credential="loki")
        assert read(cluster, None)
        said = Cluster.objects.get(pk=cluster.pk).log_store_unseen_reason
        assert said == "the credential loki cannot be read: No such file or directory"

    def test_lines_nobody_finds_are_said_to_be_missing(self, cluster: Cluster, pretend: Pretend) -> None:
        attempt = make_attempt(cluster, started_at=at(-120))
        assert read(cluster, pretend)
        assert (
            f'no line of it was found; tried: {{job_id!=""}} with job_id={attempt.job.number}'
            in again(attempt).blind_reason
        )


class TestCrashesAndRaces:
    @pytest.mark.parametrize(
        "place", ["_move_feeds", "_remember", "store_findings", "_observe", "_keep", "_progress"]
    )
    def test_dying_inside_the_transaction_loses_and_repeats_nothing(
        self, cluster: Cluster, pretend: Pretend, place: str
    ) -> None:
        attempt = make_attempt(cluster)
        job_line(pretend, attempt, "one")
        job_line(pretend, attempt, "fault 1")
        with mock.patch.object(storing, place, side_effect=SystemExit), pytest.raises(SystemExit):
            read(cluster, pretend)
        assert not Feed.objects.exists() and not Anomaly.objects.exists() and not Watch.objects.exists()
        assert read(cluster, pretend)
        assert seen(attempt) == 2 and Anomaly.objects.count() == 1

    def test_dying_between_the_transactions_of_a_page(self, cluster: Cluster, pretend: Pretend) -> None:
        attempt = make_attempt(cluster, started_at=at(-60))
        for number in range(25):
            job_line(pretend, attempt, f"line {number // 2}", at(-50 + number))
        real, calls = store_reading.store, []

        def dying(*args: Any) -> None:
            calls.append(args)
            if len(calls) == 2:
                raise SystemExit
            real(*args)

        with mock.patch.object(store_reading, "TAKEN", 10):
            with mock.patch.object(store_reading, "store", dying), pytest.raises(SystemExit):
                read(cluster, pretend)
            assert seen(attempt) == 10
            assert read(cluster, pretend)
        assert seen(attempt) == 25

    def test_whoever_was_too_slow_drops_everything(self, cluster: Cluster, pretend: Pretend) -> None:
        attempt = make_attempt(cluster)
        job_line(pretend, attempt, "one")
        slow = claimed(cluster)

        def overtaken(request: Request) -> Answer:
            if len(pretend.asked) == 0:
                pretend.asked.append(request)
                assert read(cluster, pretend)  # its lease is over, as far as the other one knows
            return pretend.answer(request)

        assert read_cluster(slow, at(), overtaken, counting) is False
        assert seen(attempt) == 1

    def test_only_one_claims(self, cluster: Cluster) -> None:
        assert due_clusters(at()) == [cluster.pk]
        assert claim_cluster(cluster.pk, at()) is not None
        assert claim_cluster(cluster.pk, at(1)) is None and due_clusters(at(1)) == []
        assert due_clusters(at(60)) == [cluster.pk]

    def test_an_attempt_made_due_meanwhile_stays_due(self, cluster: Cluster, pretend: Pretend) -> None:
        attempt = make_attempt(cluster)
        job_line(pretend, attempt, "one")
        due = at(-5)

        def observed(*args: Any) -> Any:
            Attempt.objects.filter(pk=attempt.pk).update(read_due_at=due)
            return counting(*args)

        with mock.patch.object(store_reading, "_turn_due", return_value=False):
            assert read(cluster, pretend, turn=observed)
        assert seen(attempt) == 1 and again(attempt).read_due_at == due

    def test_one_attempt_that_cannot_be_understood_stops_no_other(self, cluster: Cluster, pretend: Pretend) -> None:
        bad, good = make_attempt(cluster), make_attempt(cluster)
        job_line(pretend, bad, "break")
        job_line(pretend, good, "fine")

        def breaking(states: Any, records: Any, context: Any, moment: datetime) -> Any:
            if any(record.line == "break" for record in records):
                raise ZeroDivisionError
            return counting(states, records, context, moment)

        with mock.patch.object(store_reading, "_turn_due", return_value=False):
            assert read(cluster, pretend, turn=breaking)
        assert seen(good) == 1 and "ZeroDivisionError" in again(bad).blind_reason

    def test_one_attempt_that_cannot_be_stored_stops_no_other(self, cluster: Cluster, pretend: Pretend) -> None:
        bad, good = make_attempt(cluster), make_attempt(cluster)
        job_line(pretend, bad, "fault bad")
        job_line(pretend, good, "fine")
        real = storing.store_findings

        def breaking(turned: Any, moment: datetime) -> Any:
            if turned.attempt == bad:
                raise ValueError("too long")
            return real(turned, moment)

        with (
            mock.patch.object(storing, "store_findings", breaking),
            mock.patch.object(store_reading, "_turn_due", return_value=False),
        ):
            assert read(cluster, pretend)
        assert seen(good) == 1 and not Watch.objects.filter(attempt=bad).exists()
        assert again(bad).blind_since is not None and cursor(cluster)["ns"] > 0


class TestDoors:
    def test_each_due_store_is_a_task_of_its_own(self, cluster: Cluster) -> None:
        other = stored_cluster("loki")
        stored_cluster("loki", enabled=False)
        stored_cluster("loki", log_store_due_at=at(60))
        make_cluster()
        with mock.patch.object(tasks.read_store, "apply_async") as started:
            tasks.read_stores()
        assert {call.args[0] for call in started.call_args_list} == {(cluster.pk,), (other.pk,)}

    def test_a_cluster_without_a_store_is_left_alone(self) -> None:
        tasks.read_store(make_cluster().pk)
        assert not Feed.objects.exists()

    def test_a_store_that_is_not_there_is_said(self, cluster: Cluster) -> None:
        attempt = make_attempt(cluster)
        Cluster.objects.filter(pk=cluster.pk).update(log_store_unseen_since=at(-10))
        tasks.read_store(cluster.pk)
        assert "127.0.0.1:1 cannot be reached: Connection refused" in again(attempt).blind_reason


class TestFiles:
    def test_the_attempts_of_a_cluster_with_a_store_are_not_looked_for_in_files(self, cluster: Cluster) -> None:
        attempt = make_attempt(cluster)
        tasks.read_due()
        assert again(attempt).read_due_at == attempt.read_due_at and again(attempt).blind_since is None

    def test_the_end_is_waited_for_as_long_as_lines_may_come(self, cluster: Cluster, pretend: Pretend) -> None:
        attempt = make_attempt(cluster)
        job_line(pretend, attempt, "one")
        assert read(cluster, pretend)
        ended = end(attempt, at=at())
        assert ended.ended_at is not None
        assert read(cluster, pretend, at(20))
        assert again(attempt).read_due_at == ended.ended_at + timedelta(seconds=300)
        job_line(pretend, attempt, "fault late", at(1))
        assert read(cluster, pretend, at(30))
        assert seen(attempt) == 2 and again(attempt).judge_due_at is not None
        Attempt.objects.update(read_due_at=at())
        assert read(cluster, pretend, ended.ended_at + timedelta(seconds=301))
        assert again(attempt).read_due_at is None


@pytest.mark.parametrize("kind", ["loki", "victorialogs"])
def test_a_crash_is_detected_judged_and_advised_on_over_the_network(kind: str) -> None:
    """The whole way with an HTTP server: a job that trains, loses a GPU and fails."""
    pretend = Pretend(kind)
    with served(pretend.answer) as address:
        cluster = stored_cluster(kind, log_store_address=address)
        make_nodes(cluster)
        attempt = make_attempt(cluster, started_at=at(-120))
        for second in range(-100, -20):
            job_line(pretend, attempt, megatron(second + 101, at(second)), at(second), filename="/logs/a")
        tasks.read_store(cluster.pk)
        trained = again(attempt)
        assert trained.last_step == 80 and trained.blind_since is None
        job_line(pretend, attempt, ECC, at(-10), node="n03", filename="/logs/a")
        end(attempt, at=at(-8))
        Cluster.objects.filter(pk=cluster.pk).update(log_store_due_at=None)
        tasks.read_store(cluster.pk)
    verdict = Verdict.objects.get()
    assert verdict.sentence.endswith("on n03") and verdict.action == "restart_exclude"
    assert Anomaly.objects.get(signature="cuda.ecc").nodes == ["n03"]
    decide_due()
    advice = Advice.objects.get()
    assert advice.attempt == attempt and advice.operation == "restart"

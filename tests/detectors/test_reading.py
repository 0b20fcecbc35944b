"""Does a turn store what is new once, whole or not at all?"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.event_type import EventType
from audit.models import AuditEvent
from detectors import gathering, reading, storing
from detectors.attribution.replaying import judged_again
from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.records import Context, Evidence, Finding, Outcome, Progress, Record
from detectors.gathering import LINES_TOGETHER, News, gather
from detectors.judging import collect_facts, judge
from detectors.models import Anomaly, Excerpt, Feed, Observation, Verdict, Watch
from detectors.reading import read_attempt, read_attempts
from detectors.sources.files import FileSource
from detectors.sources.source import Asked, Found, Portion, Stream
from detectors.tasks import read_shard
from detectors.turned import PATIENCE
from schedulers.states import JobState
from tests.detectors.rows import ECC, Log, again, end, make_attempt, make_cluster, megatron
from workloads.models import Attempt, Job
from workloads.progress_models import ProgressPoint

pytestmark = pytest.mark.django_db


def now() -> datetime:
    return datetime.now(UTC)


def counting(
    states: Mapping[str, Mapping[str, Any]], records: Sequence[Record], context: Context, at: datetime
) -> Outcome:
    """A stand-in detector: remembers how many lines it saw, and finds one symptom for each line with `fault`."""
    seen = int(states.get("count", {}).get("seen", 0))
    findings = tuple(
        Finding(
            key=f"fault:{record.line}",
            kind=AnomalyKind.CRASH,
            sentence=f"Line {record.line}.",
            happened_at=record.read_at,
            basis="file",
            signature="cuda.ecc",
            layer=Layer.HARDWARE_GPU,
            evidence=(Evidence(record.stream, record.offset, record.line),),
            confidence=0.9,
        )
        for record in records
        if "fault" in record.line
    )
    states = {"count": {"seen": seen + len(records), "lines": [record.line for record in records][-3:]}}
    return Outcome(states=states, findings=findings, progress=Progress(phase="training"), rank_hosts={0: "n01"})


def seen(attempt: Attempt) -> int:
    return int(Watch.objects.get(attempt=attempt, detector="count").state["seen"])


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    return make_attempt(make_cluster(tmp_path))


class TestATurn:
    def test_cursor_memory_anomaly_observation_and_event_are_stored_together(self, attempt: Attempt) -> None:
        Log.of(attempt).write("one", "fault 1", "two")
        assert read_attempt(attempt, now(), counting)
        feed = Feed.objects.get()
        assert (feed.position["offset"], feed.revision) == (16, 1)
        assert seen(attempt) == 3
        anomaly = Anomaly.objects.get()
        assert (anomaly.key, anomaly.signature, anomaly.evidence[0]["offset"]) == ("fault:fault 1", "cuda.ecc", 4)
        assert Observation.objects.get().value == {"0": "n01"}
        event = AuditEvent.objects.get(type=EventType.ANOMALY)
        assert (event.sentence, event.pattern, event.attempt_label) == ("Line fault 1.", "cuda.ecc", str(attempt))
        assert Watch.objects.get().catalogue == catalogue().version

    def test_the_next_turn_goes_on_behind_the_first(self, attempt: Attempt) -> None:
        log = Log.of(attempt)
        log.write("one", "fault 1")
        read_attempt(attempt, now(), counting)
        log.write("two", "fault 2")
        read_attempt(again(attempt), now(), counting)
        assert seen(attempt) == 4
        assert sorted(Anomaly.objects.values_list("key", flat=True)) == ["fault:fault 1", "fault:fault 2"]

    def test_an_anomaly_found_again_grows_without_a_second_event(self, attempt: Attempt) -> None:
        log = Log.of(attempt)
        log.write(ECC)
        read_attempt(attempt, now())
        first = Anomaly.objects.get(signature="cuda.ecc")
        log.write(ECC, ECC)
        read_attempt(again(attempt), now())
        grown = Anomaly.objects.get(signature="cuda.ecc")
        assert (first.count, grown.count, grown.nodes) == (1, 3, ["n03"])
        assert AuditEvent.objects.filter(type=EventType.ANOMALY).count() == 1

    def test_an_idle_attempt_writes_its_next_turn_and_nothing_else(self, attempt: Attempt) -> None:
        Log.of(attempt).write("one", megatron(1, now()), megatron(2, now()))
        read_attempt(attempt, now())
        before = again(attempt)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            read_attempt(before, now())
        written = [q["sql"] for q in queries if not q["sql"].startswith(("SELECT", "SAVEPOINT", "RELEASE"))]
        assert len(written) == 1 and "read_due_at" in written[0]

    def test_progress_goes_to_the_attempt(self, attempt: Attempt) -> None:
        start = now() - timedelta(seconds=9)
        Log.of(attempt).write(*(megatron(n, start + timedelta(seconds=n)) for n in range(1, 8)))
        read_attempt(attempt, now())
        stored = again(attempt)
        assert (stored.first_step, stored.last_step, stored.phase) == (1, 7, "training")
        assert ProgressPoint.objects.filter(attempt=attempt).count() == 7

    def test_hostile_text_is_stored_safe(self, attempt: Attempt) -> None:
        Log.of(attempt).path.write_bytes(b"fault \x00\xff\xed\xa0\x80<script>\x1b[31m\n")
        assert read_attempt(attempt, now(), counting)
        anomaly = Anomaly.objects.get()
        assert "\0" not in anomaly.sentence and anomaly.evidence[0]["line"].endswith("<script>\x1b[31m")

    def test_files_that_break_their_reader_blind_no_other_attempt(self, tmp_path: Path) -> None:
        """Names, folders and files are their owner's to choose."""
        cluster = make_cluster(tmp_path)
        broken, other = make_attempt(cluster), make_attempt(cluster)
        beyond = make_attempt(cluster)
        for attempt in (broken, other):
            Log.of(attempt).write(ECC)

        class Breaking(FileSource):
            def find(self, asked: Asked) -> Found:
                if str(beyond.job.number) in asked.patterns[0].glob:
                    raise RecursionError("as deep as a path")
                return super().find(asked)

            def read(self, asked: Asked, stream: Stream, *more: Any) -> Portion:
                if str(broken.job.number) in stream.name:
                    raise MemoryError
                return super().read(asked, stream, *more)

        with mock.patch.object(gathering, "SOURCES", (Breaking(),)):
            assert read_attempts([broken, beyond, other], now()) == 1
        assert list(Anomaly.objects.filter(signature="cuda.ecc").values_list("attempt", flat=True)) == [other.pk]
        assert "MemoryError" in again(broken).blind_reason and "RecursionError" in again(beyond).blind_reason

    def test_no_line_and_no_file_name_names_a_node_of_another_job(self, tmp_path: Path) -> None:
        """In every dialect that names hosts; a verdict could otherwise take somebody else's node away."""
        cluster = make_cluster(tmp_path, log_patterns=[str(tmp_path / "log-%N.out")])
        attempt = make_attempt(cluster, nodes=["n01", "n02"])
        fault = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
        (tmp_path / "log-n07.out").write_text(f"{fault}\n")
        Log.of(attempt).write(
            f"n07: [rank5]: {fault}",
            "n07:983:1261 [3] NCCL INFO comm 0x55f0aa rank 5 nranks 64 cudaDev 3 busId 9d000 - Init COMPLETE",
            "n07:983:983 [3] NCCL INFO Bootstrap : Using bond0:10.4.1.22<0>",
            f"(Worker pid=81123, ip=10.4.1.22) {fault}",
            f"2026-08-01 10:00:00,123 [INFO] [n07] [workload:61(5) infra:7(0)] {fault}",
            "Nov 29 12:00:00 n07 kernel: NVRM: Xid (PCI:0000:9d:00): 79, pid=1, GPU has fallen off the bus.",
            "slurmstepd: error: Node failure on n07",
            "srun: error: n[05-09]: tasks 0-63: Killed",
            "[RankMonitorServer3@n07:3] Did not get subsequent heartbeat. Waited 10.00 seconds.",
            "  host      : n07",
        )
        read_attempt(again(attempt), now())
        read_attempt(end(again(attempt)), now() + timedelta(seconds=30))
        verdict = judge(again(attempt), now() + timedelta(seconds=60))
        found = list(Anomaly.objects.filter(attempt=attempt))
        assert {"cuda.ecc", "xid.79", "slurm.task_killed"} <= {row.signature for row in found}
        assert {node for row in found for node in row.nodes} <= {"n01", "n02"}
        assert not any("n07" in str(row.value) for row in Observation.objects.filter(attempt=attempt))
        assert verdict is not None
        assert {one["host"] for one in verdict.body["implicated"]} <= {"n01", "n02"}

    def test_a_detector_that_breaks_stops_no_other_attempt(self, attempt: Attempt, tmp_path: Path) -> None:
        other = make_attempt(attempt.job.cluster)
        Log.of(attempt).write("break")
        Log.of(other).write("fine")

        def breaking(states: Any, records: Sequence[Record], context: Context, at: datetime) -> Outcome:
            if any(record.line == "break" for record in records):
                raise ZeroDivisionError
            return counting(states, records, context, at)

        assert read_attempts([attempt, other], now(), breaking) == 1
        assert Feed.objects.get().attempt == other

    def test_whoever_cannot_understand_a_log_is_blind_on_it(self, attempt: Attempt) -> None:
        def breaking(states: Any, records: Sequence[Record], context: Context, at: datetime) -> Outcome:
            raise ValueError("no such line")

        Log.of(attempt).write("a line")
        for _ in range(2):
            assert read_attempt(again(attempt), now(), breaking) is False
        blind = again(attempt)
        assert blind.blind_since is not None and "ValueError" in blind.blind_reason
        assert AuditEvent.objects.filter(type="blind").count() == 1  # said once
        assert read_attempt(blind, now()) is True
        assert again(attempt).blind_since is None
        assert AuditEvent.objects.filter(type="sight_regained").count() == 1

    def test_memories_of_an_older_catalogue_that_break_are_begun_anew(self, attempt: Attempt) -> None:
        Watch.objects.create(attempt=attempt, detector="count", catalogue="old", state={"seen": "nonsense"})
        Log.of(attempt).write("one")
        assert read_attempt(attempt, now(), counting)
        assert seen(attempt) == 1


class TestCrashes:
    """A worker dies between reading and committing: nothing lost, nothing twice."""

    @pytest.mark.parametrize(
        "place", ["_move_feeds", "_remember", "store_findings", "_observe", "_keep", "_progress"]
    )
    def test_dying_inside_the_transaction(self, attempt: Attempt, place: str) -> None:
        Log.of(attempt).write("one", "fault 1")
        with mock.patch.object(storing, place, side_effect=SystemExit), pytest.raises(SystemExit):
            read_attempt(attempt, now(), counting)
        assert not Feed.objects.exists() and not Anomaly.objects.exists() and not Watch.objects.exists()
        assert again(attempt).read_due_at == attempt.read_due_at
        assert not AuditEvent.objects.exists()
        assert read_attempt(again(attempt), now(), counting)
        assert seen(attempt) == 2 and Anomaly.objects.count() == 1 and AuditEvent.objects.count() == 1

    def test_dying_before_the_transaction(self, attempt: Attempt) -> None:
        Log.of(attempt).write("one", "fault 1")
        with mock.patch.object(reading, "store", side_effect=SystemExit), pytest.raises(SystemExit):
            read_attempt(attempt, now(), counting)
        assert read_attempt(again(attempt), now(), counting)
        assert seen(attempt) == 2 and Anomaly.objects.count() == 1


class TestTwoReaders:
    def interleaved(self, attempt: Attempt, first: Attempt) -> bool:
        """The second reader stores between the first one's reading and storing."""
        real = reading.store

        def overtaken(turns: Any, at: datetime) -> None:
            if turns[0][0].attempt is first and not getattr(self, "done", False):
                self.done = True
                assert read_attempt(again(attempt), at, counting)
            real(turns, at)

        with mock.patch.object(reading, "store", overtaken):
            return read_attempt(first, now(), counting)

    def test_on_a_new_stream(self, attempt: Attempt) -> None:
        Log.of(attempt).write("one", "fault 1")
        assert not self.interleaved(attempt, again(attempt))
        assert seen(attempt) == 2 and Feed.objects.get().revision == 1
        assert Anomaly.objects.count() == 1 and AuditEvent.objects.count() == 1

    def test_on_a_known_stream(self, attempt: Attempt) -> None:
        log = Log.of(attempt)
        log.write("one")
        read_attempt(attempt, now(), counting)
        log.write("two", "fault 1")
        assert not self.interleaved(attempt, again(attempt))
        assert seen(attempt) == 3 and Feed.objects.get().revision == 2 and Anomaly.objects.count() == 1

    def test_a_cursor_that_moved_drops_everything(self, attempt: Attempt) -> None:
        log = Log.of(attempt)
        log.write("one")
        read_attempt(attempt, now(), counting)
        log.write("fault 1")
        stale = again(attempt)
        real = reading.store

        def moved(turns: Any, at: datetime) -> None:
            Feed.objects.update(revision=99)
            real(turns, at)

        with mock.patch.object(reading, "store", moved):
            assert not read_attempt(stale, now(), counting)
        assert seen(attempt) == 1 and not Anomaly.objects.exists()

    def test_an_end_seen_meanwhile_drops_the_turn_and_stays_due(self, attempt: Attempt) -> None:
        Log.of(attempt).write("one")
        stale = again(attempt)
        ended = end(attempt)
        assert not read_attempt(stale, now(), counting)
        assert again(attempt).read_due_at == ended.read_due_at

    def test_one_overtaken_attempt_leaves_the_others_of_its_batch(self, attempt: Attempt) -> None:
        other = make_attempt(attempt.job.cluster)
        for one in (attempt, other):
            Log.of(one).write("one")
        stale = again(attempt)
        end(attempt)
        assert read_attempts([stale, other], now(), counting) == 1
        assert Feed.objects.get().attempt == other


class TestBlind:
    def test_no_roots_is_blind_at_once_and_says_what_to_set(self) -> None:
        attempt = make_attempt(make_cluster())
        read_attempt(attempt, now())
        stored = again(attempt)
        assert stored.blind_since is not None and "set the folders" in stored.blind_reason
        assert Anomaly.objects.get().kind == AnomalyKind.BLIND.value
        assert AuditEvent.objects.get().type == EventType.BLIND

    def test_no_file_is_blind_a_minute_after_the_start_and_lists_the_paths(self, attempt: Attempt) -> None:
        read_attempt(attempt, now())
        assert again(attempt).blind_since is None
        read_attempt(again(attempt), now() + timedelta(seconds=61))
        assert str(Log.of(attempt).path) in again(attempt).blind_reason

    def test_blindness_is_told_once_and_so_is_its_end(self, attempt: Attempt) -> None:
        late = now() + timedelta(seconds=61)
        for _turn in range(3):
            read_attempt(again(attempt), late)
        Log.of(attempt).write("one")
        read_attempt(again(attempt), late + timedelta(seconds=5))
        stored = again(attempt)
        assert (stored.blind_since, stored.blind_reason) == (None, "")
        assert list(AuditEvent.objects.values_list("type", flat=True)) == ["blind", "sight_regained"]
        assert Anomaly.objects.get().refuted_at is not None

    def test_somebody_elses_file_is_blind_with_the_reason(self, attempt: Attempt) -> None:
        Log.of(attempt).write("one")
        attempt.job.user_id = 4711
        attempt.job.save()
        read_attempt(again(attempt), now())
        assert "belongs to user id" in again(attempt).blind_reason and not Feed.objects.exists()

    def test_a_vanished_file_blinds_a_live_attempt_after_a_while(self, attempt: Attempt) -> None:
        log = Log.of(attempt)
        log.write("one")
        start = now()
        read_attempt(attempt, start)
        log.path.unlink()
        read_attempt(again(attempt), start + timedelta(seconds=30))
        assert again(attempt).blind_since is None
        read_attempt(again(attempt), start + timedelta(seconds=61))
        assert again(attempt).blind_since is not None

    def test_a_waiting_attempt_is_not_blind_and_not_due(self, attempt: Attempt) -> None:
        Attempt.objects.filter(pk=attempt.pk).update(state=JobState.PENDING.value, started_at=None)
        read_attempt(again(attempt), now() + timedelta(hours=1))
        stored = again(attempt)
        assert (stored.blind_since, stored.read_due_at) == (None, None)

    def test_a_blind_attempt_is_looked_at_less_often(self, settings: Any) -> None:
        attempt = make_attempt(make_cluster())
        at = now()
        read_attempt(attempt, at)
        assert again(attempt).read_due_at == at + timedelta(seconds=5)


class TestDue:
    def test_a_live_attempt_is_due_again_soon(self, attempt: Attempt) -> None:
        Log.of(attempt).write("one")
        at = now()
        read_attempt(attempt, at, counting)
        stored = again(attempt)
        assert (stored.read_due_at, stored.judge_due_at) == (at + timedelta(seconds=1), None)

    def test_a_log_longer_than_one_turn_is_due_at_once(self, attempt: Attempt, settings: Any) -> None:
        settings.REKINDLE = {**settings.REKINDLE, "REKINDLE_READ_BYTES": 4096}
        Log.of(attempt).write(*("x" * 99 for _ in range(200)))
        at = now()
        turns = 0
        while (due := again(attempt)).read_due_at == attempt.read_due_at or due.read_due_at == at:
            read_attempt(due, at, counting)
            turns += 1
        assert seen(attempt) == 200 and turns == 5

    def test_a_log_that_waits_for_the_next_listing_is_not_read_again_at_once(self, attempt: Attempt) -> None:
        log = Log.of(attempt)
        log.write("one", "two", "three")
        read_attempt(attempt, now(), counting)
        log.path.write_text("other\n")  # by the job itself or by its next attempt: the listing tells
        at = now()
        read_attempt(again(attempt), at, counting)
        read_attempt(again(attempt), at, counting)
        assert again(attempt).read_due_at == at + timedelta(seconds=1) and seen(attempt) == 3

    def test_a_last_line_without_its_end_is_not_waited_for_without_a_pause(self, attempt: Attempt) -> None:
        Log.of(attempt).path.write_text("one\ntwo")
        at = now()
        end(attempt, at=at)
        read_attempt(again(attempt), at, counting)
        read_attempt(again(attempt), at, counting)
        assert again(attempt).read_due_at == at + timedelta(seconds=1) and seen(attempt) == 1

    def test_files_of_empty_lines_become_no_million_records_at_once(self, attempt: Attempt) -> None:
        cluster = attempt.job.cluster
        cluster.log_patterns = [f"{cluster.log_roots[0]}/%j_%t.log"]
        cluster.save()
        for rank in range(12):
            (Path(cluster.log_roots[0]) / f"{attempt.job.number}_{rank}.log").write_text("\n" * 49_000)
        (news,) = gather([again(attempt)], now())
        assert isinstance(news, News)
        assert len(news.records) <= LINES_TOGETHER + 50_000
        assert not all(stream.portion.at_end for stream in news.streams)

    def test_an_ended_attempt_is_read_to_the_end_judged_and_left(self, attempt: Attempt) -> None:
        Log.of(attempt).write("one", ECC)
        read_attempt(attempt, now())
        at = now()
        attempt = end(attempt, at=at)
        read_attempt(attempt, at + timedelta(seconds=0.1))
        assert again(attempt).judge_due_at == at + timedelta(seconds=0.1)
        read_attempt(again(attempt), at + timedelta(seconds=6))
        assert again(attempt).read_due_at is None

    def test_an_ended_attempt_without_a_cause_waits_for_its_siblings(self, attempt: Attempt) -> None:
        Log.of(attempt).write("one")
        read_attempt(attempt, now())
        at = now()
        read_attempt(end(attempt, at=at), at + timedelta(seconds=0.1))
        assert again(attempt).judge_due_at > at + timedelta(seconds=5)
        read_attempt(again(attempt), at + timedelta(seconds=4.9))
        assert again(attempt).read_due_at == at + timedelta(seconds=5.2)  # claimed 0.2 s early: not before 5 s
        read_attempt(again(attempt), at + timedelta(seconds=5))
        assert again(attempt).judge_due_at == at + timedelta(seconds=5)

    def test_no_verdict_is_due_by_the_clock_before_the_siblings_words_were_read(self, attempt: Attempt) -> None:
        log = Log.of(attempt)
        log.write("srun: error: n02: task 1: Exited with exit code 1")
        read_attempt(attempt, now())
        at = now()
        read_attempt(end(attempt, at=at), at + timedelta(seconds=0.1))
        log.write(ECC)  # overtaken by srun's word; the next turn comes late
        assert again(attempt).judge_due_at > at + timedelta(seconds=9)
        read_attempt(again(attempt), at + timedelta(seconds=8))
        assert again(attempt).judge_due_at == at + timedelta(seconds=8)
        assert Anomaly.objects.filter(signature="cuda.ecc").exists()

    def test_a_long_log_is_read_to_its_end_before_the_verdict_and_not_for_ever(
        self, attempt: Attempt, settings: Any
    ) -> None:
        settings.REKINDLE = {**settings.REKINDLE, "REKINDLE_READ_BYTES": 4096}
        Log.of(attempt).write(*("x" * 99 for _ in range(200)))
        at = now()
        attempt, late = end(attempt, at=at), at + timedelta(seconds=7)
        read_attempt(attempt, late)
        assert again(attempt).judge_due_at == late + PATIENCE
        assert collect_facts(again(attempt)).attempt.read_to_end is False
        judge(again(attempt), late)
        told = Verdict.objects.get().body["missing_evidence"]
        assert "the logs were not read to their end yet" in told
        Attempt.objects.filter(pk=attempt.pk).update(judge_due_at=late + PATIENCE)
        for _turn in range(4):
            read_attempt(again(attempt), late)
        assert again(attempt).judge_due_at == late
        assert collect_facts(again(attempt)).attempt.read_to_end is True

    def test_a_log_that_breaks_off_inside_a_traceback_is_missing_evidence(self, attempt: Attempt) -> None:
        log, at = Log.of(attempt), now()
        cut = ["Traceback (most recent call last):", '  File "/home/user/train.py", line 12, in step']
        log.write("RuntimeError: Connection closed by peer [10.0.0.1]:53406", *cut)
        log.write("srun: error: n02: task 1: Exited with exit code 1", "srun: Force Terminated StepId=20.0")
        read_attempt(end(attempt, at=at, exit_code=1), at + timedelta(seconds=6))
        judge(again(attempt), at + timedelta(seconds=6))
        verdict = Verdict.objects.get()
        assert any("breaks off inside a traceback" in one for one in verdict.body["missing_evidence"])
        assert verdict.body["inputs"]["attempt"]["read_to_end"] is True
        assert judged_again(verdict.body, verdict.judged_at).body == verdict.body
        log.write("ValueError: the last line came late")
        for seconds in (7, 8):
            read_attempt(again(attempt), at + timedelta(seconds=seconds))
        judge(again(attempt), at + timedelta(seconds=8))
        newer = Verdict.objects.latest("pk")
        assert newer.signature == "py.valueerror"
        assert not any("breaks off" in one for one in newer.body["missing_evidence"])

    def test_a_late_line_makes_an_ended_attempt_due_to_be_judged_again(self, attempt: Attempt) -> None:
        at = now()
        log = Log.of(attempt)
        log.write("one")
        read_attempt(end(attempt, at=at), at + timedelta(seconds=0.1))
        Attempt.objects.filter(pk=attempt.pk).update(judge_due_at=None)  # it was judged
        log.write(ECC)
        read_attempt(again(attempt), at + timedelta(seconds=3))
        read_attempt(again(attempt), at + timedelta(seconds=4))
        assert again(attempt).judge_due_at == at + timedelta(seconds=4)

    def test_a_completed_attempt_is_not_judged(self, attempt: Attempt) -> None:
        Log.of(attempt).write("one")
        at = now()
        attempt = end(attempt, JobState.COMPLETED, at, exit_code=0)
        for seconds in (1, 7):
            read_attempt(again(attempt), at + timedelta(seconds=seconds))
        stored = again(attempt)
        assert (stored.read_due_at, stored.judge_due_at) == (None, None)

    def test_a_hang_is_judged_at_once(self, attempt: Attempt) -> None:
        start = now()
        Attempt.objects.filter(pk=attempt.pk).update(started_at=start - timedelta(seconds=40))
        Log.of(attempt).write(*(megatron(n, start + timedelta(seconds=n - 31)) for n in range(1, 31)))
        read_attempt(again(attempt), start)
        late = start + timedelta(seconds=300)
        Job.objects.update(seen_at=late)  # listed as running since
        read_attempt(again(attempt), late)
        assert again(attempt).judge_due_at == late
        hang = Anomaly.objects.get(kind=AnomalyKind.HANG.value)
        assert (hang.step, hang.refuted_at) == (30, None)
        Log.of(attempt).write(megatron(31, late), at=late)
        read_attempt(again(attempt), late + timedelta(seconds=2))
        assert Anomaly.objects.get(kind=AnomalyKind.HANG.value).refuted_at == late + timedelta(seconds=2)

    def test_a_blind_attempt_that_ends_gets_its_crash_from_the_scheduler(self) -> None:
        at = now()
        attempt = end(make_attempt(make_cluster()), at=at, exit_code=1)
        read_attempt(attempt, at + timedelta(seconds=1))
        read_attempt(again(attempt), at + timedelta(seconds=6))
        kinds = set(Anomaly.objects.values_list("kind", "basis"))
        assert ("crash", "state") in kinds
        assert again(attempt).judge_due_at is not None and again(attempt).read_due_at is None

    def test_what_is_new_breaks_a_verdict_being_made(self, attempt: Attempt) -> None:
        at = now()
        log = Log.of(attempt)
        log.write(ECC)
        attempt = end(attempt, at=at)
        read_attempt(attempt, at + timedelta(seconds=1))
        read_attempt(again(attempt), at + timedelta(seconds=2))
        pending = again(attempt).judge_due_at
        log.write("Traceback (most recent call last):", "ImportError: no module named 'x'")
        read_attempt(again(attempt), at + timedelta(seconds=3))
        assert pending is not None and again(attempt).judge_due_at == at + timedelta(seconds=3)


class TestNextAttempt:
    def test_in_append_mode_the_fault_of_one_attempt_is_not_the_next_ones(self, attempt: Attempt) -> None:
        log = Log.of(attempt)
        log.write("one", "fault 1")
        read_attempt(end(attempt), now(), counting)
        # A file's time is that of the kernel's last tick: written in the same one, it looks older than the start.
        started_at = now() - timedelta(milliseconds=20)
        following = make_attempt(attempt.job.cluster, attempt.job, index=1, started_at=started_at)
        read_attempt(following, now(), counting)
        log.write("hello", "fault 2")
        read_attempt(again(following), now(), counting)
        read_attempt(again(attempt), now(), counting)
        assert list(Anomaly.objects.filter(attempt=attempt).values_list("key", flat=True)) == ["fault:fault 1"]
        assert list(Anomaly.objects.filter(attempt=following).values_list("key", flat=True)) == ["fault:fault 2"]


class TestExcerpts:
    def test_lines_around_evidence_are_kept_and_completed_at_the_end(self, attempt: Attempt) -> None:
        log = Log.of(attempt)
        log.write(*(f"before {n}" for n in range(300)), "fault 1", "after 0")
        read_attempt(attempt, now(), counting)
        first = Excerpt.objects.get(why="evidence")
        assert first.text.splitlines()[0] == "before 200" and first.text.endswith("fault 1\nafter 0\n")
        log.write(*(f"after {n}" for n in range(1, 300)))
        at = now()
        attempt = end(attempt, at=at)
        for seconds in (1, 7):
            read_attempt(again(attempt), at + timedelta(seconds=seconds), counting)
        kept = Excerpt.objects.get(why="evidence").text.splitlines()
        assert (kept[0], kept[100], kept[-1], len(kept)) == ("before 200", "fault 1", "after 99", 201)
        last = Excerpt.objects.get(why="end")
        assert last.offset == 0 and last.text.splitlines()[-1] == "after 299"

    def test_the_copy_survives_the_truncation_of_the_file(self, attempt: Attempt) -> None:
        log = Log.of(attempt)
        log.write("x" * 300_000, "fault 1")
        at = now()
        attempt = end(attempt, at=at)
        for seconds in (1, 7):
            read_attempt(again(attempt), at + timedelta(seconds=seconds), counting)
        log.path.write_text("")
        last = Excerpt.objects.get(why="end")
        assert last.text.endswith("fault 1\n") and len(last.text) == 262_144

    def test_what_is_kept_of_an_attempt_is_bounded(self, attempt: Attempt) -> None:
        cluster = attempt.job.cluster
        cluster.log_patterns = [f"{cluster.log_roots[0]}/%j_%t.log"]
        cluster.save()
        for rank in range(12):
            path = Path(cluster.log_roots[0]) / f"{attempt.job.number}_{rank}.log"
            path.write_text("y" * 16_000 + "\n" + f"rank {rank}: {'z' * 300}\n" * 1000)
        at = now()
        attempt = end(attempt, at=at)
        for seconds in (1, 7):
            read_attempt(again(attempt), at + timedelta(seconds=seconds), counting)
        assert Excerpt.objects.filter(why="end").count() == 8
        assert sum(len(text) for text in Excerpt.objects.values_list("text", flat=True)) <= 2_097_152

    def test_one_place_is_kept_once(self, attempt: Attempt) -> None:
        Log.of(attempt).write("fault 1", "fault 2", "fault 3")
        read_attempt(attempt, now(), counting)
        assert Excerpt.objects.count() == 1


class TestNumbers:
    def test_a_hundred_attempts_cost_a_bounded_number_of_queries(self, tmp_path: Path) -> None:
        cluster = make_cluster(tmp_path)
        attempts = [make_attempt(cluster) for _ in range(100)]
        for attempt in attempts:
            Log.of(attempt).write("one", "fault 1")
        first = [again(attempt) for attempt in attempts]
        with CaptureQueriesContext(connection) as new:
            assert read_attempts(first, now(), counting) == 100
        for attempt in attempts:
            Log.of(attempt).write("two")
        second = [again(attempt) for attempt in attempts]
        with CaptureQueriesContext(connection) as grown:
            assert read_attempts(second, now(), counting) == 100
        third = [again(attempt) for attempt in attempts]
        with CaptureQueriesContext(connection) as idle:
            assert read_attempts(third, now(), counting) == 100
        assert len(idle) <= 24
        assert len(grown) <= 32
        assert len(new) <= 6 * len(attempts)  # each has an anomaly, an excerpt and its first progress

    def test_many_files_of_one_attempt_move_in_few_statements(self, attempt: Attempt) -> None:
        cluster = attempt.job.cluster
        cluster.log_patterns = [f"{cluster.log_roots[0]}/%j_%t.log"]
        cluster.save()
        paths = [Path(cluster.log_roots[0]) / f"{attempt.job.number}_{rank}.log" for rank in range(300)]
        for path in paths:
            path.write_text("one\n")
        read_attempt(again(attempt), now(), counting)
        for path in paths:
            with path.open("a") as file:
                file.write("two\n")
        with CaptureQueriesContext(connection) as queries:
            read_attempt(again(attempt), now(), counting)
        assert seen(attempt) == 600 and Feed.objects.filter(revision=2).count() == 300
        assert len(queries) <= 25


class TestTheMomentOfFinding:
    def test_a_symptom_bears_the_time_at_which_it_was_found_and_not_that_of_its_turn(
        self, attempt: Attempt
    ) -> None:
        Log.of(attempt).write("fault")
        began, found = now(), now() + timedelta(seconds=2.6)
        assert read_attempts([attempt], began, counting, clock=lambda: found) == 1
        row = Anomaly.objects.get(attempt=attempt, signature="cuda.ecc")
        assert row.detected_at == found
        event = AuditEvent.objects.get(type=EventType.ANOMALY)
        assert event.payload["latency_seconds"] == round((found - row.happened_at).total_seconds(), 3)

    def test_a_clock_that_is_set_back_finds_nothing_before_it_was_looked_for(self, attempt: Attempt) -> None:
        Log.of(attempt).write("fault")
        began = now()
        read_attempts([attempt], began, counting, clock=lambda: began - timedelta(hours=1))
        assert Anomaly.objects.get(attempt=attempt, signature="cuda.ecc").detected_at == began

    def test_the_tasks_tell_the_time(self, attempt: Attempt) -> None:
        """The doors hand their clock down: without it a batch of seconds would have one moment."""
        Log.of(attempt).write(ECC)
        moments = iter(now() + timedelta(seconds=n) for n in range(60))
        with mock.patch("detectors.tasks.timezone.now", lambda: next(moments)):
            for shard in range(settings.REKINDLE["REKINDLE_SHARDS"]):
                read_shard(shard)
        row = Anomaly.objects.get(attempt=attempt, signature="cuda.ecc")
        fed = Feed.objects.get(attempt=attempt).moved_at
        assert fed is not None and row.detected_at > fed

"""Does a site read the dumps of Flight Recorders where they are there, and name whom `diagnose` names?"""

import gzip
import io
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from audit.models import AuditEvent
from detectors.attribution.replaying import judged_again
from detectors.attribution.standstill import standstill_of
from detectors.diagnosing.accounting import Told
from detectors.diagnosing.naming import NameReader
from detectors.diagnosing.reading import Asked, read
from detectors.dump_files import LARGEST_FILE, Spending
from detectors.dump_noting import MEMORY, NUMBERS_KEPT
from detectors.judging import collect_facts, judge
from detectors.models import Anomaly, Observation, Verdict
from schedulers.states import JobState
from tests.detectors.dumps.building import BASE, dump, entry, pickled, trained, written
from tests.detectors.dumps.test_pickles import exploits
from tests.detectors.rows import again, end, make_attempt, make_cluster, make_nodes
from workloads.models import Attempt

pytestmark = pytest.mark.django_db
START = datetime.fromtimestamp(BASE - 600, UTC)
ENDED = datetime.fromtimestamp(BASE + 700, UTC)
NOW = ENDED + timedelta(seconds=6)
WRITTEN = BASE + 690
WORLD = 8
Rank = Callable[[int], list[dict[str, Any]]]


def site(folder: Path, pattern: str = "dumps/%j/nccl_trace_rank_%t", **changes: Any) -> Attempt:
    """An attempt that aborted, on a cluster whose dumps lie there."""
    cluster = make_cluster(folder, dump_patterns=[f"{folder}/{pattern}"])
    make_nodes(cluster)
    attempt = make_attempt(cluster, started_at=START)
    return end(attempt, JobState.FAILED, ENDED, exit_code=0, exit_signal=6, judge_due_at=NOW, **changes)


def place(attempt: Attempt) -> Path:
    """Where its dumps are written."""
    folder = Path(attempt.job.cluster.log_roots[0], "dumps", str(attempt.job.number))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def put(path: Path, content: bytes, at: float = WRITTEN) -> Path:
    """A file of that moment."""
    path.write_bytes(content)
    os.utime(path, (at, at))
    return path


def leave(attempt: Attempt, of: Rank, ranks: range | list[int] = range(WORLD), world: int = WORLD) -> None:
    """The dumps of some ranks, pickled and as JSON in turn."""
    for rank in ranks:
        write = (pickled, written)[rank % 2]
        put(place(attempt) / f"nccl_trace_rank_{rank}", write(dump(of(rank), world)))


def never_joined(rank: int) -> list[dict[str, Any]]:
    return trained(77) if rank == 5 else trained(77, "started")


def blocked(rank: int) -> list[dict[str, Any]]:
    return trained(77, "scheduled" if rank == 3 else "started")


def other_size(rank: int) -> list[dict[str, Any]]:
    return trained(77, "started", input_sizes=[[2, 2]] if rank == 6 else [[4, 4]])


def everybody(_rank: int) -> list[dict[str, Any]]:
    return trained(77, "started")


def judged(attempt: Attempt, now: datetime = NOW, spending: Spending | None = None) -> Verdict | None:
    return judge(again(attempt), now, spending)


def standing(attempt: Attempt) -> tuple[str, tuple[int, ...], str] | None:
    found = standstill_of(collect_facts(again(attempt)))
    return None if found is None else (found.case, found.ranks, found.source)


def unread(attempt: Attempt) -> str:
    verdict = Verdict.objects.filter(attempt=attempt).order_by("-pk").first()
    assert verdict is not None
    return " | ".join(verdict.body["missing_evidence"])


class TestTheSameCulprit:
    """Both roads over the same files."""

    @pytest.mark.parametrize("of", [never_joined, blocked, other_size, everybody])
    @pytest.mark.parametrize("ranks", [range(WORLD), [0, 1, 2, 3, 5, 6, 7]], ids=["all", "one without"])
    def test_as_diagnose_names(self, of: Rank, ranks: range | list[int], tmp_path: Path) -> None:
        attempt = site(tmp_path)
        leave(attempt, of, ranks)
        verdict = judged(attempt)
        told = Told(state=JobState.FAILED, started_at=START, ended_at=ENDED, exit_code=0, exit_signal=6)
        answer = read(Asked([str(place(attempt))], told, None, NOW, io.BytesIO()))
        assert verdict is not None and answer.diagnosis is not None
        theirs, ours = standstill_of(answer.diagnosis.facts), standstill_of(collect_facts(again(attempt)))
        assert ours == theirs and ours is not None and ours.source == "fr_dump"
        judgement = answer.diagnosis.judgement
        assert (verdict.kind, verdict.layer, verdict.sentence, verdict.signature, verdict.happened_at) == (
            judgement.kind.value,
            judgement.layer.value,
            judgement.sentence,
            judgement.signature,
            judgement.happened_at,
        )
        assert collect_facts(again(attempt)).witnesses.recorded == answer.diagnosis.facts.witnesses.recorded

    def test_the_path_tells_the_nodes(self, tmp_path: Path) -> None:
        attempt = site(tmp_path, "dumps/%N/nccl_trace_rank_%t")
        for rank in range(WORLD):
            folder = tmp_path / "dumps" / f"n0{rank // 3 + 1}"
            folder.mkdir(parents=True, exist_ok=True)
            put(folder / f"nccl_trace_rank_{rank}", pickled(dump(never_joined(rank), WORLD)))
        verdict = judged(attempt)
        told = Told(
            state=JobState.FAILED,
            started_at=START,
            ended_at=ENDED,
            exit_code=0,
            exit_signal=6,
            nodes=tuple(attempt.nodes),
        )
        names = NameReader("%N/nccl_trace_rank_%t")
        answer = read(Asked([str(tmp_path / "dumps")], told, names, NOW, io.BytesIO()))
        assert verdict is not None and answer.diagnosis is not None
        theirs = [(one.host, one.role) for one in answer.diagnosis.judgement.implicated]
        assert [(one["host"], one["role"]) for one in verdict.implicated] == theirs
        assert standstill_of(collect_facts(again(attempt))) == standstill_of(answer.diagnosis.facts)
        assert "n02" in {host for host, _role in theirs}

    def test_a_stored_verdict_is_computed_again_to_the_byte(self, tmp_path: Path) -> None:
        attempt = site(tmp_path)
        leave(attempt, never_joined)
        put(place(attempt) / "nccl_trace_rank_9", b"\x80\x02broken")
        verdict = judged(attempt)
        assert verdict is not None and "nccl_trace_rank_9" in unread(attempt)
        verdict.refresh_from_db()
        assert judged_again(verdict.body, NOW).body == verdict.body


class TestWhen:
    """Which files, and when."""

    def test_none_there_is_as_without_a_pattern(self, tmp_path: Path) -> None:
        attempt = site(tmp_path)
        verdict = judged(attempt)
        assert verdict is not None and "dump" not in unread(attempt)
        assert not Observation.objects.filter(attempt=attempt, topic__contains="recorded").exists()

    def test_without_a_pattern_nothing_is_opened(self, tmp_path: Path) -> None:
        attempt = site(tmp_path)
        leave(attempt, never_joined)
        type(attempt.job.cluster).objects.update(dump_patterns=[])
        judged(attempt)
        assert standing(attempt) is None and not Observation.objects.filter(topic=MEMORY).exists()

    def test_the_same_dumps_twice_change_nothing(self, tmp_path: Path) -> None:
        attempt = site(tmp_path)
        leave(attempt, never_joined)
        assert judged(attempt) is not None
        before = (list(Observation.objects.values()), list(Anomaly.objects.values()), AuditEvent.objects.count())
        assert judged(attempt, NOW + timedelta(seconds=15)) is None
        after = (list(Observation.objects.values()), list(Anomaly.objects.values()), AuditEvent.objects.count())
        assert before == after

    def test_a_dump_that_comes_late_gives_a_slow_verdict_in_time(self, tmp_path: Path) -> None:
        attempt = site(tmp_path)
        first = judged(attempt)
        due = again(attempt).judge_due_at
        assert first is not None and due == NOW + timedelta(seconds=15)
        leave(attempt, never_joined)
        second = judged(attempt, due)
        assert second is not None and (second.speed, second.supersedes) == ("slow", first)
        assert standing(attempt) == ("A", (5,), "fr_dump")

    def test_after_the_window_nothing_is_due(self, tmp_path: Path) -> None:
        attempt = site(tmp_path)
        judged(attempt, ENDED + timedelta(seconds=61))
        assert again(attempt).judge_due_at is None

    def test_a_dump_from_before_the_start_is_another_attempts(self, tmp_path: Path) -> None:
        attempt = site(tmp_path)
        leave(attempt, never_joined)
        for path in place(attempt).iterdir():
            os.utime(path, (BASE - 601, BASE - 601))
        judged(attempt)
        assert standing(attempt) is None

    def test_what_the_next_attempt_wrote_is_not_taken(self, tmp_path: Path) -> None:
        attempt = site(tmp_path)
        make_attempt(attempt.job.cluster, attempt.job, index=1, started_at=ENDED + timedelta(seconds=2))
        leave(attempt, never_joined)
        for path in place(attempt).iterdir():
            os.utime(path, (BASE + 703, BASE + 703))
        judged(attempt)
        assert standing(attempt) is None

    def test_a_running_job_without_a_hang_is_not_looked_at(self, tmp_path: Path) -> None:
        attempt = site(tmp_path)
        Attempt.objects.update(state=JobState.RUNNING.value, ended_at=None)
        leave(attempt, never_joined)
        assert judged(attempt) is None
        assert not Observation.objects.filter(topic=MEMORY).exists()

    def test_a_hang_that_is_over_takes_its_dumps_along(self, tmp_path: Path) -> None:
        attempt = site(tmp_path)
        Attempt.objects.update(state=JobState.RUNNING.value, ended_at=None)
        hang = {"kind": "hang", "layer": "unknown", "role": "candidate", "sentence": "silent", "basis": "step"}
        row = Anomaly.objects.create(attempt=attempt, key="silence", happened_at=ENDED, detected_at=NOW, **hang)
        leave(attempt, never_joined)
        assert judged(attempt) is not None and standing(attempt) == ("A", (5,), "fr_dump")
        Anomaly.objects.filter(pk=row.pk).update(refuted_at=NOW)
        judged(attempt, NOW + timedelta(seconds=30))
        assert standing(attempt) is None
        assert not Anomaly.objects.filter(key="fr_dump", refuted_at=None).exists()
        Anomaly.objects.filter(pk=row.pk).update(
            refuted_at=None
        )  # it hangs again, and the old files are there still
        judged(attempt, NOW + timedelta(seconds=40))
        assert standing(attempt) is None

    def test_dumps_long_before_the_last_step_are_no_symptom(self, tmp_path: Path) -> None:
        attempt = site(tmp_path, last_step=900, last_step_at=datetime.fromtimestamp(BASE + 600, UTC))
        leave(attempt, never_joined)
        judged(attempt)
        assert standing(attempt) is None and not Anomaly.objects.filter(key="fr_dump").exists()
        assert "older than the last step" in unread(attempt)


class TestHostile:
    """What a job's owner may put there."""

    @pytest.fixture
    def attempt(self, tmp_path: Path) -> Attempt:
        attempt = site(tmp_path)
        leave(attempt, never_joined)
        return attempt

    @pytest.mark.parametrize("name", sorted(exploits("x")))
    def test_a_pickle_that_runs_something(self, name: str, attempt: Attempt, tmp_path: Path) -> None:
        mark = tmp_path / "ran"
        put(place(attempt) / "nccl_trace_rank_7", exploits(f"touch {mark}")[name])
        judged(attempt)
        assert not mark.exists() and "nccl_trace_rank_7 was not read" in unread(attempt)

    def test_a_link(self, attempt: Attempt, tmp_path: Path) -> None:
        real = put(tmp_path / "elsewhere", pickled(dump(trained(3), WORLD)))
        link = place(attempt) / "nccl_trace_rank_8"
        link.symlink_to(real)
        os.utime(link, (WRITTEN, WRITTEN), follow_symlinks=False)
        judged(attempt)
        assert "nccl_trace_rank_8 was not read: it is a link" in unread(attempt)

    def test_a_fifo_holds_nobody_up(self, attempt: Attempt) -> None:
        path = place(attempt) / "nccl_trace_rank_8"
        os.mkfifo(path)
        os.utime(path, (WRITTEN, WRITTEN))
        judged(attempt)
        assert "it is a FIFO" in unread(attempt)

    def test_somebody_elses_file(self, attempt: Attempt) -> None:
        type(attempt.job).objects.update(user_id=os.getuid() + 1)
        judged(attempt)
        assert f"it belongs to user id {os.getuid()}, not to the job's user" in unread(attempt)
        assert standing(attempt) is None

    @pytest.mark.parametrize(
        ("content", "why"),
        [
            (b"", "it is no dump"),
            (b"epoch 3\n", "it is no dump"),
            (b'{"entries": [' + b"[" * 100_000, "damaged"),
            (gzip.compress(b'{"entries": [' + b" " * (LARGEST_FILE + 1)), "a dump may have 16 MiB"),
            (b'{"entries": [' + b"[]," * 2_000_000 + b"[]]}", "the JSON builds too much"),
            (b"\x80\x02}(X\x07\x00\x00\x00entries](" + b"}" * 2_000_000 + b"eu.", "the pickle builds too much"),
            (gzip.compress(written(dump(trained(5), WORLD)))[:60], "breaks off"),
            (b"\xfd7zXZ\x00" + b"\0" * 50, "packed with xz"),
            (pickled(dump(trained(5), WORLD))[:-40], "breaks off"),
        ],
        ids=["empty", "text", "nested", "bomb", "much JSON", "much pickle", "half packed", "xz", "half"],
    )
    def test_other_content(self, content: bytes, why: str, attempt: Attempt) -> None:
        put(place(attempt) / "nccl_trace_rank_12", content)
        judged(attempt)
        assert "nccl_trace_rank_12 was not read" in unread(attempt) and why in unread(attempt)
        assert standing(attempt) == ("A", (5,), "fr_dump"), "the others count"

    def test_a_moment_of_another_century(self, attempt: Attempt) -> None:
        far = [entry(1, 1, "started", time_created_ns=4_000_000_000 * 10**9)]
        for rank in range(WORLD):
            put(place(attempt) / f"nccl_trace_rank_{rank}", pickled(dump(far, WORLD)))
        judged(attempt)
        assert Anomaly.objects.get(key="fr_dump").happened_at <= ENDED

    def test_words_that_no_database_takes(self, attempt: Attempt) -> None:
        words = ["0", "a\0b\ud800\u202e"]
        for rank in range(WORLD):
            rows = trained(77, "started", process_group=words, profiling_name="nccl:\0\udfff")
            content = written(dump(rows, WORLD, pg_config={"0": {"name": "0", "desc": words[1], "ranks": "[0]"}}))
            put(place(attempt) / f"nccl_trace_rank_{rank}", content)
        assert judged(attempt) is not None

    def test_more_than_is_kept_counts_for_nothing(self, attempt: Attempt) -> None:
        for rank in range(4):
            groups = {
                str(n): {"name": str(n), "desc": "", "ranks": f"[{rank}, {', '.join(map(str, range(9, 60_000)))}]"}
                for n in range(1)
            }
            content = pickled(dump(trained(5, "started"), WORLD, pg_config=groups))
            put(place(attempt) / f"nccl_trace_rank_{rank}", content)
        assert NUMBERS_KEPT < 4 * 59_000
        judged(attempt)
        assert standing(attempt) is None and "they were left out" in unread(attempt)


class TestFolders:
    """Where nothing can be looked for."""

    def test_a_folder_outside_the_roots(self, tmp_path: Path) -> None:
        attempt = site(tmp_path)
        type(attempt.job.cluster).objects.update(dump_patterns=["/etc/%j_%t"])
        judged(attempt)
        assert "no dumps were looked for in /etc: it lies outside the cluster's log roots" in unread(attempt)

    def test_a_folder_that_is_none(self, tmp_path: Path) -> None:
        attempt = site(tmp_path)
        (tmp_path / "dumps").mkdir()
        put(tmp_path / "dumps" / str(attempt.job.number), b"")
        judged(attempt)
        assert "no dumps were looked for in" in unread(attempt) and "not a directory" in unread(attempt)

    def test_a_folder_that_may_not_be_read(self, tmp_path: Path) -> None:
        attempt = site(tmp_path)
        place(attempt).chmod(0)
        usual = os.geteuid()
        if usual == 0:  # root may read everything
            for folder in [tmp_path, *tmp_path.parents[:-2]]:
                folder.chmod(folder.stat().st_mode | 0o055)
            os.seteuid(65534)
        try:
            judged(attempt)
        finally:
            os.seteuid(usual)
            place(attempt).chmod(0o700)
        assert "permission denied" in unread(attempt)

    @pytest.mark.parametrize("patterns", [["a\0b"], ["x" * 1025], [3]])
    def test_a_pattern_that_is_none(self, patterns: list[Any], tmp_path: Path) -> None:
        cluster = make_cluster(tmp_path)
        cluster.dump_patterns = patterns
        with pytest.raises(ValidationError) as caught:
            cluster.full_clean()
        assert set(caught.value.message_dict) == {"dump_patterns"}

    def test_patterns_need_a_root(self) -> None:
        cluster = make_cluster()
        cluster.dump_patterns = ["/dumps/%j_%t"]
        with pytest.raises(ValidationError, match="below the log roots only"):
            cluster.full_clean()


class TestBounds:
    """A sweep is not held up, and nobody is accused meanwhile."""

    def test_what_is_not_read_yet_is_said_and_read_by_the_next_look(self, tmp_path: Path) -> None:
        attempt = site(tmp_path)
        leave(attempt, never_joined)
        ticks = iter(range(1000))
        slow = Spending(lambda: next(ticks) * 0.3, 4.0)
        assert judged(attempt, NOW, slow) is not None
        assert "dumps were not read yet" in unread(attempt) and standing(attempt) is None
        due = again(attempt).judge_due_at
        assert due == NOW + timedelta(seconds=5)
        assert judged(attempt, due) is not None
        assert standing(attempt) == ("A", (5,), "fr_dump") and "not read yet" not in unread(attempt)

    def test_a_sweep_that_has_spent_its_time_reads_none(self, tmp_path: Path) -> None:
        attempt = site(tmp_path)
        leave(attempt, never_joined)
        judged(attempt, NOW, Spending(lambda: 0.0, 0.0))
        assert "8 dumps were not read yet" in unread(attempt)

"""Is each thing that can be wrong with the files of a job told, and only that? Real files, one wrong thing each."""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from detectors.catalogue.hang import LINES_KNOWN
from detectors.models import Feed, Watch
from detectors.reading import read_attempt
from detectors.signal_bounds import FILES
from detectors.signal_looking import NoSuchJob, Wanted, look_at_signals
from detectors.signals.grade import Grade
from detectors.signals.report import Report, as_json, as_text
from tests.detectors.rows import Log, again, end, make_attempt, make_cluster, make_nodes, megatron
from workloads.models import Attempt, Cluster, Job

pytestmark = pytest.mark.django_db
OTHER = 65_534


@pytest.fixture
def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def cluster(tmp_path: Path, commands: str, now: datetime) -> Cluster:
    root = tmp_path / "logs"
    root.mkdir()
    made = make_cluster(root, scheduler_path=commands, seen_at=now)
    make_nodes(made)
    return made


@pytest.fixture
def attempt(cluster: Cluster, now: datetime) -> Attempt:
    """A job on three nodes that has run for an hour."""
    return make_attempt(cluster, started_at=now - timedelta(hours=1))


def rank(number: int, step: int, at: datetime) -> str:
    """A step line of a rank, labelled by srun -l."""
    return f"{number}: n0{number % 3 + 1}: {megatron(step, at)}"


def healthy(now: datetime, steps: int = 40) -> list[str]:
    """Lines that give the detectors everything, one every two seconds up to now."""
    saved = "  successfully saved checkpoint from iteration      20 to /ckpt"
    lines = [rank(step % 3, step, now - timedelta(seconds=2 * (steps - step))) for step in range(1, steps)]
    return [*lines[:20], saved, *lines[20:]]


def look(cluster: Cluster, now: datetime, **wanted: int) -> Report:
    return look_at_signals(Cluster.objects.get(pk=cluster.pk), Wanted(**wanted), now, lambda: 1.0)


def grades(report: Report, job: int = 0) -> dict[str, Grade]:
    return {remark.point: remark.grade for remark in report.jobs[job].remarks}


def sentence(report: Report, point: str, job: int = 0) -> str:
    (found,) = (remark.sentence for remark in report.jobs[job].remarks if remark.point == point)
    return found


def off(report: Report) -> set[str]:
    """The points of the first job that are not fine."""
    return {point for point, grade in grades(report).items() if grade is not Grade.FINE}


def shifted(lines: list[str], seconds: float, now: datetime) -> list[str]:
    """The same lines with stamps that are moved."""
    moved = []
    for line in lines:
        head, sign, rest = line.partition("[")
        if not sign:
            moved.append(line)
            continue
        stamp, _, tail = rest.partition("]")
        at = datetime.fromisoformat(stamp) + timedelta(seconds=seconds)
        moved.append(f"{head}[{at:%Y-%m-%d %H:%M:%S.%f}]{tail}")
    return moved


def test_a_job_that_gives_everything(cluster: Cluster, attempt: Attempt, now: datetime) -> None:
    Log.of(attempt).write(*healthy(now), at=now)
    report = look(cluster, now)
    assert off(report) == set(), report.jobs[0]
    assert sentence(report, "checkpoints") == "A checkpoint of step 20 was seen to be saved."
    assert "one every 2 s" in sentence(report, "rhythm")
    assert (report.status, report.jobs[0].label) == (0, f"{attempt.job.number}-0")


Change = Callable[[list[str], datetime], list[str]]
WRONG: list[tuple[str, Change, dict[str, Grade], str]] = [
    (
        "a naive stamp of another zone is learned, and named",
        lambda lines, now: shifted(lines, 2 * 3600, now),
        {"zone": Grade.NOTE},
        "stand 2 h ahead of the clock: written in UTC+02:00",
    ),
    (
        "a stamp that names a zone and lies",
        lambda lines, now: [line.replace("]", "Z]", 1) for line in shifted(lines, 2 * 3600, now)],
        {"zone": Grade.WRONG},
        "Stamps that name their zone are 2 h ahead: as if written in UTC+02:00",
    ),
    (
        "late lines",
        lambda lines, now: shifted(lines, -500, now),
        {"lag": Grade.WRONG},
        "The newest stamp was 8 min 2",
    ),
    (
        "clocks that are ahead by no zone",
        lambda lines, now: shifted(lines, 1000, now),
        {"lag": Grade.WRONG},
        "after the arrival of its line",
    ),
    (
        "no stamps",
        lambda lines, now: [line.partition("[")[0] + line.partition("]")[2] for line in lines],
        {"stamps": Grade.WRONG},
        "have a time stamp",
    ),
    (
        "no step line",
        lambda lines, now: [line.partition("]")[0] + "] still busy" for line in lines],
        {"progress": Grade.WRONG},
        "lines tells a step.",
    ),
    (
        "an unknown dialect",
        lambda lines, now: [f"{line.partition(']')[0]}] did step no. 7 -> step 12 ok" for line in lines],
        {"progress": Grade.WRONG},
        "in a form that is not known: ",
    ),
    (
        "no rank and no host on several nodes",
        lambda lines, now: [line.split(": ", 2)[2] if line[:1].isdigit() else line for line in lines],
        {"ranks": Grade.WRONG},
        "and the job has 3 nodes",
    ),
    (
        "few step lines",
        lambda lines, now: lines[-7:],
        {"rhythm": Grade.NOTE, "checkpoints": Grade.NOTE},
        f"7 of {LINES_KNOWN} step lines are known; 13 are missing.",
    ),
    (
        "stamps that go back",
        lambda lines, now: [line for pair in zip(lines[20:], lines[:20], strict=False) for line in reversed(pair)],
        {"order": Grade.WRONG},
        "are older than the one before",
    ),
]


@pytest.mark.parametrize(("change", "expected", "words"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_one_thing_wrong(
    change: Change,
    expected: dict[str, Grade],
    words: str,
    cluster: Cluster,
    attempt: Attempt,
    now: datetime,
) -> None:
    Log.of(attempt).write(*change(healthy(now), now), at=now)
    report = look(cluster, now)
    found = grades(report)
    assert {point: found[point] for point in expected} == expected, report.jobs[0]
    assert any(words in remark.sentence for remark in report.jobs[0].remarks), report.jobs[0]
    for remark in report.jobs[0].remarks:
        if remark.grade is Grade.WRONG:
            assert remark.point in expected and remark.matters and remark.remedy, remark


class TestTheLogItself:
    def test_of_a_foreign_owner(self, cluster: Cluster, attempt: Attempt, now: datetime) -> None:
        log = Log.of(attempt)
        log.write(*healthy(now), at=now)
        os.chown(log.path, OTHER, OTHER)
        report = look(cluster, now)
        assert grades(report) == {"log": Grade.WRONG}
        assert f"it belongs to user id {OTHER}, not to the job's user" in sentence(report, "log")
        assert "must belong to the job's user" in report.jobs[0].remarks[0].remedy

    def test_a_link_that_leads_out(self, cluster: Cluster, attempt: Attempt, now: datetime, tmp_path: Path) -> None:
        outside = tmp_path / "outside.out"
        outside.write_text("secret step 12 | loss 1.0\n" * 30)
        Log.of(attempt).path.symlink_to(outside)
        report = look(cluster, now)
        assert "outside the cluster's log roots" in sentence(report, "log")
        assert "secret" not in json.dumps(as_json(report))

    def test_a_fifo(self, cluster: Cluster, attempt: Attempt, now: datetime) -> None:
        os.mkfifo(Log.of(attempt).path)
        assert "it is a FIFO, not a regular file" in sentence(look(cluster, now), "log")

    def test_none_at_all(self, cluster: Cluster, attempt: Attempt, now: datetime) -> None:
        report = look(cluster, now)
        assert grades(report) == {"log": Grade.WRONG}
        assert str(Log.of(attempt).path) in sentence(report, "log")

    def test_none_yet(self, cluster: Cluster, now: datetime) -> None:
        make_attempt(cluster, started_at=now - timedelta(seconds=5))
        assert grades(look(cluster, now)) == {"log": Grade.NOTE}

    def test_an_empty_one(self, cluster: Cluster, attempt: Attempt, now: datetime) -> None:
        Log.of(attempt).write(at=now)
        assert "holds no line" in sentence(look(cluster, now), "log")

    def test_of_the_attempt_before(self, cluster: Cluster, attempt: Attempt, now: datetime) -> None:
        Log.of(attempt).write(*healthy(now), at=now - timedelta(minutes=30))
        Attempt.objects.filter(pk=attempt.pk).update(started_at=now - timedelta(minutes=10))
        assert "since the attempt started" in sentence(look(cluster, now), "log")

    def test_a_long_one_is_read_at_both_ends(self, cluster: Cluster, attempt: Attempt, now: datetime) -> None:
        who = "n02:77:77 [0] NCCL INFO comm 0x5 rank 4 nranks 8 cudaDev 0 busId 1a000 commId 0x1 - Init COMPLETE"
        filling = [f"[{now:%Y-%m-%d %H:%M:%S}] nothing {number}" for number in range(40_000)]
        plain = [megatron(step, now - timedelta(seconds=60 - step)) for step in range(60)]
        Log.of(attempt).write(who, *filling, *plain, at=now)
        report = look(cluster, now)
        assert sentence(report, "progress") == "Step 59 was read in the form prog.megatron."
        assert sentence(report, "ranks").endswith("; 1 ranks are known with their host.")


class TestBounds:
    def test_a_file_for_each_of_many_ranks(self, cluster: Cluster, now: datetime) -> None:
        attempt = make_attempt(cluster, started_at=now - timedelta(hours=1))
        Job.objects.filter(pk=attempt.job.pk).update(stdout="rank-%t.out")
        for number in range(FILES + 8):
            path = Log.of(attempt).path.parent / f"rank-{number}.out"
            path.write_text("".join(f"{line}\n" for line in healthy(now)))
            os.utime(path, (now.timestamp(), now.timestamp()))
        report = look(cluster, now)
        assert sentence(report, "log").endswith(
            f"{FILES} of its logs can be read, {FILES * 40} lines looked at; 8 more were not looked at."
        )
        assert grades(report)["ranks"] is Grade.FINE

    def test_when_the_time_is_up_a_job_is_unknown_and_not_blamed(self, cluster: Cluster, now: datetime) -> None:
        for _job in range(3):
            attempt = make_attempt(cluster, started_at=now - timedelta(hours=1))
            Log.of(attempt).write(*healthy(now), at=now)
        ticks = iter(range(0, 10_000, 4))
        report = look_at_signals(cluster, Wanted(), now, lambda: float(next(ticks)))
        assert [job.remarks[0].grade for job in report.jobs][-1] is Grade.UNKNOWN
        assert Grade.WRONG not in {job.remarks[0].grade for job in report.jobs}


class TestTheCluster:
    def test_without_log_roots(self, commands: str, now: datetime) -> None:
        cluster = make_cluster(scheduler_path=commands, seen_at=now)
        make_attempt(cluster, started_at=now - timedelta(hours=1))
        report = look(cluster, now)
        assert {remark.point for remark in report.remarks if remark.grade is Grade.WRONG} == {"log_roots"}
        assert "log roots" in sentence(report, "log")

    def test_a_scheduler_that_is_not_there(self, cluster: Cluster, attempt: Attempt, now: datetime) -> None:
        Log.of(attempt).write(*healthy(now), at=now)
        Cluster.objects.filter(pk=cluster.pk).update(scheduler_path="/nowhere")
        report = look(cluster, now)
        assert (report.remarks[0].point, report.remarks[0].grade, report.status) == ("scheduler", Grade.UNKNOWN, 2)

    def test_clocks_that_differ(self, cluster: Cluster, attempt: Attempt, now: datetime) -> None:
        Log.of(attempt).write(*healthy(now), at=now)
        report = look(cluster, now - timedelta(minutes=3))
        (clock,) = (remark for remark in report.remarks if remark.point == "clock")
        assert clock.grade is Grade.WRONG and "ahead of ours" in clock.sentence

    def test_nothing_runs(self, cluster: Cluster, attempt: Attempt, now: datetime) -> None:
        end(attempt, at=now)
        assert look(cluster, now).status == 2

    def test_more_than_asked_for(self, cluster: Cluster, now: datetime) -> None:
        for _job in range(3):
            make_attempt(cluster, started_at=now - timedelta(seconds=5))
        report = look(cluster, now, attempts=2)
        assert len(report.jobs) == 2
        assert "1 more running jobs were not looked at." in [remark.sentence for remark in report.remarks]

    def test_all_jobs_silent_at_once(self, cluster: Cluster, now: datetime) -> None:
        for _job in range(2):
            job = make_attempt(cluster, started_at=now - timedelta(hours=1))
            Log.of(job).write(*healthy(now - timedelta(minutes=9)), at=now - timedelta(minutes=9))
        points = {remark.point: remark.grade for remark in look(cluster, now).remarks}
        assert points["silence"] is Grade.WRONG


def test_what_the_watching_detectors_learnt_counts(cluster: Cluster, attempt: Attempt, now: datetime) -> None:
    log = Log.of(attempt)
    log.write(*healthy(now), at=now)
    assert read_attempt(again(attempt), now)
    assert Watch.objects.filter(attempt=attempt, detector="progress").exists()
    log.path.write_text(f"{rank(1, 41, now)}\n")
    os.utime(log.path, (now.timestamp(), now.timestamp()))
    report = look(cluster, now)
    assert grades(report)["checkpoints"] is Grade.FINE
    assert "39 step lines are known" in sentence(report, "rhythm")


def test_nothing_is_written(cluster: Cluster, attempt: Attempt, now: datetime) -> None:
    log = Log.of(attempt)
    log.write(*healthy(now), at=now)
    stored = {model: list(model.objects.values()) for model in (Attempt, Cluster, Feed, Watch)}
    before = log.path.stat()
    with CaptureQueriesContext(
        connection,
    ) as queries:
        look(cluster, now)
    assert all(query["sql"].lstrip().upper().startswith("SELECT") for query in queries.captured_queries)
    assert {model: list(model.objects.values()) for model in stored} == stored
    assert (log.path.stat().st_mtime_ns, log.path.stat().st_size) == (before.st_mtime_ns, before.st_size)


def test_hostile_lines_do_not_act(cluster: Cluster, attempt: Attempt, now: datetime) -> None:
    line = "\x1b[31m<script>alert(1)</script> \u202e step 12 of \x07 thing\x00 \ud800".encode(
        "utf-8", "surrogatepass"
    )
    Log.of(attempt).path.write_bytes((line + b"\n") * 40 + b"\xff\xfe" * 9000)
    os.utime(Log.of(attempt).path, (now.timestamp(), now.timestamp()))
    report = look(cluster, now)
    for text in (*as_text(report), json.dumps(as_json(report), ensure_ascii=False)):
        assert all(char.isprintable() for char in text.replace("\n", "")), text
    assert "in a form that is not known" in sentence(report, "progress")


class TestTheCommand:
    def run(self, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
        try:
            call_command("check_signals", *words)
        except SystemExit as left:
            return int(str(left.code)), capsys.readouterr().out
        return 0, capsys.readouterr().out

    def test_fine_and_wrong(
        self, cluster: Cluster, attempt: Attempt, capsys: pytest.CaptureFixture[str], now: datetime
    ) -> None:
        Log.of(attempt).write(*healthy(datetime.now(UTC)))
        status, text = self.run(capsys, cluster.name)
        assert (status, text.splitlines()[0]) == (0, f"{cluster.name}: note")
        Log.of(attempt).path.unlink()
        status, text = self.run(capsys, cluster.name, "--job", str(attempt.job.number))
        assert status == 1 and "wrong   log" in text and "Do: " in text

    def test_json(
        self, cluster: Cluster, attempt: Attempt, capsys: pytest.CaptureFixture[str], now: datetime
    ) -> None:
        status, text = self.run(capsys, cluster.name, "--json")
        found = json.loads(text)
        assert (status, found["grade"], found["cluster"]) == (1, "wrong", cluster.name)
        assert found["jobs"][0]["jobId"] == str(attempt.job.number)

    @pytest.mark.parametrize(
        ("words", "sentence"),
        [
            (["nowhere"], "There is no cluster 'nowhere'"),
            (["{name}", "--job", "99"], "has no job 99."),
            (["{name}", "--attempts", "0"], "--attempts must be from 1 to 200."),
            (["{name}", "--attempts", "201"], "--attempts must be from 1 to 200."),
        ],
    )
    def test_mistakes_are_one_sentence_and_status_2(
        self, words: list[str], sentence: str, cluster: Cluster
    ) -> None:
        with pytest.raises(CommandError, match=sentence) as caught:
            call_command("check_signals", *(word.replace("{name}", cluster.name) for word in words))
        assert caught.value.returncode == 2

    def test_a_job_that_ended_can_be_asked_for(
        self, cluster: Cluster, attempt: Attempt, capsys: pytest.CaptureFixture[str], now: datetime
    ) -> None:
        Log.of(attempt).write(*healthy(now), at=now)
        end(again(attempt), at=now)
        status, text = self.run(capsys, cluster.name, "--job", str(attempt.job.number))
        assert status == 0 and "prog.megatron" in text


def test_a_job_of_another_cluster_is_none_of_this_one(cluster: Cluster, attempt: Attempt, now: datetime) -> None:
    with pytest.raises(NoSuchJob):
        look(make_cluster(), now, job=attempt.job.number)

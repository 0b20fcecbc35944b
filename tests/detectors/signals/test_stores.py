"""Is whoever sets up a log store told what is wrong with it, and which labels would be right?"""

import json
import re
import shlex
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.event_type import EventType
from audit.models import AuditEvent
from detectors.models import Feed, Watch
from detectors.signal_bounds import Bounds
from detectors.signal_looking import Wanted, look_at_signals, look_at_source
from detectors.signal_stores import LINES, AskedStore, store_sample
from detectors.signals.grade import Grade
from detectors.signals.mapping import Known
from detectors.signals.report import Report, as_json, as_text
from detectors.store_asking import place_of
from detectors.stores.store import Answer, Request, StoreTrouble
from tests.detectors.rows import make_attempt, make_cluster, make_nodes, megatron
from tests.detectors.stores.pretend import Pretend, recorded_rows
from tests.detectors.stores.recorded import T0
from tests.detectors.stores.served import served
from tests.detectors.test_store_reading import stored_cluster
from workloads.models import Attempt, Cluster

pytestmark = pytest.mark.django_db
SECOND = 1_000_000_000
KINDS = pytest.mark.parametrize("kind", ["loki", "victorialogs"])


@pytest.fixture
def now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def ns(moment: datetime) -> int:
    return int(moment.timestamp()) * SECOND


class World:
    """A cluster with two jobs that train, and the store with their lines."""

    def __init__(self, kind: str, now: datetime, **changes: Any) -> None:
        self.now, self.store = now, Pretend(kind)
        self.cluster: Cluster = stored_cluster(kind, seen_at=now, **changes)
        make_nodes(self.cluster)
        began = now - timedelta(hours=1)
        self.attempts: list[Attempt] = [make_attempt(self.cluster, started_at=began) for _job in range(2)]

    def train(
        self,
        *,
        names: dict[str, str] | None = None,
        shift: timedelta = timedelta(),
        stamp_shift: timedelta = timedelta(),
        **labels: str,
    ) -> None:
        """Sixty step lines of each job, one a second up to now, under the labels' names."""
        called = {"job_id": "job_id", "node": "node", "rank": "rank", "filename": "filename", **(names or {})}
        for attempt in self.attempts:
            values = {"job_id": str(attempt.job.number), "node": "n01", "rank": "0", "filename": "/logs/a.log"}
            own = {called[name]: value for name, value in {**values, **labels}.items() if called[name]}
            for step in range(60):
                at = self.now - timedelta(seconds=60 - step)
                self.store.push(ns(at + shift), megatron(step, at + stamp_shift), own)

    def kernel(self, node: str = "n01", count: int = 3) -> None:
        """Lines of the kernel in the last hour."""
        for number in range(count):
            self.store.push(ns(self.now) - (number + 1) * SECOND, "a line", {"unit": "kernel", "node": node})

    def look(self, ask: Callable[[Request], Answer] | None = None, **wanted: Any) -> Report:
        """One look."""
        return look_at_signals(self.cluster, Wanted(**wanted), self.now, lambda: 1.0, ask or self.store.answer)


def said(report: Report, point: str, job: int | None = None) -> tuple[Grade, str]:
    remarks = report.remarks if job is None else report.jobs[job].remarks
    (found,) = (remark for remark in remarks if remark.point == point)
    return found.grade, found.sentence


@KINDS
def test_a_store_with_everything_is_fine(kind: str, now: datetime, commands: str) -> None:
    world = World(kind, now, scheduler_path=commands)
    world.train()
    world.kernel()
    report = world.look()
    off = {remark.point for remark in report.remarks if remark.grade is not Grade.FINE}
    assert off == {"metrics"}, report.remarks
    assert said(report, "store") == (
        Grade.FINE,
        f"{'Loki' if kind == 'loki' else 'VictoriaLogs'} gave 120 lines of the last minutes, "
        "120 of them with a job's number.",
    )
    for job in range(2):
        assert said(report, "label node", job) == (Grade.FINE, "60 of 60 lines have a node of the job in node.")
        assert said(report, "progress", job) == (Grade.FINE, "Step 59 was read in the form prog.megatron.")
        assert said(report, "rhythm", job)[0] is Grade.FINE
        assert said(report, "zone", job)[0] is Grade.FINE
        assert said(report, "log", job)[0] is Grade.FINE
        assert Grade.WRONG not in {remark.grade for remark in report.jobs[job].remarks}
    assert (report.command, report.status) == ("", 0)


@KINDS
def test_another_job_label_is_found_by_its_values_and_the_command_sets_it(
    kind: str, now: datetime, commands: str
) -> None:
    world = World(kind, now, scheduler_path=commands)
    world.train(names={"job_id": "slurm_job", "node": "host", "rank": "global_rank"})
    report = world.look()
    assert said(report, "store")[0] is Grade.WRONG
    selector = '{slurm_job!=""}' if kind == "loki" else "slurm_job:*"
    wanted = {"job_id": "slurm_job", "node": "host", "rank": "global_rank", "filename": "filename"}
    assert report.mapped is not None and report.mapped.proposal == wanted
    assert report.command.startswith(f"./run manage cluster labels {world.cluster.name} --label job_id=slurm_job ")
    assert f"--job-lines '{selector}'" in report.command
    assert said(report, "mapping")[0] is Grade.WRONG
    assert all(said(report, "log", job)[0] is Grade.WRONG for job in range(2))
    assert report.status == 1


@KINDS
def test_a_selector_that_fits_keeps_its_place_when_only_the_label_is_wrong(
    kind: str, now: datetime, commands: str
) -> None:
    world = World(kind, now, scheduler_path=commands, log_store_job_lines='{filename!=""}')
    world.train(names={"job_id": "slurm_job"})
    report = world.look()
    assert said(report, "store")[1].endswith("but none has the label 'job_id'.")
    assert "--label job_id=slurm_job" in report.command and "--job-lines" not in report.command


@KINDS
def test_lines_dated_hours_ahead_are_named_as_a_zone(kind: str, now: datetime, commands: str) -> None:
    world = World(kind, now, scheduler_path=commands)
    world.train(shift=timedelta(hours=2))
    grade, sentence = said(world.look(), "store time")
    assert grade is Grade.WRONG
    assert "dated 1 h 59 min in the future, as if written in UTC+02:00" in sentence


@KINDS
def test_lines_dated_hours_back_are_named_as_a_zone(kind: str, now: datetime, commands: str) -> None:
    world = World(kind, now, scheduler_path=commands)
    world.train(shift=timedelta(hours=-5))
    grade, sentence = said(world.look(), "store")
    assert grade is Grade.WRONG
    assert "the newest is 5 h old, as if it were dated in UTC-05:00" in sentence


@KINDS
def test_late_lines(kind: str, now: datetime, commands: str) -> None:
    world = World(kind, now, scheduler_path=commands)
    world.train(stamp_shift=timedelta(minutes=-8))
    grade, sentence = said(world.look(), "lag", 0)
    assert (grade, sentence) == (Grade.WRONG, "The newest stamp was 8 min old when its line arrived.")


@KINDS
def test_labels_that_do_not_fit_the_scheduler(kind: str, now: datetime, commands: str) -> None:
    world = World(
        kind,
        now,
        scheduler_path=commands,
        log_store_labels={"job_id": "job_id", "node": "node", "rank": "rank", "restart": "restart"},
    )
    world.train(node="n99", rank="zero")
    world.kernel("gpu-7")
    report = world.look()
    assert said(report, "label node", 0) == (
        Grade.WRONG,
        "60 of 60 lines have a label node that is not a node of the job: n99.",
    )
    assert said(report, "label rank", 0)[0] is Grade.WRONG
    assert said(report, "label restart", 0) == (Grade.WRONG, "None of 60 lines has the label restart.")
    assert said(report, "label filename", 0)[0] is Grade.NOTE
    grade, sentence = said(report, "node lines")
    assert grade is Grade.WRONG and "3 of 3 lines are of no node that the scheduler knows" in sentence
    assert "gpu-7" in sentence


@KINDS
def test_a_domain_behind_a_node_does_no_harm(kind: str, now: datetime, commands: str) -> None:
    world = World(kind, now, scheduler_path=commands)
    world.train(node="n01.cluster.example.org")
    world.kernel("n02.cluster.example.org")
    report = world.look()
    assert said(report, "label node", 0)[0] is said(report, "node lines")[0] is Grade.FINE


@KINDS
def test_a_store_without_a_line(kind: str, now: datetime, commands: str) -> None:
    report = World(kind, now, scheduler_path=commands).look()
    assert said(report, "store")[0] is Grade.WRONG
    assert said(report, "store")[1].endswith("has no line of any job in the last minutes.")
    assert said(report, "node lines") == (Grade.WRONG, "No line of a node came in the last hour.")


@pytest.mark.parametrize(
    ("fails", "words"),
    [(Answer(401, b"no org id"), "answered 401"), (Answer(200, b"<html>"), "cannot be understood")],
)
def test_a_store_that_refuses_cannot_be_looked_at(fails: Answer, words: str, now: datetime, commands: str) -> None:
    world = World("loki", now, scheduler_path=commands)
    world.store.fails = fails
    report = world.look()
    grade, sentence = said(report, "store")
    assert grade is Grade.UNKNOWN and words in sentence
    assert sentence.startswith("The log store cannot be seen: ") and sentence.endswith("every job is blind.")
    assert said(report, "log", 0)[0] is Grade.UNKNOWN
    assert report.status == 2


def test_a_store_that_hangs_is_asked_once(now: datetime, commands: str) -> None:
    world, asked = World("loki", now, scheduler_path=commands), []

    def hang(request: Request) -> Answer:
        asked.append(request)
        raise StoreTrouble("no answer from store within 10 s")

    assert world.look(hang).status == 2
    assert len(asked) == 1


@KINDS
def test_a_flood_is_cut_and_no_job_is_blamed_for_it(kind: str, now: datetime, commands: str) -> None:
    world = World(kind, now, scheduler_path=commands)
    first = str(world.attempts[0].job.number)
    for number in range(2 * LINES + 3):
        at = ns(now) - 50 * SECOND + number * 1_000_000
        world.store.push(at, f"line {number}", {"job_id": first, "node": "n01"})
    report = world.look()
    assert " or more lines of the last minutes" in said(report, "store")[1]
    by_label = {job.number: job for job in report.jobs}
    silent = by_label[world.attempts[1].job.number]
    assert silent.remarks[0].grade is Grade.UNKNOWN
    assert len(world.store.asked) < 60


@KINDS
def test_when_the_time_is_up_nothing_more_is_asked(kind: str, now: datetime) -> None:
    world, ticks = World(kind, now), iter(range(0, 1000, 4))
    world.train()
    bounds = Bounds.begin(lambda: float(next(ticks)))
    asked = AskedStore("c", place_of(world.cluster), world.store.answer)
    known = Known(frozenset(), frozenset(), frozenset(), 1)
    store_sample(asked, known, bounds, now)
    assert 1 <= len(world.store.asked) <= 5


@KINDS
def test_the_recorded_lines_of_a_real_store_give_their_labels(kind: str) -> None:
    store = Pretend(kind, recorded_rows(kind))
    cluster = stored_cluster(kind, log_store_labels={"job_id": "nothing"}, log_store_job_lines='{job_id!=""}')
    known = Known(frozenset({"4101", "4103"}), frozenset({"4101", "4102", "4103"}), frozenset({"gpu-n02"}), 64)
    at = datetime.fromtimestamp(T0 / SECOND + 300, UTC)
    asked = AskedStore("c", place_of(cluster), store.answer)
    mapped = store_sample(asked, known, Bounds.begin(lambda: 1.0), at).facts.mapped
    assert mapped is not None
    best = {one.field: one.label for one in reversed(mapped.candidates)}
    assert best["job_id"] == "job_id" and best["node"] == "node" and best["filename"] == "filename"
    assert mapped.proposal["job_id"] == "job_id"


@KINDS
def test_a_look_at_a_store_writes_nothing_and_moves_no_cursor(kind: str, now: datetime, commands: str) -> None:
    world = World(kind, now, scheduler_path=commands)
    world.train()
    world.kernel()
    before = list(Cluster.objects.values()), list(Feed.objects.values()), list(Watch.objects.values())
    with CaptureQueriesContext(connection) as queries:
        world.look()
    assert all(query["sql"].lstrip().upper().startswith("SELECT") for query in queries.captured_queries)
    assert (list(Cluster.objects.values()), list(Feed.objects.values()), list(Watch.objects.values())) == before
    assert all(request.path.startswith(("/loki/api/v1/", "/select/logsql/")) for request in world.store.asked)


def test_values_of_a_hostile_store_do_not_act_and_are_no_labels(now: datetime, commands: str) -> None:
    world = World("loki", now, scheduler_path=commands)
    numbers = [str(attempt.job.number) for attempt in world.attempts]
    for number in numbers:
        names = {"job;rm -rf ~": number, "$(job)": number, "job\x1b[31m": number, "hos\u202et": "n01"}
        own = {"job_id": f"\x1b]0;x\x07{number}", "node": "<script>", "rank": "9" * 400}
        world.store.push(ns(now) - SECOND, "\x1b[2J<script>alert(1)</script>", {**own, **names})
    report = world.look()
    text = "\n".join(as_text(report)) + json.dumps(as_json(report), ensure_ascii=False)
    assert all(char.isprintable() for char in text.replace("\n", ""))
    assert "rm -rf" not in report.command and "$(job)" not in report.command


class TestTheCommandThatSetsIt:
    def run(self, capsys: pytest.CaptureFixture[str], *words: str) -> str:
        call_command("cluster", *words)
        return capsys.readouterr().out

    @KINDS
    def test_what_is_proposed_mends_it(
        self, kind: str, now: datetime, commands: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        world = World(kind, now, scheduler_path=commands)
        world.train(names={"job_id": "slurm_job", "node": "host"})
        world.store.push(ns(now) - SECOND, "a line", {"unit": "kernel", "host": "n02"})
        command = shlex.split(world.look().command)
        assert command[:3] == ["./run", "manage", "cluster"]
        said_then = self.run(capsys, *command[3:])
        assert "reads job_id=slurm_job, node=host" in said_then
        world.cluster.refresh_from_db()
        report = world.look()
        assert (report.command, report.status) == ("", 0), list(as_text(report))
        event = AuditEvent.objects.get(type=EventType.CONFIGURATION.value)
        assert "changed the labels of the log store" in event.sentence

    @pytest.mark.parametrize(
        ("words", "sentence"),
        [
            (["--label", "job=x"], "'job' is not mapped"),
            (["--label", "job_id=$(x)"], "is no label's name"),
            (["--label", "node=host"], "Say which label holds the job's number"),
        ],
    )
    def test_a_mistake_changes_nothing(self, words: list[str], sentence: str) -> None:
        cluster = stored_cluster("loki")
        with pytest.raises(CommandError, match=re.escape(sentence)):
            call_command("cluster", "labels", cluster.name, *words)
        assert Cluster.objects.get(pk=cluster.pk).log_store_labels == cluster.log_store_labels

    def test_of_a_cluster_with_files(self, tmp_path: Path) -> None:
        with pytest.raises(CommandError, match="reads files"):
            call_command("cluster", "labels", make_cluster(tmp_path).name, "--label", "job_id=x")

    @KINDS
    def test_cluster_look_says_the_same_of_the_source(self, kind: str, now: datetime) -> None:
        world = World(kind, now)
        with served(world.store.answer) as address:
            Cluster.objects.filter(pk=world.cluster.pk).update(log_store_address=address)
            world.cluster.refresh_from_db()
            world.train()
            told = [remark.sentence for remark in look_at_source(world.cluster, now, lambda: 1.0)]
        assert told == [remark.sentence for remark in world.look().remarks if remark.point in ("store", "mapping")]
        assert "120 of them with a job's number" in told[0]

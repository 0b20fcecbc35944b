"""Does each fact lead to the right remark? Facts in, remarks out: no database, no clock."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from detectors.signals.clocks import shift_of, zone_name
from detectors.signals.cluster_rules import judge_cluster
from detectors.signals.facts import (
    ClusterFacts,
    JobFacts,
    Labelled,
    Lines,
    MetricFacts,
    SchedulerFacts,
    StoreFacts,
    Stream,
)
from detectors.signals.grade import Grade
from detectors.signals.job_rules import judge_job
from detectors.signals.mapping import Known, candidates_of, command_of, propose
from detectors.signals.remark import few, shown, span
from detectors.signals.report import as_text, judge
from workloads.limits import DEFAULT_LIMITS

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
GOOD = Lines(
    count=100,
    stamped=100,
    zoned=100,
    zone_shifts=(0,),
    late=1.0,
    ranked=100,
    hosted=100,
    mapped=8,
    dialect="prog.megatron",
    step=99,
    steps=60,
    gap=1.0,
    saved=50,
)
JOB = JobFacts(
    number=7,
    index=0,
    running=True,
    started_at=NOW - timedelta(hours=2),
    node_count=4,
    streams=(Stream("/logs/7.out"),),
    tried=("/logs/7.out",),
    lines=GOOD,
    newest_at=NOW - timedelta(seconds=2),
)
STORE = StoreFacts("Loki", lines=100, named=100, job_label="job_id", node_lines=3, node_known=3, node_label="node")
CLUSTER = ClusterFacts(
    name="alpha",
    now=NOW,
    scheduler=SchedulerFacts(ahead=0.4, listed_at=NOW - timedelta(seconds=10)),
    limits=DEFAULT_LIMITS,
    jobs=(JOB,),
    rooted=True,
    metrics=MetricFacts("All there.", answered=True, whole=True),
)


def of_job(**changes: Any) -> dict[str, tuple[Grade, str]]:
    job = replace(JOB, **changes)
    return {remark.point: (remark.grade, remark.sentence) for remark in judge_job(job, CLUSTER)}


def of_lines(**changes: Any) -> dict[str, tuple[Grade, str]]:
    return of_job(lines=replace(GOOD, **changes))


def of_cluster(**changes: Any) -> dict[str, tuple[Grade, str]]:
    return {remark.point: (remark.grade, remark.sentence) for remark in judge_cluster(replace(CLUSTER, **changes))}


def test_a_job_with_everything_has_nothing_but_fine_remarks() -> None:
    assert {grade for grade, _sentence in of_job().values()} == {Grade.FINE}


LINES: list[tuple[str, dict[str, Any], str, Grade, str]] = [
    ("few lines without a stamp prove nothing", {"count": 5, "stamped": 0}, "stamps", Grade.NOTE, "0 of 5"),
    ("no stamp", {"stamped": 0}, "stamps", Grade.WRONG, "0 of 100 lines"),
    ("a stamp here and there", {"stamped": 3}, "stamps", Grade.NOTE, "3 of 100 lines"),
    ("stamps go back", {"backwards": 6}, "order", Grade.WRONG, "6 of 100 stamps"),
    ("stamps go back seldom", {"backwards": 5}, "order", Grade.FINE, "rise"),
    ("a zone that lies", {"zone_shifts": (-7200,)}, "zone", Grade.WRONG, "2 h behind: as if written in UTC-02:00"),
    ("two zones", {"shifts": (0, 3600)}, "zone", Grade.WRONG, "UTC, UTC+01:00"),
    ("one zone, learned", {"shifts": (19800,)}, "zone", Grade.NOTE, "written in UTC+05:30"),
    ("late", {"late": 500.0}, "lag", Grade.WRONG, "8 min 20 s old"),
    ("not late", {"late": 119.0}, "lag", Grade.FINE, "1 min 59 s old"),
    ("early by a clock", {"late": -400.0}, "lag", Grade.WRONG, "6 min 40 s after"),
    ("no rank", {"ranked": 0, "hosted": 0, "mapped": 0}, "ranks", Grade.WRONG, "the job has 4 nodes"),
    ("ranks on unknown hosts", {"hosted": 0, "mapped": 0}, "ranks", Grade.NOTE, "is not known yet"),
    ("hosts without ranks", {"ranked": 0, "mapped": 0}, "ranks", Grade.FINE, "100 their host"),
    ("no step", {"dialect": ""}, "progress", Grade.WRONG, "None of 100 lines tells a step."),
    ("an unknown form", {"dialect": "", "odd": "step no 7"}, "progress", Grade.WRONG, "not known: step no 7"),
    ("few steps", {"steps": 3}, "rhythm", Grade.NOTE, "3 of 20 step lines are known; 17 are missing."),
    (
        "only loaded",
        {"saved": None, "loaded": 40},
        "checkpoints",
        Grade.FINE,
        "began from the checkpoint of step 40",
    ),
    ("no checkpoint", {"saved": None}, "checkpoints", Grade.NOTE, "No line tells of a checkpoint"),
    ("short bursts", {"burst": 30.0}, "bursts", Grade.NOTE, "up to 30 s"),
    ("long bursts", {"burst": 60.0}, "bursts", Grade.WRONG, "up to 1 min"),
]


@pytest.mark.parametrize(
    ("changes", "point", "grade", "words"), [row[1:] for row in LINES], ids=[row[0] for row in LINES]
)
def test_lines(changes: dict[str, Any], point: str, grade: Grade, words: str) -> None:
    found = of_lines(**changes)
    assert found[point][0] is grade and words in found[point][1], found[point]


def test_without_steps_there_is_no_rhythm_to_speak_of() -> None:
    assert "rhythm" not in of_lines(dialect="")


def test_one_node_needs_no_rank() -> None:
    assert of_job(node_count=1, lines=replace(GOOD, ranked=0, hosted=0, mapped=0))["ranks"][0] is Grade.FINE


def test_a_job_that_has_just_begun_is_given_time() -> None:
    young = NOW - timedelta(seconds=DEFAULT_LIMITS["startup_seconds"] - 1)
    assert of_job(started_at=young, lines=replace(GOOD, dialect=""))["progress"][0] is Grade.NOTE


JOBS: list[tuple[str, dict[str, Any], Grade, str]] = [
    ("nothing to look at", {"trouble": "the log store cannot be seen: no"}, Grade.UNKNOWN, "cannot be seen"),
    (
        "not looked at",
        {"streams": (), "lines": Lines(), "cut": True},
        Grade.UNKNOWN,
        "were used up before a line of it",
    ),
    ("no log", {"streams": (), "lines": Lines()}, Grade.WRONG, "No log was found; tried: /logs/7.out."),
    ("an empty log", {"lines": Lines()}, Grade.WRONG, "holds no line"),
    (
        "one of two",
        {"streams": (Stream("/a"), Stream("/b", "it is a FIFO, not a regular file"))},
        Grade.WRONG,
        "1 more cannot: /b: it is a FIFO",
    ),
    (
        "no log yet",
        {"streams": (Stream("/a", "no such file"),), "lines": Lines(), "started_at": NOW - timedelta(seconds=9)},
        Grade.NOTE,
        "No log yet",
    ),
    (
        "never a log",
        {"streams": (Stream("/a", "no such file"),), "lines": Lines()},
        Grade.WRONG,
        "/a: no such file",
    ),
]


@pytest.mark.parametrize(("changes", "grade", "words"), [row[1:] for row in JOBS], ids=[row[0] for row in JOBS])
def test_the_log_of_a_job(changes: dict[str, Any], grade: Grade, words: str) -> None:
    found = of_job(**changes)["log"]
    assert found[0] is grade and words in found[1], found


def test_a_job_that_says_nothing_for_long_is_noted_but_not_called_wrong() -> None:
    assert of_job(newest_at=NOW - timedelta(minutes=20))["age"][0] is Grade.NOTE
    assert "age" not in of_job(newest_at=NOW - timedelta(minutes=20), running=False)
    assert "age" not in of_job(newest_at=NOW - timedelta(minutes=20), cut=True)


@pytest.mark.parametrize(
    ("seen", "grade"),
    [
        (Labelled(""), Grade.NOTE),
        (Labelled("host"), Grade.WRONG),
        (Labelled("host", 9, 9), Grade.FINE),
        (Labelled("host", 9, 8, ("n9",)), Grade.WRONG),
    ],
    ids=["not mapped", "not there", "fits", "does not fit"],
)
@pytest.mark.parametrize("name", ["node", "rank", "filename", "restart"])
def test_labels(name: str, seen: Labelled, grade: Grade) -> None:
    assert of_job(labels={name: seen})[f"label {name}"][0] is grade


CLUSTERS: list[tuple[str, dict[str, Any], str, Grade, str]] = [
    ("no answer", {"scheduler": SchedulerFacts("no")}, "scheduler", Grade.UNKNOWN, "does not answer: no."),
    ("no listing", {"scheduler": SchedulerFacts(unseen="garbled")}, "scheduler", Grade.WRONG, "garbled"),
    ("never listed", {"scheduler": SchedulerFacts()}, "scheduler", Grade.WRONG, "last listed never"),
    ("clock ahead", {"scheduler": SchedulerFacts(ahead=9.0)}, "clock", Grade.WRONG, "9 s ahead of ours"),
    ("clock behind", {"scheduler": SchedulerFacts(ahead=-3600.0)}, "clock", Grade.WRONG, "1 h behind ours"),
    ("no roots", {"rooted": False}, "log_roots", Grade.WRONG, "no log roots and no log store"),
    ("a root away", {"roots": (("/x", "is no folder here"),)}, "log_roots", Grade.WRONG, "/x is no folder here"),
    ("files", {}, "node lines", Grade.NOTE, "from a log store only"),
    ("store away", {"store": StoreFacts("Loki", "no answer")}, "store", Grade.UNKNOWN, "no answer"),
    ("store empty", {"store": StoreFacts("Loki")}, "store", Grade.WRONG, "no line of any job"),
    ("no label", {"store": replace(STORE, named=0)}, "store", Grade.WRONG, "none has the label 'job_id'"),
    (
        "future",
        {"store": replace(STORE, ahead_at=NOW + timedelta(hours=9))},
        "store time",
        Grade.WRONG,
        "UTC+09:00",
    ),
    ("no node lines", {"store": replace(STORE, node_lines=None)}, "node lines", Grade.NOTE, "are not selected"),
    ("node lines away", {"store": replace(STORE, node_trouble="no")}, "node lines", Grade.UNKNOWN, "no"),
    ("strange nodes", {"store": replace(STORE, node_known=1)}, "node lines", Grade.WRONG, "2 of 3 lines"),
    ("good node lines", {"store": STORE}, "node lines", Grade.FINE, "all of known nodes"),
    ("no metrics", {"metrics": None}, "metrics", Grade.NOTE, "no metrics"),
    ("metrics away", {"metrics": MetricFacts("No.", False, False)}, "metrics", Grade.UNKNOWN, "No."),
    ("half the metrics", {"metrics": MetricFacts("Half.", True, False)}, "metrics", Grade.WRONG, "Half."),
    ("nothing runs", {"jobs": ()}, "jobs", Grade.UNKNOWN, "No job is running"),
]


@pytest.mark.parametrize(
    ("changes", "point", "grade", "words"), [row[1:] for row in CLUSTERS], ids=[row[0] for row in CLUSTERS]
)
def test_clusters(changes: dict[str, Any], point: str, grade: Grade, words: str) -> None:
    found = of_cluster(**changes)
    assert found[point][0] is grade and words in found[point][1], found


def test_whatever_is_wrong_says_why_it_matters_and_what_helps() -> None:
    for _name, changes, *_rest in CLUSTERS:
        for remark in judge_cluster(replace(CLUSTER, **changes)):
            assert remark.grade is not Grade.WRONG or (remark.matters and remark.remedy), remark
    for _name, changes, *_rest in LINES:
        for remark in judge_job(replace(JOB, lines=replace(GOOD, **changes)), CLUSTER):
            assert remark.grade is not Grade.WRONG or (remark.matters and remark.remedy), remark


def test_silence_of_all_is_no_silence_of_one() -> None:
    silent = replace(JOB, newest_at=NOW - timedelta(minutes=2))
    assert "silence" not in of_cluster(jobs=(silent,))
    assert "silence" not in of_cluster(jobs=(silent, JOB))
    assert of_cluster(jobs=(silent, silent))["silence"][0] is Grade.WRONG


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, 0),
        ({"metrics": None}, 0),
        ({"scheduler": SchedulerFacts("no")}, 2),
        ({"rooted": False}, 1),
        ({"rooted": False, "scheduler": SchedulerFacts("no")}, 1),
        ({"jobs": (replace(JOB, lines=Lines(), streams=()),)}, 1),
    ],
    ids=["fine", "a note", "unknown", "wrong", "wrong and unknown", "a job is wrong"],
)
def test_the_exit_status(changes: dict[str, Any], status: int) -> None:
    report = judge(replace(CLUSTER, **changes))
    assert report.status == status
    assert next(as_text(report)).startswith("alpha: ")


@pytest.mark.parametrize(
    ("lead", "zone", "late"),
    [
        (0.0, 0, 0.0),
        (4.0, 0, -4.0),
        (7199.0, 7200, 1.0),
        (-18000.0 - 100, -18000, 100.0),
        (19800.0, 19800, 0.0),
        (-1800.0, 0, 1800.0),
        (900.0, 0, -900.0),
        (-500.0, 0, 500.0),
        (20 * 3600.0, 0, -72000.0),
        (14 * 3600.0, 50400, 0.0),
    ],
    ids=["now", "a little early", "+2", "-5, late", "+5:30", "no zone", "fast", "late", "too far", "farthest"],
)
def test_a_difference_is_a_zone_where_there_is_such_a_zone(lead: float, zone: int, late: float) -> None:
    assert shift_of(lead) == (zone, pytest.approx(late))


def test_names_of_zones() -> None:
    assert [zone_name(seconds) for seconds in (0, 3600, -12600, 19800)] == [
        "UTC",
        "UTC+01:00",
        "UTC-03:30",
        "UTC+05:30",
    ]


class TestTheMapping:
    KNOWN = Known(
        running=frozenset({"4711", "4712"}),
        jobs=frozenset({"4700", "4711", "4712"}),
        nodes=frozenset({"n01", "n02"}),
        ranks=16,
        restarts={"4711": "2", "4712": "0"},
    )

    def best(self, values: dict[str, list[str]], rows: list[dict[str, str]] | None = None) -> dict[str, str]:
        return propose(candidates_of(values, rows or [], self.KNOWN), {})

    def test_by_values_and_not_by_names(self) -> None:
        values = {
            "batch": ["4711", "4712"],
            "job": ["prometheus", "systemd-journal"],
            "where": ["n01", "n02.example.org"],
            "port": ["4711", "80", "443", "22"],
        }
        assert self.best(values) == {"job_id": "batch", "node": "where"}

    def test_the_name_decides_between_equal_values(self) -> None:
        assert self.best({"a": ["4711", "4712"], "slurm_job": ["4711", "4712"]}) == {"job_id": "slurm_job"}

    def test_a_local_rank_is_no_rank_where_there_is_a_better_one(self) -> None:
        values = {"local_rank": ["0", "1"], "global_rank": ["0", "15"], "step": ["0", "1"]}
        assert self.best(values)["rank"] == "global_rank"
        assert "rank" not in self.best({"local_rank": ["0", "1"]})
        assert "rank" not in self.best({"rank": ["4711", "99"]})

    def test_the_restart_count_of_the_lines_own_job(self) -> None:
        rows = [
            {"job": "4711", "restart_count": "2", "attempt_no": "1"},
            {"job": "4712", "restart_count": "0", "attempt_no": "1"},
        ]
        assert self.best({}, rows)["restart"] == "restart_count"

    def test_nothing_fits(self) -> None:
        assert self.best({"app": ["web"], "level": ["info"], "empty": [""]}) == {}

    def test_what_is_mapped_and_fits_stays(self) -> None:
        found = candidates_of({"a_job": ["4711", "4712"], "b_job": ["4711", "4712"]}, [], self.KNOWN)
        assert propose(found, {"job_id": "b_job", "rank": "r"}) == {"job_id": "b_job", "rank": "r"}

    def test_no_label_stands_for_two_things(self) -> None:
        found = candidates_of({"job_host": ["4711", "4712", "n01"]}, [], self.KNOWN)
        assert len(set(propose(found, {"node": "job_host"}).values())) == 1

    def test_the_command_is_quoted(self) -> None:
        assert command_of("a", {"job_id": "j"}, '{j!=""}') == (
            "./run manage cluster labels a --label job_id=j --job-lines '{j!=\"\"}'"
        )


def test_text_of_others_is_one_line_that_does_not_act() -> None:
    assert shown("a\x1b[31m\nb\u202ec") == "a\ufffd[31m\ufffdb\ufffdc"
    assert len(shown("x" * 5000)) == 600
    assert few(["a", "b", "c"], limit=2) == "a, b and 1 more"
    assert [span(seconds) for seconds in (0, 59, 60, 3700, 90_000)] == [
        "0 s",
        "59 s",
        "1 min",
        "1 h 1 min",
        "1 d 1 h",
    ]

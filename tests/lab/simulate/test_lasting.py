"""Do faults that last, pause, turn or speak do what they say, and are they told to whoever asked?"""

import re

import pytest

from lab.dialects.known import DIALECTS
from lab.texts.texts import TEXTS, Spoken, Struck
from tests.lab.simulate.stage import START, Stage

STEP = re.compile(r"iteration +(\d+)/ +\d+ \|.* iteration \(ms\): ([\d.]+) \|.* nan iterations: +(\d) \|")
SAVED = re.compile(r"successfully saved checkpoint from iteration +(\d+) ")
TEN = list(range(1, 11))


class Told(list[tuple[object, ...]]):
    """Every strike: job, attempt, kind, nodes, ranks, step, seconds after the start."""

    def __call__(self, job, attempt, fault, nodes, ranks, step, at):
        self.append((job, attempt, fault.kind, nodes, ranks, step, at - START))


@pytest.fixture
def stage():
    return Stage()


@pytest.fixture
def told(stage):
    strikes = Told()
    stage.cluster.on_strike(strikes)
    return strikes


def steps(stage, job) -> list[int]:
    return [int(step) for step, _, _ in STEP.findall(stage.log(job))]


def paces(stage, job) -> list[int]:
    """By what each step took longer than usual, as its own line says."""
    return [round(float(milliseconds) / 1000) for _, milliseconds, _ in STEP.findall(stage.log(job))]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"step": 5, "factor": 3}, [1, 1, 1, 1, 3, 3, 3, 3, 3, 3]),
        ({"step": 5, "factor": 3, "until": 6}, [1, 1, 1, 1, 3, 3, 1, 1, 1, 1]),
        ({"step": 4, "growth": 1}, [1, 1, 1, 1, 2, 3, 4, 5, 6, 7]),
        ({"step": 2, "factor": 4, "every": 4}, [1, 4, 1, 1, 1, 4, 1, 1, 1, 4]),
        ({"step": 0, "factor": 2}, [2] * 10),
    ],
    ids=["steady", "for_a_while", "growing", "now_and_then", "always"],
)
def test_slow_steps(stage, fault, expected):
    job = stage.submit(faults=[{"kind": "slow", **fault}])
    stage.until(job, "COMPLETED")
    assert paces(stage, job) == expected
    assert job.ended_at - job.starts_at == pytest.approx(sum(expected) + 1.2, abs=1.5)


def test_a_slow_step_strikes_when_it_begins(stage, told):
    job = stage.running(faults=[{"kind": "slow", "step": 5, "factor": 100, "gpu": 3}])
    stage.wait(8)
    assert steps(stage, job) == [1, 2, 3, 4]
    assert [strike[:6] for strike in told] == [(1, 0, "slow", ("n01",), (3,), 5)]
    assert told[0][6] == pytest.approx(5.5, abs=0.2)  # where step 4 ended


def test_a_loss_that_is_no_number(stage, told):
    job = stage.submit(faults=[{"kind": "nan", "step": 4, "until": 6}])
    stage.until(job, "COMPLETED")
    bad = [int(step) for step, _, bad in STEP.findall(stage.log(job)) if bad == "1"]
    assert bad == [4, 5, 6]
    assert [strike[2:6] for strike in told] == [("nan", ("n01",), (2,), 4)]


def test_checkpoints_that_are_no_longer_saved(stage, told):
    fault = {"kind": "no_save", "step": 5, "lines": ["OSError: [Errno 28] No space left on device"]}
    job = stage.submit(checkpoint_every=2, faults=[fault])
    stage.until(job, "COMPLETED")
    assert SAVED.findall(stage.log(job)) == ["2", "4"]
    assert stage.log(job).count("No space left") == 3
    assert job.checkpoint == 4
    assert [strike[5] for strike in told] == [6]


def test_checkpoints_are_saved_again_behind_the_last_step_concerned(stage):
    job = stage.submit(checkpoint_every=2, faults=[{"kind": "no_save", "step": 3, "until": 6}])
    stage.until(job, "COMPLETED")
    assert SAVED.findall(stage.log(job)) == ["2", "8", "10"]


def test_a_pause_prints_waits_prints_and_goes_on(stage, told):
    fault = {"kind": "pause", "step": 4, "lines": ["evaluating"], "seconds": 100, "after": ["evaluated"]}
    job = stage.running(faults=[fault])
    stage.wait(50)
    assert stage.log(job).endswith("evaluating\n")
    stage.until(job, "COMPLETED")
    assert steps(stage, job) == TEN
    before, after = stage.log(job).split("evaluating\nevaluated\n")
    assert "iteration        3/" in before and "iteration        4/" in after
    assert job.ended_at - job.starts_at == pytest.approx(111, abs=2)
    assert [strike[5] for strike in told] == [4]


def test_a_spinning_job_talks_and_makes_no_step(stage):
    job = stage.running(faults=[{"kind": "spin", "step": 3, "lines": ["waiting for data"], "seconds": 10}])
    stage.wait(304)
    assert steps(stage, job) == [1, 2]
    assert stage.log(job).count("waiting for data\n") == 31
    assert job.word == "RUNNING"


def test_a_step_line_that_is_printed_again_and_again(stage):
    job = stage.running(faults=[{"kind": "reprint", "step": 4, "seconds": 10}])
    stage.wait(100)
    assert steps(stage, job) == [1, 2, *[3] * 10]


def test_a_spinning_job_obeys_term_and_a_hanging_one_does_not():
    for kind, word in (("spin", "PENDING"), ("hang", "COMPLETING")):
        stage = Stage(kill_wait_seconds=30)
        job = stage.running(faults=[{"kind": kind, "step": 2}])
        stage.wait(10)
        stage.do("scontrol", "requeuehold", "1")
        stage.wait(1)
        assert job.word == word


@pytest.fixture
def text(monkeypatch):
    """A text of our own in the registry."""

    def speak(struck: Struck) -> tuple[Spoken, ...]:
        return (
            Spoken(0, f"{struck.host}: first on rank {struck.rank} gpu {struck.gpu} of {struck.ranks}"),
            Spoken(30, f"{struck.host_of(0)}: later"),
            Spoken(12, f"job {struck.job} process {struck.process}"),
        )

    monkeypatch.setitem(TEXTS, "ours", speak)
    return "ours"


@pytest.mark.parametrize(
    ("ends", "words", "end"),
    [
        ({"exit_code": 134}, ("FAILED",), "srun: error: n02: task 13: Aborted\n"),
        ({"exit_code": 7}, ("FAILED",), "srun: error: n02: task 13: Exited with exit code 7\n"),
        ({"ends": "goes_on"}, ("COMPLETED",), "[after training is done]"),
        ({"ends": "hang"}, ("RUNNING",), "n01: later\n"),
    ],
)
def test_a_text_is_spoken_line_by_line_and_then_the_attempt_ends(stage, told, text, ends, words, end):
    job = stage.running(
        nodes=2, faults=[{"kind": "text", "text": text, "step": 4, "node": 1, "gpu": 5, **ends}], steps=100
    )
    stage.wait(20)
    process = 10_000 <= int(re.search(r"job 1 process (\d+)\n$", stage.log(job))[1]) < 90_000
    assert process and "n02: first on rank 13 gpu 5 of 16\njob 1" in stage.log(job)
    stage.wait(300)
    assert job.word in words
    assert end in stage.log(job)
    assert told == [(1, 0, "text", ("n02",), (13,), 4, told[0][6])]


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_every_text_of_the_lab_can_be_spoken_here(name):
    stage = Stage(nodes=2)
    job = stage.submit(nodes=2, faults=[{"kind": "text", "text": name, "step": 2, "attempt": 0, "node": 1}])
    stage.until(job, "FAILED", seconds=7200)
    assert "task 10: Exited with exit code 1\n" in stage.log(job)


def test_two_faults_of_one_step_strike_both(stage, told):
    faults = [
        {"kind": "lines", "step": 4, "lines": ["one"]},
        {"kind": "lines", "step": 4, "lines": ["two"], "node": 1},
        {"kind": "exit", "step": 4, "node": 1},
    ]
    job = stage.submit(nodes=2, faults=faults)
    stage.until(job, "FAILED")
    assert "one\ntwo\n" in stage.log(job)
    assert [strike[2:5] for strike in told] == [
        ("lines", ("n01",), (2,)),
        ("lines", ("n02",), (10,)),
        ("exit", ("n02",), (10,)),
    ]


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "exit", "step": 50},
        {"kind": "exit", "step": 3, "attempt": 1},
        {"kind": "exit", "step": 3, "node_name": "n04"},
        {"kind": "slow", "step": 50, "factor": 3},
        {"kind": "nan", "step": 3, "attempt": 1},
        {"kind": "no_save", "step": 9, "until": 9},
        {"kind": "prolog_failure", "attempt": 1},
        {"kind": "launch_failure", "node_name": "n04"},
    ],
)
def test_a_fault_that_is_never_reached_strikes_nobody(stage, told, fault):
    job = stage.submit(faults=[fault])
    stage.until(job, "COMPLETED")
    assert told == [] and job.restarts == 0


def test_what_concerns_only_steps_before_the_checkpoint_does_not_come_back(stage, told):
    faults = [
        {"kind": "nan", "step": 2, "until": 3},
        {"kind": "pause", "step": 2, "until": 2, "seconds": 1},
        {"kind": "exit", "step": 7, "attempt": 0},
    ]
    job = stage.submit(faults=faults)
    stage.until(job, "FAILED")
    stage.do("scontrol", "requeue", "1")
    stage.until(job, "COMPLETED")
    assert [(strike[1], strike[2]) for strike in told] == [(0, "nan"), (0, "pause"), (0, "exit")]


@pytest.mark.parametrize(
    ("kind", "nodes", "ranks"),
    [
        ("cancel", (), ()),
        ("preempt", (), ()),
        ("requeue", (), ()),
        ("timeout", (), ()),
        ("node_down", ("n02",), tuple(range(8, 16))),
        ("prolog_failure", ("n02",), tuple(range(8, 16))),
        ("hang", ("n02",), (10,)),
    ],
)
def test_whom_a_fault_strikes(stage, told, kind, nodes, ranks):
    stage.submit(nodes=2, faults=[{"kind": kind, "step": 3, "node": 1, "attempt": 0}])
    stage.wait(60)
    assert [strike[2:5] for strike in told] == [(kind, nodes, ranks)]


def test_nothing_in_the_log_tells_of_a_listener():
    logs = []
    for listening in (False, True):
        stage = Stage()
        if listening:
            stage.cluster.on_strike(Told())
        job = stage.submit(faults=[{"kind": "slow", "step": 2, "factor": 2}, {"kind": "exit", "step": 6}])
        stage.until(job, "FAILED")
        logs.append(stage.log(job))
    assert logs[0] == logs[1]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_job_trains_in_every_dialect(stage, dialect):
    faults = [{"kind": "nan", "step": 3}, {"kind": "exit", "step": 6, "attempt": 0}]
    job = stage.submit(dialect=dialect, open_mode="append", steps=25, faults=faults)
    stage.until(job, "FAILED")
    stage.do("scontrol", "requeue", "1")
    stage.until(job, "COMPLETED")
    assert "nan" in stage.log(job).lower()
    assert len(stage.log(job).splitlines()) > 12


def test_the_same_story_whatever_the_stride_of_time(text):
    stories = []
    for stride in (0.05, 7.0, 300.0):
        stage, strikes = Stage(), Told()
        stage.cluster.on_strike(strikes)
        faults = [
            {"kind": "slow", "step": 2, "factor": 2, "until": 3},
            {"kind": "pause", "step": 4, "seconds": 5, "attempt": 0},
            {"kind": "text", "text": text, "step": 6, "attempt": 0, "ends": "goes_on"},
            {"kind": "preempt", "step": 7, "attempt": 0},
            {"kind": "reprint", "step": 8, "seconds": 3},
        ]
        job = stage.submit(faults=faults)
        while stage.cluster.now < START + 300:
            stage.cluster.advance(min(START + 300, stage.cluster.now + stride))
        stories.append((stage.log(job), list(strikes), job.restarts))
    assert stories[0] == stories[1] == stories[2]


def test_steps_go_on_in_order_behind_pauses(stage):
    job = stage.submit(faults=[{"kind": "pause", "step": step, "seconds": 2} for step in (2, 4, 4)])
    stage.until(job, "COMPLETED")
    assert steps(stage, job) == TEN

"""Does the accounting tell how each attempt ended, and say so when it cannot?"""

import pytest

from schedulers.port import Garbled, NoAccounting, Unreachable
from schedulers.slurm.adapter import Slurm
from schedulers.states import JobState
from schedulers.transport import Answer
from tests.schedulers.recording import RECORDED, recorded
from tests.schedulers.replay import Replay

VERSIONS = sorted(folder.name for folder in RECORDED.iterdir())


@pytest.fixture(params=VERSIONS)
def version(request) -> str:
    return request.param


def ended(version: str, answer: str | Answer, number: int | None = None):
    if number is None:
        number = int(recorded(version, str(answer))[0][-1])
    return Slurm(Replay(version, {"sacct": answer}), 10).ended(number)


@pytest.mark.parametrize(
    ("name", "state", "word", "code", "signal"),
    [
        ("fails", JobState.FAILED, "FAILED", 3, 0),
        ("killed", JobState.FAILED, "FAILED", 0, 9),
        ("cancelled", JobState.CANCELLED, "CANCELLED", 0, 0),
        ("nodefail", JobState.NODE_FAIL, "NODE_FAIL", None, 0),  # 24.11 adds a code of its own
        ("limited", JobState.TIMEOUT, "TIMEOUT", 0, 0),
        ("ours", JobState.REQUEUED, "REQUEUED", 0, 0),
        ("stubborn", JobState.REQUEUED, "REQUEUED", 0, 0),
    ],
)
def test_an_ended_attempt_is_told_with_its_end(version, name, state, word, code, signal):
    (attempt,) = ended(version, f"ended_{name}")
    assert (attempt.state, attempt.word) == (state, word)
    assert code in (None, attempt.exit_code)
    assert attempt.exit_signal == signal
    assert attempt.submitted_at <= attempt.started_at <= attempt.ended_at
    assert attempt.nodes and attempt.user == "root"


@pytest.mark.parametrize("name", ["hostile", "array"])
def test_an_attempt_that_still_runs_did_not_end(version, name):
    assert ended(version, f"ended_{name}") == ()


def test_the_tasks_of_an_array_are_not_mixed_up():
    text = "".join(f"{number}|FAILED|1:0|5|6|7|n1|u|x|\n" for number in (7, 8))
    (attempt,) = ended("22.05", Answer(0, text.replace("|", "\x1fRecord"), ""), 8)
    assert attempt.number == 8


def test_attempts_come_in_the_order_of_their_submission():
    text = "".join(f"7|{word}|0:0|{at}|{at}|{at}|n1|u|a\nb|\n" for word, at in (("FAILED", 9), ("NODE_FAIL", 5)))
    attempts = ended("22.05", Answer(0, text.replace("|", "\x1fRecord"), ""), 7)
    assert [attempt.state for attempt in attempts] == [JobState.NODE_FAIL, JobState.FAILED]
    assert attempts[0].name == "a\nb"


def test_an_unknown_job_has_no_attempts(version):
    assert ended(version, "ended_unknown") == ()


def test_without_accounting_it_is_said(version):
    with pytest.raises(NoAccounting, match="keeps no accounting"):
        ended(version, "ended_no_accounting")


def test_a_database_that_does_not_answer_is_unreachable(version):
    with pytest.raises(Unreachable):
        ended(version, "down_accounting")


@pytest.mark.parametrize(
    "text", ["7|FAILED", "7|FAILED|0:0|1|2|3|n1|u|x|rest", "7|F|x|1|2|3|n1|u|x|\n", "7|F|0:0|a|b|c|n|u|x|"]
)
def test_a_broken_answer_is_garbled(text):
    with pytest.raises(Garbled):
        ended("22.05", Answer(0, text.replace("|", "\x1fRecord"), ""), 7)

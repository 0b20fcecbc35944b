"""Traps 7, 8, 9, 32 and 34: which silence is a hang, which one is a pause, and which one is our own blindness?"""

import pytest

from detectors.models import Anomaly
from tests.detectors.rows import megatron
from tests.detectors.traps.stage import Stage

HALF_AN_HOUR = 1800.0
PAUSES = {
    "evaluation": ("Evaluating on 163840 samples", " validation loss at iteration 30 | lm loss value: 3.1E+00 |"),
    "checkpoint": (
        "saving checkpoint at iteration      30 to /ckpt/train in torch_dist format",
        "  successfully saved checkpoint from iteration      30 to /ckpt/train [ t 1/8, p 1/1 ]",
    ),
}


@pytest.mark.parametrize("phase", PAUSES)
def test_trap_07_half_an_hour_with_a_phase_line_is_no_hang(stage: Stage, phase: str) -> None:
    begins, ends = PAUSES[phase]
    stage.submit()
    stage.train(1, 30)
    stage.say(begins)
    stage.wait(HALF_AN_HOUR, every=60)
    assert (stage.kinds(), stage.advised()) == ([], [])
    stage.say(ends)
    stage.train(31, 40)
    assert (stage.kinds(), stage.advised()) == ([], [])


def test_trap_07_a_first_step_that_compiles_for_half_an_hour_is_no_hang(stage: Stage) -> None:
    stage.submit()
    stage.say("> compiling the model ...")
    stage.wait(HALF_AN_HOUR, every=60)
    assert (stage.kinds(), stage.advised()) == ([], [])


def test_trap_07_the_same_half_hour_without_a_phase_line_is_a_hang(stage: Stage) -> None:
    stage.submit()
    stage.train(1, 30)
    stage.wait(HALF_AN_HOUR, every=60)
    assert stage.kinds() == ["hang"]
    assert stage.acts() == [(7, "restart", [])]


def found_after(stage: Stage, *lines: str, every: float = 5.0) -> float:
    """Seconds from the last of 30 steps until a hang is found, while the job prints `lines` again and again."""
    stage.submit()
    stage.train(1, 30)
    since = stage.at
    while not Anomaly.objects.filter(kind="hang").exists():
        assert stage.at - since < 600, "no hang was found"
        stage.at += every
        if lines:
            stage.say(*lines)
        stage.look()
    return stage.at - since


def test_trap_08_a_heartbeat_without_steps_is_a_hang_within_its_target(stage: Stage) -> None:
    """A step each 5 s: 60 s are allowed, twice that without a second witness, and a look each 5 s."""
    seconds = found_after(stage, "heartbeat ok, queue depth 3")
    assert 120 <= seconds <= 130
    stage.look()
    assert [row[1] for row in stage.acts()] == ["restart"]


def test_trap_08_the_same_step_again_and_again_is_no_movement(stage: Stage) -> None:
    assert found_after(stage, megatron(30, stage.now)) <= 130


def test_trap_09_a_second_witness_is_counted_and_found_in_half_the_time(stage: Stage) -> None:
    """Full load that does no work shows in steps alone; whoever else says that it stands still halves the wait."""
    witness = "INFO: task python:136986 blocked for more than 120 seconds."
    stage.submit()
    stage.train(1, 30)
    since = stage.at
    stage.at += 5
    stage.say(f"n02 kernel: {witness}")
    while not Anomaly.objects.filter(kind="hang").exists():
        assert stage.at - since < 600, "no hang was found"
        stage.at += 5
        stage.look()
    assert stage.at - since <= 75
    hang = Anomaly.objects.get(kind="hang")
    assert "is a second witness" in hang.sentence and hang.confidence == 0.95


def test_trap_32_a_collector_that_stops_blinds_within_one_interval_and_claims_no_hang(stage: Stage) -> None:
    """The files that the collector wrote are gone, and the job goes on."""
    stage.submit()
    stage.train(1, 30)
    stage.path().rename(stage.folder / "elsewhere")
    stage.wait(60, every=5)
    assert stage.kinds() == ["blind"]
    stage.wait(1800, every=60)
    assert (stage.kinds(), stage.acts()) == (["blind"], [])
    (stage.folder / "elsewhere").rename(stage.path())
    stage.train(31, 40)
    assert (stage.kinds(), stage.attempt().last_step) == ([], 40)


def test_trap_34_a_file_system_that_delays_every_log_at_once_restarts_nobody(stage: Stage) -> None:
    for number in range(7, 11):
        stage.submit(number, nodes=(f"n0{number - 6}",), node_count=1)
    for step in range(1, 31):
        stage.at += 5
        for number in range(7, 11):
            stage.say(megatron(step, stage.now), number=number)
        stage.look()
    stage.wait(900, every=15)
    assert stage.acts() == []
    assert [stage.kinds(number) for number in range(7, 11)] == [["blind"]] * 4
    reasons = {stage.attempt(number).blind_reason for number in range(7, 11)}
    assert len(reasons) == 1 and "3 other jobs" in reasons.pop()
    for step in range(31, 41):
        stage.at += 5
        for number in range(7, 11):
            stage.say(megatron(step, stage.now), number=number)
        stage.look()
    assert [stage.kinds(number) for number in range(7, 11)] == [[]] * 4
    assert stage.acts() == []

"""Trap 33: do clocks that jump make or hide anything?"""

from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.detectors.rows import megatron
from tests.detectors.traps.stage import Stage

HOUR = 3600.0
WRONG: dict[str, Callable[[int], float]] = {
    "half a minute in front": lambda step: 30.0,
    "a day behind": lambda step: -86_400.0,
    "an hour back in the middle (winter time)": lambda step: -HOUR if step > 20 else 0.0,
    "an hour forward in the middle (summer time)": lambda step: HOUR if step > 20 else 0.0,
    "to and fro": lambda step: HOUR * (step % 3 - 1),
    "set right again": lambda step: -7.0 if 10 < step < 20 else 0.0,
}


@pytest.mark.parametrize("wrong", WRONG)
def test_trap_33_a_healthy_job_whose_clock_is_wrong_is_healthy(stage: Stage, wrong: str) -> None:
    stage.submit()
    for step in range(1, 61):
        stage.at += 5
        stage.say(megatron(step, stage.now + timedelta(seconds=WRONG[wrong](step))))
        stage.look()
    assert (stage.kinds(), stage.advised()) == ([], [])
    assert stage.attempt().last_step == 60


@pytest.mark.parametrize("wrong", WRONG)
def test_trap_33_a_wrong_clock_hides_no_hang_and_makes_none_early(stage: Stage, wrong: str) -> None:
    stage.submit()
    for step in range(1, 41):
        stage.at += 5
        stage.say(megatron(step, stage.now + timedelta(seconds=WRONG[wrong](step))))
        stage.look()
    stage.wait(115, every=5)
    assert stage.kinds() == []
    stage.wait(30, every=5)
    assert stage.kinds() == ["hang"]


def test_trap_33_file_times_of_another_clock_make_no_hang(stage: Stage) -> None:
    """A file server whose clock runs an hour behind, then an hour in front, of a job that makes its steps."""
    stage.submit()
    for step in range(1, 61):
        stage.at += 5
        shown = stage.at
        stage.at += -HOUR if step <= 30 else HOUR
        stage.say(megatron(step, stage.now))
        stage.at = shown
        stage.look()
    assert (stage.kinds(), stage.advised()) == ([], [])

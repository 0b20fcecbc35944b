"""Is a job called slow when it is, and only then?"""

from collections.abc import Callable

import pytest

from detectors.catalogue.kind import AnomalyKind
from schedulers.states import JobState
from tests.detectors.catalogue.building import Watching, context, records, step_line

Seconds = Callable[[int], float]
CHANGE = 400  # step from which on something is different


def trained(step_seconds: Seconds, steps: int = 1000, rest: Callable[[int], str] = lambda step: "") -> Watching:
    """Steps 1 to `steps`, read one by one; `step_seconds` of each."""
    watching, clock = Watching(), 0.0
    for first in range(1, steps + 1, 20):
        lines = []
        for step in range(first, min(first + 20, steps + 1)):
            clock += step_seconds(step)
            lines += records([step_line(step, step_seconds(step), rest=rest(step))], seconds=clock)
        watching.see(lines)
    return watching


def slow(watching: Watching) -> list[str]:
    return [key for key, found in watching.findings.items() if found.kind is AnomalyKind.STRAGGLER]


def steadily(factor: float, until: int = 10**9) -> Seconds:
    return lambda step: 10.0 * (factor if CHANGE <= step < until else 1.0)


SLOW: list[tuple[str, Seconds]] = [
    ("steadily slower by a fifth", steadily(1.2)),
    ("ten times slower", steadily(10)),
    ("slower with every step", lambda step: 10.0 * (1 + 0.005 * max(0, step - CHANGE))),
    ("every fourth step takes three times as long", lambda s: 30.0 if s >= CHANGE and s % 4 == 0 else 10.0),
]


@pytest.mark.parametrize("seconds", [one[1] for one in SLOW], ids=[one[0] for one in SLOW])
def test_slow(seconds: Seconds) -> None:
    watching = trained(seconds)
    (key,) = slow(watching)
    found = watching.findings[key]
    assert found.step is not None
    assert CHANGE < found.step < CHANGE + 180
    assert (found.basis, found.nodes, found.ranks) == ("step", (), ())
    assert "instead of 10 s" in found.sentence
    assert watching.ended == []


NOT_SLOW: list[tuple[str, Seconds]] = [
    ("the same all the time", lambda step: 10.0),
    ("a tenth slower", steadily(1.1)),
    ("slow for five minutes only", steadily(1.5, CHANGE + 20)),
    ("faster", steadily(0.5)),
    ("one long pause without a line", lambda step: 900.0 if step == CHANGE else 10.0),
    ("a pause every hundred steps", lambda step: 300.0 if step % 100 == 0 else 10.0),
    ("slow from its first step on", lambda step: 20.0),
    ("a slow start", lambda step: 30.0 if step < 10 else 10.0),
]


@pytest.mark.parametrize("seconds", [one[1] for one in NOT_SLOW], ids=[one[0] for one in NOT_SLOW])
def test_not_slow(seconds: Seconds) -> None:
    assert slow(trained(seconds)) == []


def test_as_fast_as_before_ends_it_and_it_may_come_again() -> None:
    twice = trained(lambda step: 15.0 if 400 <= step < 600 or 900 <= step < 1100 else 10.0, steps=1200)
    first, second = slow(twice)
    assert twice.ended == [first, second]


def test_longer_steps_that_do_as_much_work_a_second_are_not_slow() -> None:
    def titan(watching: Watching, clock: float, step: int, seconds: float, tps: int) -> None:
        line = f"step: {step:2d}  loss:  7.40123  grad_norm:  1.2345  memory: 40.12GiB(50.71%)  tps: {tps:,}"
        watching.see(records([line], seconds=clock))

    longer, slower = Watching(), Watching()
    clock = 0.0
    for step in range(1, 700):
        seconds = 10.0 if step < CHANGE else 15.0
        clock += seconds
        titan(longer, clock, step, seconds, 8000)
        titan(slower, clock, step, seconds, int(80_000 / seconds))
    assert slow(longer) == []
    assert len(slow(slower)) == 1


def test_time_in_a_checkpoint_is_no_time_of_a_step() -> None:
    watching, clock = Watching(), 0.0
    for step in range(1, 800):
        clock += 10
        lines = records([step_line(step, 10)], seconds=clock)
        if step > CHANGE and step % 10 == 0:
            saving = f"saving checkpoint at iteration {step:7d} to /ckpt in torch_dist format"
            lines += records([saving], seconds=clock + 1)
            clock += 60
            lines += records([f"  successfully saved checkpoint from iteration {step:7d} to /ckpt"], seconds=clock)
        watching.see(lines)
    assert slow(watching) == []


def test_only_a_running_attempt_is_judged() -> None:
    watching = Watching(context(state=JobState.COMPLETING))
    for step in range(1, 800):
        seconds = 10.0 * step if step < CHANGE else 10.0 * CHANGE + 20.0 * (step - CHANGE)
        watching.see(records([step_line(step, 10)], seconds=seconds))
    assert slow(watching) == []

"""Is a job that trains on without saving noticed, and only such a one?"""

from collections.abc import Callable

import pytest

from detectors.catalogue.kind import AnomalyKind
from schedulers.states import JobState
from tests.detectors.catalogue.building import Watching, context, records, step_line


def trained(saves: Callable[[int], bool], steps: int = 200, watching: Watching | None = None) -> Watching:
    """Steps 1 to `steps`, each 10 s after the other; checkpoints where `saves` says so."""
    watching = watching or Watching()
    for step in range(1, steps + 1):
        lines = records([step_line(step, 10)], seconds=10.0 * step)
        if saves(step):
            saved = f"  successfully saved checkpoint from iteration {step:7d} to /ckpt [ t 1/1, p 1/1 ]"
            lines += records([saved], seconds=10.0 * step + 1)
        watching.see(lines)
    return watching


def missing(watching: Watching) -> list[str]:
    return [key for key, found in watching.findings.items() if found.kind is AnomalyKind.NO_CHECKPOINT]


def test_three_usual_distances_without_a_save() -> None:
    watching = trained(lambda step: step % 20 == 0 and step <= 100)
    assert missing(watching) == ["saves:100"]
    found = watching.findings["saves:100"]
    assert (found.step, found.basis) == (161, "step")
    assert found.sentence == "No checkpoint since step 100, 61 steps ago; one every 20 steps is usual."


def test_the_next_save_ends_it() -> None:
    watching = trained(lambda step: step % 20 == 0 and (step <= 100 or step >= 180))
    assert missing(watching) == ["saves:100"]
    assert watching.ended == ["saves:100"]


NOTHING_MISSING: list[tuple[str, Callable[[int], bool]]] = [
    ("a save every 20 steps", lambda step: step % 20 == 0),
    ("no save was ever told", lambda step: False),
    ("one distance is no rhythm", lambda step: step in (10, 20)),
    ("saves that come rarer", lambda step: step in (10, 30, 50, 100, 150)),
]


@pytest.mark.parametrize("saves", [one[1] for one in NOTHING_MISSING], ids=[one[0] for one in NOTHING_MISSING])
def test_nothing_is_missing(saves: Callable[[int], bool]) -> None:
    assert missing(trained(saves)) == []


def test_an_attempt_that_does_not_run_is_not_judged() -> None:
    ending = Watching(context(state=JobState.COMPLETING))
    assert missing(trained(lambda step: step % 20 == 0 and step <= 100, watching=ending)) == []

"""Does the product's own catalogue read what the dialects write?"""

from collections.abc import Sequence

import pytest

from lab.dialects.dialect import PHASES, Stage, bar
from lab.dialects.known import DIALECTS
from tests.detectors.catalogue.building import Watching, context, records

STAGE = Stage(number=7, name="train", attempt=0, nodes=("gpu-01", "gpu-02"), gpus=2, steps=60, step_seconds=2.0)
EPOCH = 1777629600.0  # 2026-05-01 10:00:00 UTC
RESUMED, SAVES = 20, [30, 40, 50, 60]

# What the catalogue takes from a whole attempt: last step, checkpoints saved and loaded, whether the end is told.
# NeMo counts from 0. Empty: the framework does not say it, or the catalogue has no word for it.
READ: dict[str, tuple[int, list[int], list[int], bool]] = {
    "megatron": (60, SAVES, [RESUMED], True),
    "nemo": (59, SAVES, [RESUMED - 1], True),
    "deepspeed": (60, SAVES, [RESUMED], False),
    "huggingface": (60, [], [RESUMED], True),
    "torchtitan": (60, SAVES, [], True),
    "composer": (60, SAVES, [RESUMED], False),
    "plain": (60, SAVES, [], False),
}


def test_every_dialect_is_in_the_table() -> None:
    assert set(READ) == set(DIALECTS)


@pytest.mark.parametrize("name", DIALECTS)
def test_catalogue_follows_an_attempt(name: str) -> None:
    last, saved, loaded, told_end = READ[name]
    watching = trained(name)
    progress = watching.outcome.progress
    assert progress.last_step == last
    assert progress.baseline_step_seconds == pytest.approx(2.0)
    assert (sorted(set(watching.saved)), watching.loaded) == (saved, loaded)
    assert not watching.findings
    see(watching, DIALECTS[name].ending(STAGE, EPOCH + 100), 100)
    assert (watching.outcome.progress.phase == "ended") is told_end
    assert not watching.findings


@pytest.mark.parametrize("name", DIALECTS)
def test_catalogue_sees_a_loss_that_is_no_number(name: str) -> None:
    watching = trained(name)
    for step in range(61, 81):
        see(watching, DIALECTS[name].step(STAGE, step, 2.0, EPOCH + 2 * step, nan=True), 2 * step)
    assert {found.kind.value for found in watching.findings.values()} == {"nan"}


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("name", DIALECTS)
def test_a_phase_makes_no_step_and_looks_like_no_fault(name: str, phase: str) -> None:
    watching = trained(name)
    before = watching.outcome.progress.last_step
    for part, seconds in zip(DIALECTS[name].phase(STAGE, phase, 60, 30.0, EPOCH + 100), (100, 130), strict=True):
        see(watching, part, seconds)
    assert watching.outcome.progress.last_step == before
    assert not watching.findings


@pytest.mark.parametrize("name", DIALECTS)
def test_lines_are_lines_and_the_same_each_time(name: str) -> None:
    lines = whole(name)
    assert lines == whole(name)
    assert all("\n" not in line for _, line in lines)


def test_a_bar_is_drawn_as_in_a_terminal() -> None:
    assert bar(120, 1000, 30, " 4.00it/s") == " 12%|█▏        | 120/1000 [00:30<03:40,  4.00it/s]"


def trained(name: str) -> Watching:
    """An attempt from step 20 to 60, read as it was written."""
    watching = Watching(context(nodes=STAGE.nodes))
    watching.see([record for seconds, line in whole(name) for record in records([line], seconds)])
    return watching


def whole(name: str) -> list[tuple[float, str]]:
    """Its lines and the seconds at which each was written."""
    dialect = DIALECTS[name]
    lines = [(0.0, line) for line in dialect.opening(STAGE, RESUMED, EPOCH)]
    lines += [(5.0, line) for line in dialect.loaded(STAGE, RESUMED, EPOCH + 5)]
    for step in range(RESUMED + 1, 61):
        seconds = 10.0 + 2 * (step - RESUMED)
        lines += [(seconds, line) for line in dialect.step(STAGE, step, 2.0, EPOCH + seconds)]
        if step in SAVES:
            lines += [(seconds, line) for line in dialect.saved(STAGE, step, EPOCH + seconds)]
    return lines


def see(watching: Watching, lines: Sequence[str], seconds: float) -> None:
    """Read more of it."""
    if lines:
        watching.see(records(lines, seconds))

"""Did earlier attempts get anywhere, and did they fail in the same way?"""

from dataclasses import replace
from typing import Any

import pytest

from advisor_api.policy.history import Counts, Past, count


def past(
    index: int, fingerprint: str = "f", step: int | None = None, saved: int | None = None, **more: bool
) -> Past:
    return Past(index, fingerprint, 0 if step is not None else None, step, saved, **more)


CASES = [
    ("one attempt that saved", [past(0, step=25, saved=20)], Counts(0, 0, 1)),
    ("one attempt that died at the start", [past(0)], Counts(1, 0, 1)),
    (
        "it saved, then failed again before the next",
        [past(0, step=25, saved=20), past(1, step=25)],
        Counts(1, 1, 2),
    ),
    (
        "three more that saved nothing new",
        [past(0, step=25, saved=20), *(past(i, step=24, saved=20) for i in (1, 2, 3))],
        Counts(3, 3, 4),
    ),
    (
        "an advance resets everything",
        [past(0, step=25, saved=20), past(1, step=24), past(2, step=45, saved=40)],
        Counts(0, 0, 1),
    ),
    (
        "another cause in between does not hide the first",
        [past(0, "a", 25, 20), past(1, "b", 22), past(2, "a", 29)],
        Counts(2, 1, 1),
    ),
    ("a cause without fingerprint is not the same", [past(0, "", 25, 20), past(1, "", 25)], Counts(1, 0, 1)),
    ("one step apart is the same step", [past(0, step=25, saved=20), past(1, step=26)], Counts(1, 1, 2)),
    ("two steps apart is not", [past(0, step=25, saved=20), past(1, step=27)], Counts(1, 1, 1)),
    ("without checkpoint lines ten steps count", [past(0, step=25), past(1, step=35)], Counts(0, 0, 1)),
    ("nine steps do not", [past(0, step=25), past(1, step=34)], Counts(1, 1, 1)),
    (
        "what nobody could read neither counts nor resets",
        [past(0, step=25, saved=20), past(1, step=24), past(2, readable=False), past(3, step=24)],
        Counts(2, 3, 3),
    ),
    (
        "a new bad host each time is excused twice",
        [past(i, names_new_host=True) for i in range(4)],
        Counts(2, 3, 1),
    ),
    ("the same old checkpoint is no advance", [past(0, saved=20), past(1, saved=20)], Counts(1, 1, 1)),
    ("a lower checkpoint is no advance", [past(0, saved=20), past(1, saved=10)], Counts(1, 1, 1)),
    ("checkpoint 0 is a checkpoint", [past(0, saved=0)], Counts(0, 0, 1)),
]


@pytest.mark.parametrize(("history", "counts"), [pytest.param(*case[1:], id=case[0]) for case in CASES])
def test_counts(history: list[Past], counts: Counts) -> None:
    found = count(history)
    assert replace(found, checkpoint=None, failures_at_loading=0) == counts


def loaded(
    index: int, step: int | None = None, *, load: int | None = None, saved: int | None = None, **more: Any
) -> Past:
    return Past(index, more.pop("fingerprint", "f"), None, step, saved, load, **more)


FROM_CHECKPOINTS = [
    ("the first attempt began from nothing", [loaded(0, 25, saved=20)], (None, 0)),
    ("the second from what the first saved", [loaded(0, 25, saved=20), loaded(1)], (20, 1)),
    ("from what it said that it loaded", [loaded(0, 25, saved=20), loaded(1, load=10)], (10, 1)),
    ("twice without a step", [loaded(0, 25, saved=20), loaded(1), loaded(2)], (20, 2)),
    ("twice at loading itself", [loaded(0, 25, saved=20), loaded(1, load=20), loaded(2, load=20)], (20, 2)),
    ("a step in between", [loaded(0, 25, saved=20), loaded(1), loaded(2, 22), loaded(3)], (20, 1)),
    ("this one made a step", [loaded(0, 25, saved=20), loaded(1), loaded(2, 21)], (20, 0)),
    ("another checkpoint each time", [loaded(0, 25, saved=20), loaded(1), loaded(2, load=10)], (10, 1)),
    ("other causes", [loaded(0, 25, saved=20), loaded(1, fingerprint="g"), loaded(2)], (20, 1)),
    ("no known cause", [loaded(0, 25, saved=20), *(loaded(n, fingerprint="") for n in (1, 2))], (20, 0)),
    ("one that nobody could read", [loaded(0, saved=20), loaded(1, readable=False), loaded(2)], (20, 1)),
    ("the checkpoint of step 0", [loaded(0, load=0), loaded(1, load=0)], (0, 2)),
]


@pytest.mark.parametrize(("history", "found"), [pytest.param(*case[1:], id=case[0]) for case in FROM_CHECKPOINTS])
def test_what_it_began_from(history: list[Past], found: tuple[int | None, int]) -> None:
    counts = count(history)
    assert (counts.checkpoint, counts.failures_at_loading) == found


def test_a_job_that_resumed_far_on_has_not_advanced_by_resuming() -> None:
    assert count([Past(0, "f", first_step=5000, last_step=5003)]).attempts_without_checkpoint == 1
    assert count([Past(0, "f", first_step=5000, last_step=5010)]).attempts_without_checkpoint == 0

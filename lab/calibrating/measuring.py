"""Which verdicts does a calibration look at? Of lab cases, put on by many seeds, and of kept score cards."""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from lab.calibrating.judging import usable, verdict
from lab.calibrating.reliability import Verdict
from lab.calibrating.table import Measured
from lab.cases.case import Case
from lab.score.card import Card
from lab.score.grade import Grade

PROCESSES = 2
NICE = 10  # others want to work meanwhile


def calibrate(
    cases: Sequence[Case], seeds: Sequence[int], cards: Iterable[Card], say: Callable[[str], None]
) -> list[Measured]:
    """The first half of the seeds, to fit on; the second half and the kept cards, to report on."""
    some, half = [case for case in cases if usable(case)], (len(seeds) + 1) // 2
    say(f"{len(some)} cases that a log tells, each by {len(seeds)} seeds")
    found: dict[int, tuple[Verdict, ...]] = {}
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("fork"), initializer=_prepare) as pool:
        for seed, verdicts in zip(seeds, pool.map(partial(of_seed, some), seeds), strict=True):
            found[seed] = verdicts
            say(f"seed {seed}: {len(verdicts)} verdicts, {sum(one.right for one in verdicts)} of them right")
    sets = []
    for what, chosen in (("to fit on", seeds[:half]), ("to report on", seeds[half:])):
        words = f"Logs of simulated jobs, {what}: {len(some)} cases by the seeds {chosen[0]} to {chosen[-1]}"
        sets.append(Measured(words, tuple(one for seed in chosen for one in found[seed])))
    return [*sets, *of_cards(cards)]


def of_seed(cases: Sequence[Case], seed: int) -> tuple[Verdict, ...]:
    """The verdicts on the cases as this seed puts them on; where nothing is said there is none."""
    return tuple(one for case in cases if (one := verdict(case, seed)) is not None)


def of_cards(cards: Iterable[Card]) -> list[Measured]:
    """What kept score cards tell, each part of one by itself."""
    return [
        Measured(
            f"Score card of {card.meta.date}: {part.title} {card.meta.source}".strip(), verdicts_of(part.grades)
        )
        for card in cards
        for part in card.parts
    ]


def verdicts_of(grades: Iterable[Grade]) -> tuple[Verdict, ...]:
    """Of the grades that count and hold a verdict whose confidence is asked for."""
    return tuple(
        Verdict(one.name, one.confidence, one.confidence_right, one.evidence_status, one.rule)
        for one in grades
        if one.counted and one.confidence is not None and one.confidence_right is not None
    )


def _prepare() -> None:
    """The product's processes live in UTC, and stamps without a zone are read and written in local time."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    os.nice(NICE)

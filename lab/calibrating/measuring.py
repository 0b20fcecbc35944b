"""Which verdicts does a calibration look at? Of lab cases, put on by several seeds, and of kept score cards."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from lab.calibrating.reliability import Verdict
from lab.calibrating.table import Measured
from lab.calibrating.varying import case_of, vary
from lab.cases.case import Case
from lab.score.card import Card
from lab.score.grade import Grade
from lab.score.grading import grade
from lab.virtual.run import put_on

PROCESSES = 1  # others want to work meanwhile


def calibrate(
    cases: Sequence[Case], seeds: Sequence[int], cards: Iterable[Card], folder: Path, say: Callable[[str], None]
) -> list[Measured]:
    """The first half of the seeds, to fit on; the second half and the kept cards, to report on."""
    half = (len(seeds) + 1) // 2
    sets = []
    for what, some in (("to fit on:", seeds[:half]), ("to report on:", seeds[half:])):
        words = f"Simulated cluster, {what} {len(cases)} cases by the seeds {', '.join(map(str, some))}"
        sets.append(Measured(words, tuple(_of_lab(cases, some, folder / f"seeds-from-{some[0]}", say))))
    return [*sets, *of_cards(cards)]


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
        Verdict(case_of(one.name), one.confidence, one.confidence_right, one.evidence_status, one.rule)
        for one in grades
        if one.counted and one.confidence is not None and one.confidence_right is not None
    )


def _of_lab(
    cases: Sequence[Case], seeds: Sequence[int], folder: Path, say: Callable[[str], None]
) -> tuple[Verdict, ...]:
    varied = [vary(case, seed) for seed in seeds for case in cases]
    folder.mkdir(parents=True)
    results = put_on(varied, folder, say, seed=seeds[0], processes=PROCESSES)
    return verdicts_of(grade(result, "simulated") for result in results)

"""Which numbers does a set of grades give? Every share with its n, every latency by its basis."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lab.score.calibration import Calibration, calibrate
from lab.score.confusion import Confusion, confusion
from lab.score.grade import NOTHING, Grade
from lab.score.grading import domain
from lab.score.percentiles import Spread, spread
from lab.score.wilson import Rate, Share

SECONDS_OF_AN_HOUR = 3600.0

QUESTIONS: tuple[tuple[str, str, Callable[[Grade], bool | None]], ...] = (
    ("recall", "faults found", lambda one: one.found),
    ("layer", "layer exactly right", lambda one: one.layer_right if one.fault else None),
    ("domain", "domain of the layer right", lambda one: one.domain_right if one.fault else None),
    ("culprit", "culprit node named first", lambda one: one.culprit_right),
    ("action", "action right", lambda one: one.action_right if one.fault else None),
    ("later", "action right when it strikes again", lambda one: one.later_right),
    ("left_alone", "traps left alone", lambda one: one.left_alone),
)
"""Key in JSON, words in the table, and the answer of one grade; over all cases that count and are asked."""


@dataclass(frozen=True, slots=True)
class Scores:
    """All numbers of some grades. `shares` by the keys of `QUESTIONS`, and `exclusions`, whose n is nodes."""

    counted: int
    shares: dict[str, Share]
    answers: dict[str, Share]
    latency: dict[str, Spread]
    false_actions: Rate
    calibration: Calibration
    kinds: Confusion
    domains: Confusion


def scores(grades: Sequence[Grade]) -> Scores:
    """The numbers of those grades that count."""
    some = [one for one in grades if one.counted]
    shares = {key: share(ask(one) for one in some) for key, _, ask in QUESTIONS}
    shares["exclusions"] = share(guilty for one in some for _, guilty in one.excluded)
    confident = [
        (one.confidence, one.confidence_right)
        for one in some
        if one.confidence is not None and one.confidence_right is not None
    ]
    false = sum(len(one.false_actions) for one in some)
    return Scores(
        counted=len(some),
        shares=shares,
        answers=_answers(some),
        latency=_latency(some),
        false_actions=Rate(false, sum(one.healthy_seconds for one in some) / SECONDS_OF_AN_HOUR),
        calibration=calibrate(confident),
        kinds=confusion((one.truth_kind, one.said_kind) for one in some),
        domains=confusion((_truth_domain(one), domain(one.said_layer)) for one in some),
    )


def share(answers: Iterable[bool | None]) -> Share:
    """How many of those asked are right; `None` was not asked."""
    asked = [answer for answer in answers if answer is not None]
    return Share(sum(asked), len(asked))


def by_group(grades: Sequence[Grade]) -> dict[str, list[Grade]]:
    """The grades of each group: those of faults first, else in the order in which they come."""
    groups: dict[str, list[Grade]] = defaultdict(list)
    for one in sorted(grades, key=lambda one: not one.fault):
        groups[one.group].append(one)
    return dict(groups)


def _latency(some: Sequence[Grade]) -> dict[str, Spread]:
    bases: dict[str, list[float]] = defaultdict(list)
    for one in some:
        if one.latency_seconds is not None:
            bases[one.basis].append(one.latency_seconds)
    return {basis: spread(values) for basis, values in sorted(bases.items())}


def _answers(some: Sequence[Grade]) -> dict[str, Share]:
    asked: dict[str, list[bool]] = defaultdict(list)
    for one in some:
        for question, right in (*one.answers, *one.beside):
            asked[question].append(right)
    return {question: share(answers) for question, answers in asked.items()}


def _truth_domain(one: Grade) -> str:
    """The true domain; where several layers are right, the one that was said if it is among them, else the best."""
    domains = [domain(layer) for layer in one.truth_layers]
    said = domain(one.said_layer)
    return said if said in domains else domains[0] if domains else NOTHING

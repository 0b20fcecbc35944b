"""How did the fleet fare? Recall by class, false actions, exclusions, and where the GPU-hours went."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from lab.cases.case import Did
from lab.fleet.goodput import Goodput
from lab.fleet.ledger import BY_NAME
from lab.fleet.options import Options
from lab.score.grade import Grade
from lab.score.grading import grade
from lab.score.said import Advised, Result
from lab.score.scores import share
from lab.score.wilson import Rate, Share

Row = tuple[str, ...]
ACTS = frozenset({Did.RESTART, Did.RESTART_EXCLUDE, Did.STOP})
NOTHING = "-"


@dataclass(frozen=True)
class FleetResult:
    """One fleet, lived through with the product and without. `results` are graded by `lab.score.card.score`.

    `stray_commands` changed something about a job that nothing was advised on. `seconds` of real time altogether,
    `watched_seconds` of them with the product.
    """

    options: Options
    results: tuple[Result, ...]
    with_product: Goodput
    by_hand: Goodput
    stray_commands: tuple[str, ...]
    seconds: float
    watched_seconds: float
    peak_bytes: int

    @cached_property
    def grades(self) -> tuple[Grade, ...]:
        """One for each result."""
        return tuple(grade(result, "fleet") for result in self.results)

    @property
    def healthy_hours(self) -> float:
        """Hours that jobs ran before anything broke in them."""
        return sum(result.healthy_seconds for result in self.results) / 3600

    @property
    def false_actions(self) -> tuple[str, ...]:
        """Each with its class and its jobs."""
        return tuple(
            f"{one.name}: {sentence}, {_where(result, sentence)}"
            for result, one in zip(self.results, self.grades, strict=True)
            for sentence in one.false_actions
        )

    @property
    def false_rate(self) -> Rate:
        """False actions in healthy job-hours."""
        return Rate(sum(len(one.false_actions) for one in self.grades), self.healthy_hours)

    @property
    def exclusions(self) -> Share:
        """Of the nodes that restarts left out, how many had been struck."""
        return share(guilty for one in self.grades for _, guilty in one.excluded)

    @property
    def recoveries(self) -> tuple[Advised, ...]:
        """Restarts that were advised on something broken."""
        return tuple(
            advised
            for result in self.results
            if BY_NAME[result.case.name].harmful
            for advised in result.said.advice
            if advised.did in (Did.RESTART, Did.RESTART_EXCLUDE)
        )

    def table(self) -> str:
        """Text for a terminal."""
        options, pace = self.options, self.options.days / max(self.watched_seconds, 1) * 60
        head = (
            f"{options.nodes} nodes, {options.days:g} days, seed {options.seed}, mode {options.mode}: "
            f"{self.seconds:.0f} s, of which {self.watched_seconds:.0f} s with the product "
            f"({pace:.2f} virtual days a minute), at most {self.peak_bytes >> 20} MB"
        )
        blocks = [head, _rows(CLASSES, self._by_class()), _rows(FLEET, self._numbers())]
        if false := self.false_actions:
            blocks.append("\n".join(["False actions:", *(f"- {sentence}" for sentence in false)]))
        return "\n\n".join(blocks)

    def as_json(self) -> dict[str, Any]:
        """The fleet's own numbers; those of the classes stand in the score card's JSON."""
        return {
            "options": asdict(self.options),
            "healthy_hours": self.healthy_hours,
            "false_actions": list(self.false_actions),
            "exclusions": {"hits": self.exclusions.hits, "n": self.exclusions.n},
            "with_product": asdict(self.with_product),
            "by_hand": asdict(self.by_hand),
            "stray_commands": list(self.stray_commands),
            "seconds": self.seconds,
            "watched_seconds": self.watched_seconds,
            "peak_bytes": self.peak_bytes,
        }

    def _by_class(self) -> list[Row]:
        rows: list[Row] = []
        for name, kind in BY_NAME.items():
            some = [one for one in self.grades if one.name == name and one.counted]
            hours = sum(one.healthy_seconds for one in some) / 3600
            asked = "recall" if kind.harmful else "left_alone"
            seen = share(one.found if asked == "recall" else one.left_alone for one in some)
            latency = [one.latency_seconds for one in some if one.latency_seconds is not None]
            rows.append(
                (
                    name.removeprefix("fleet."),
                    str(len(some)),
                    _percent(seen),
                    _percent(share(one.layer_right for one in some if kind.harmful)),
                    _percent(share(one.culprit_right for one in some)),
                    _percent(share(one.action_right for one in some)),
                    _percent(share(one.later_right for one in some)),
                    _seconds(latency),
                    str(sum(len(one.false_actions) for one in some)),
                    f"{hours:.0f}",
                )
            )
        return rows

    def _numbers(self) -> list[Row]:
        ours, theirs = self.with_product, self.by_hand
        resumed = [one for one in self.recoveries if one.resumed_at is not None]
        took = [(one.resumed_at - one.advised_at).total_seconds() for one in resumed if one.resumed_at is not None]
        rate = self.false_rate
        low, high = rate.interval or (0.0, 0.0)
        return [
            ("GPU-hours allocated", f"{ours.allocated:.0f}", f"{theirs.allocated:.0f}"),
            ("  trained and kept", f"{ours.trained:.0f}", f"{theirs.trained:.0f}"),
            ("  lost to failures", f"{ours.lost:.0f}", f"{theirs.lost:.0f}"),
            ("  of these, each failure", _each(ours), _each(theirs)),
            ("GPU-hours that works waited after a failure", f"{ours.waited:.0f}", f"{theirs.waited:.0f}"),
            ("attempts that a failure ended", str(ours.failures), str(theirs.failures)),
            ("hours from a failure to the next start", _hours(ours), _hours(theirs)),
            ("works completed", str(ours.completed), str(theirs.completed)),
            ("restarts advised, and resumed", f"{len(self.recoveries)}, {len(resumed)}", NOTHING),
            ("seconds from advice to progress, median", _seconds(took), NOTHING),
            ("nodes left out, and struck", f"{self.exclusions.n}, {self.exclusions.hits}", NOTHING),
            ("healthy job-hours", f"{self.healthy_hours:.0f}", NOTHING),
            (
                "false actions per 1,000 healthy job-hours",
                f"{rate.per_thousand or 0:.2f} ({low:.2f} to {high:.2f}), {rate.count} in all",
                NOTHING,
            ),
            ("commands without advice", str(len(self.stray_commands)), NOTHING),
        ]


CLASSES: Row = (
    "class",
    "n",
    "found or left alone",
    "layer",
    "culprit",
    "action",
    "later",
    "p50 s",
    "false",
    "healthy h",
)
FLEET: Row = ("the fleet", "with the product", "people alone")


def _where(result: Result, sentence: str) -> str:
    """Which attempts a sentence may speak of: those that were acted on."""
    acted = [f"{one.job}-{one.attempt}" for one in result.said.advice if one.did in ACTS and one.did in sentence]
    return f"one of {', '.join(acted[:6])}" if len(acted) > 1 else f"attempt {''.join(acted)}"


def _percent(some: Share) -> str:
    return NOTHING if some.share is None else f"{some.share:.0%}"


def _seconds(some: Sequence[float]) -> str:
    return f"{statistics.median(some):.0f}" if some else NOTHING


def _each(goodput: Goodput) -> str:
    return f"{goodput.lost / goodput.failures:.0f}" if goodput.failures else NOTHING


def _hours(goodput: Goodput) -> str:
    return NOTHING if goodput.mean_wait_seconds is None else f"{goodput.mean_wait_seconds / 3600:.2f}"


def _rows(head: Row, rows: Iterable[Row]) -> str:
    every = [head, *rows]
    widths = [max(len(row[place]) for row in every) for place in range(len(head))]
    lines = ["  ".join(_padded(word, widths[place], place) for place, word in enumerate(row)) for row in every]
    return "\n".join(line.rstrip() for line in [lines[0], "-" * len(lines[0]), *lines[1:]])


def _padded(word: str, width: int, place: int) -> str:
    return word.ljust(width) if place == 0 else word.rjust(width)

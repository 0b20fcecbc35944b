"""What does a score card hold, and how is it kept? Grades with their circumstances; every number follows from them.

The JSON (schema 1): `schema`, `where`, `meta` (date, version, commit, machine, seed, seconds, source), and `parts`,
which are never added up: each with `title`, `all` (numbers), `groups` (numbers for each group) and `cases` (one
object for each case, the fields of `lab.score.grade.Grade`). Numbers are objects: a share is `{hits, n, share, low,
high}`, a rate `{count, hours, per_thousand_hours, low, high}`, a latency `{n, p50, p95, max}` in seconds by basis
(`line`, `file`, `state`, `step`). `low` and `high` bound 95 %. What was not measured is null. Numbers are written
for readers; `from_json` computes them again from the cases. `replay` is null, or `{n, different, hash_seeds}`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lab.replay.asking import Replay
from lab.score.confusion import Confusion
from lab.score.grade import Grade, Standing
from lab.score.grading import grade
from lab.score.meta import Meta
from lab.score.said import Result
from lab.score.scores import Scores, by_group, scores
from lab.score.table import table
from lab.score.wilson import Rate, Share

SCHEMA = 1


class BadCard(ValueError):
    """A stored card that cannot be read; one sentence says why."""


@dataclass(frozen=True, slots=True)
class Part:
    """One set of grades. Two parts are never added up: real and modelled text, for example."""

    title: str
    grades: tuple[Grade, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """A score card. `where`: simulated, slurm, fleet or corpus."""

    where: str
    meta: Meta
    parts: tuple[Part, ...]
    replay: Replay | None = None

    def table(self) -> str:
        """Markdown that is readable in a terminal, too."""
        told = table(self.where, self.meta, [(part.title, part.grades) for part in self.parts])
        return f"{told}\n{self.replay.sentence()}\n" if self.replay else told

    def as_json(self) -> dict[str, Any]:
        """The card as JSON values (see the module's docstring)."""
        return {
            "schema": SCHEMA,
            "where": self.where,
            "meta": asdict(self.meta),
            "replay": asdict(self.replay) if self.replay else None,
            "parts": [
                {
                    "title": part.title,
                    "all": _numbers(scores(part.grades)),
                    "groups": {name: _numbers(scores(some)) for name, some in by_group(part.grades).items()},
                    "cases": [asdict(one) for one in part.grades],
                }
                for part in self.parts
            ],
        }


TITLES = {
    "simulated": "simulated cluster",
    "slurm": "real Slurm",
    "fleet": "a simulated fleet",
}


def score(results: Sequence[Result], where: str, meta: Meta = Meta()) -> Card:  # noqa: B008  # frozen
    """The card of results that were all put on in the same place."""
    grades = tuple(grade(result, where) for result in results)
    return Card(where, meta, (Part(TITLES.get(where, where), grades),))


def from_json(told: Mapping[str, Any]) -> Card:
    """The card that `as_json` wrote; raises `BadCard`."""
    if told.get("schema") != SCHEMA:
        raise BadCard(f"The card has schema {told.get('schema')!r}; this program reads {SCHEMA}.")
    try:
        parts = tuple(Part(part["title"], tuple(_grade(one) for one in part["cases"])) for part in told["parts"])
        return Card(told["where"], Meta(**told["meta"]), parts, _replay(told.get("replay")))
    except (KeyError, TypeError, ValueError) as error:
        raise BadCard(f"The card cannot be read: {type(error).__name__}: {error}.") from None


def _replay(told: Mapping[str, Any] | None) -> Replay | None:
    return Replay(told["n"], tuple(told["different"]), tuple(told["hash_seeds"])) if told else None


def _grade(told: Mapping[str, Any]) -> Grade:
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in told.items()
    }
    values["standing"] = Standing(told["standing"])
    for name in ("excluded", "answers", "beside"):
        values[name] = tuple((words, right) for words, right in values.get(name, ()))
    return Grade(**values)


def _numbers(some: Scores) -> dict[str, Any]:
    return {
        "counted": some.counted,
        "shares": {name: _share(one) for name, one in some.shares.items()},
        "answers": {name: _share(one) for name, one in some.answers.items()},
        "latency_seconds": {
            basis: {"n": one.n, "p50": one.p50, "p95": one.p95, "max": one.most}
            for basis, one in some.latency.items()
        },
        "false_actions": _rate(some.false_actions),
        "calibration": {
            "n": some.calibration.n,
            "error": some.calibration.error,
            "bins": [asdict(one) for one in some.calibration.bins],
        },
        "kinds": _matrix(some.kinds),
        "domains": _matrix(some.domains),
    }


def _share(one: Share) -> dict[str, Any]:
    low, high = one.interval or (None, None)
    return {"hits": one.hits, "n": one.n, "share": one.share, "low": low, "high": high}


def _rate(one: Rate) -> dict[str, Any]:
    low, high = one.interval or (None, None)
    return {
        "count": one.count,
        "hours": one.hours,
        "per_thousand_hours": one.per_thousand,
        "low": low,
        "high": high,
    }


def _matrix(one: Confusion) -> dict[str, dict[str, int]]:
    return {
        truth: dict(zip(one.columns, counts, strict=True))
        for truth, counts in zip(one.rows, one.counts, strict=True)
    }

"""How does a run of the lab become a score card?"""

import json
import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lab.cases.case import Case
from lab.choosing import SLURM
from lab.fleet.options import Options
from lab.fleet.run import put_on as put_on_fleet
from lab.real.run import put_on as put_on_slurm
from lab.replay.asking import kept_in, replay
from lab.score.card import Card, score
from lab.score.grade import Standing
from lab.score.labelled import read_corpus
from lab.score.meta import Meta, meta
from lab.virtual.child import run
from lab.virtual.run import put_on as put_on_simulated

Say = Callable[[str], None]
INCOMPLETE = frozenset({Standing.BROKEN, Standing.NOT_PUT_ON})


@dataclass(frozen=True)
class Measured:
    """A score card, its text for a terminal, its JSON values, and whether everything was put on and proved."""

    card: Card
    text: str
    values: dict[str, Any]
    complete: bool


def measure_cases(cases: Sequence[Case], where: str, seed: int, folder: Path, say: Say) -> Measured:
    """Put the cases on and grade them. Raises `LabError` when a private Slurm cannot start."""
    began = time.monotonic()
    say(f"{len(cases)} cases on {where}")
    if where == SLURM:
        results = put_on_slurm(cases, folder, say)
    else:
        results = put_on_simulated(cases, folder, say, seed=seed)
    card = score(results, where, _meta(began, seed))
    if where == SLURM:
        return _measured(card)
    say("every verdict is computed again from its own inputs")
    return _measured(replace(card, replay=replay(kept_in(folder))))


def measure_fleet(options: Options, folder: Path, say: Say) -> Measured:
    """Live through a fleet with the product and without. Raises `ChildFailed`."""
    began = time.monotonic()
    fleet = put_on_fleet(options, folder / "fleet", say)
    found = _measured(score(fleet.results, "fleet", _meta(began, options.seed)))
    return replace(
        found, text=f"{fleet.table()}\n\n{found.text}", values={**found.values, "fleet": fleet.as_json()}
    )


def measure_corpus(file: Path, folder: Path, say: Say) -> Measured:
    """Have labelled text read. Raises `BadCorpus` before anything is done, and `ChildFailed`."""
    began = time.monotonic()
    say(f"{len(read_corpus(file))} texts of {file.name}")
    out = folder / "card"
    told = json.dumps(asdict(meta(today(), source=file.name)))
    run(folder / "site", "lab.virtual.texts", [str(file.resolve()), str(out), told], say)
    card: Card = pickle.loads(out.read_bytes())  # noqa: S301  # written by our own child
    return _measured(replace(card, meta=replace(card.meta, seconds=round(time.monotonic() - began, 1))))


def _measured(card: Card) -> Measured:
    standings = {grade.standing for part in card.parts for grade in part.grades}
    whole = card.where == "corpus" or not standings & INCOMPLETE
    same = card.replay is None or not card.replay.different
    return Measured(card, card.table(), card.as_json(), whole and same)


def _meta(began: float, seed: int) -> Meta:
    return meta(today(), seed=seed, seconds=round(time.monotonic() - began, 1))


def today() -> str:
    """The date of a card."""
    return datetime.now(UTC).date().isoformat()

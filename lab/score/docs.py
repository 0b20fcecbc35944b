"""How do the last score cards get into the README and into docs/scorecard.md? From the JSON that is kept of each.

`docs/scorecard/` holds one file for each place and labelled text that was measured; both pages are written from
those files and nothing else, so a test can hold that they agree.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.calibrating.table import read as read_calibration
from lab.calibrating.table import section
from lab.score.card import Card, Part, from_json
from lab.score.markdown import plain, rows
from lab.score.scores import scores
from lab.score.table import NOT_ASKED, part, percent, title, within
from lab.score.wilson import Rate, Share

FOLDER = "docs/scorecard"
PAGE = "docs/scorecard.md"
BEGIN, END = "<!-- score card: begin -->", "<!-- score card: end -->"
ORDER = ("simulated", "slurm", "fleet", "corpus")
HEADS = {
    "simulated": "Faults and traps in the simulated cluster",
    "slurm": "Faults and traps on a real Slurm",
    "fleet": "A fleet over time, simulated",
    "corpus": "Labelled log text",
}
INTRO = """# Score card: how often is Rekindle right, and how quickly?

`lab/` injects faults whose truth is known, and sets traps in which the right thing is to do nothing; the product,
unchanged, never sees the truth (`./run lab --list` names every case). It also reads labelled log text. This page is
written by `./run lab … --write`; what it is written from lies in [scorecard/](scorecard/) as JSON. Every question,
and what counts as right, is defined in `lab/score/grading.py`.

- A fault that did not take place is neither found nor missed. What could not be put on is listed, not counted.
- Shares are over all cases that count: whoever said nothing was wrong. Bounds of 95 % are Wilson's, and exact
  Poisson ones for rates.
- Latency has a clock: the stamp of a line, the time of a file, a change of state, or the last step before a
  silence. Clocks are never mixed.
- Real and modelled text, the simulated cluster and the real Slurm stand apart and are never added up.
- Labelled text is other people's and no part of this repository (`../shared/corpus`). Names with `dev` are the
  development split, on which the catalogue was tuned: not the numbers to expect on text that nobody has looked at.
- A labelled text is one attempt. What the policy does when a failure comes again is not asked of it.
- Nothing is tuned to this page. Each miss stands here with its cause, once somebody has looked
  (`lab/score/causes.py`).
"""


class NoPlace(ValueError):
    """The README has no place for the score card; one sentence says so."""


def check(root: Path) -> None:
    """Raises `NoPlace` when the card could not be written there."""
    _split((root / "README.md").read_text())


def write(card: Card, root: Path) -> None:
    """Keep the card, in the place of an older one of its kind, and write both pages anew.

    Raises `NoPlace`, before anything is written, when the README's two marks are missing.
    """
    check(root)
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{key(card)}.json"
    kept.write_text(json.dumps(card.as_json(), indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    write_pages(root)


def write_pages(root: Path) -> None:
    """Both pages from what is kept; raises `NoPlace`."""
    cards = read(root)
    (root / PAGE).write_text(page(cards, read_calibration(root)))
    before, _, after = _split((root / "README.md").read_text())
    (root / "README.md").write_text(f"{before}{BEGIN}\n{short(cards)}{MORE}\n{END}{after}")


def key(card: Card) -> str:
    """The name of the file a card is kept in: where, and what was read."""
    words = f"{card.where}-{Path(card.meta.source).stem}" if card.meta.source else card.where
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:80] or "card"


def read(root: Path) -> list[Card]:
    """The kept cards in the order of the page; raises `BadCard`."""
    cards = [from_json(json.loads(path.read_text())) for path in sorted((root / FOLDER).glob("*.json"))]
    return sorted(cards, key=lambda one: (ORDER.index(one.where) if one.where in ORDER else len(ORDER), key(one)))


def page(cards: Sequence[Card], calibration: Mapping[str, Any] | None = None) -> str:
    """The whole of docs/scorecard.md."""
    lines = [INTRO, "## In short", "", short(cards), ""]
    for card in cards:
        source = f": {plain(card.meta.source)}" if card.meta.source else ""
        lines += [
            f"## {HEADS.get(card.where, plain(card.where))}{source}",
            "",
            title(card.where, card.meta)[2:] + ".",
            "",
            *([plain(card.replay.sentence()), ""] if card.replay else []),
        ]
        for one in card.parts:
            lines += [f"### {plain(one.title[:1].upper() + one.title[1:])}", "", *part(one.grades, "####")]
    lines += section(calibration) if calibration else []
    return "\n".join(lines).rstrip() + "\n"


def short(cards: Sequence[Card]) -> str:
    """A row for each part of each card, and the sentence that says what it is."""
    head = (
        "measured on",
        "date",
        "version",
        "faults found",
        "layer",
        "culprit",
        "action",
        "left alone",
        "false actions",
    )
    body = [_row(card, one) for card in cards for one in card.parts]
    if not body:
        return "Nothing was measured yet."
    return "\n".join([*rows(head, body), "", SENTENCE])


SENTENCE = (
    "Measured on injected faults, on traps where doing nothing is right, and on labelled log text, each with known "
    "truth; in brackets the bounds of 95 %. False actions are per 1,000 healthy job-hours. Labelled text named dev "
    "is the split that the catalogue was tuned on."
)
MORE = " Every miss and its cause: [docs/scorecard.md](docs/scorecard.md)."


def _row(card: Card, one: Part) -> list[str]:
    some = scores(one.grades)
    source = f" ({Path(card.meta.source).stem})" if card.meta.source else ""
    shares = [_cell(some.shares[name]) for name in ("recall", "layer", "culprit", "action", "left_alone")]
    return [
        plain(f"{one.title}{source}"),
        plain(card.meta.date),
        plain(card.meta.version),
        *shares,
        _rate(some.false_actions),
    ]


def _cell(one: Share) -> str:
    return f"{percent(one)} of {one.n} ({within(one)})" if one.n else NOT_ASKED


def _rate(one: Rate) -> str:
    if one.per_thousand is None or one.interval is None:
        return NOT_ASKED
    return f"{_number(one.per_thousand)} ({_number(one.interval[0])}–{_number(one.interval[1])})"


def _number(value: float) -> str:
    """Three digits that count, and no power of ten."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _split(readme: str) -> tuple[str, str, str]:
    before, begin, rest = readme.partition(BEGIN)
    old, end, after = rest.partition(END)
    if not begin or not end:
        raise NoPlace(f"README.md lacks {BEGIN!r} or {END!r}: the score card has no place in it.")
    return before, old, after

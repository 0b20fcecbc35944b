"""How well does the catalogue read labelled log text?

Only detection is scored here: whether the right symptom is found and in which layer its strongest line stands. The
search for the cause over all symptoms is `detectors.attribution`'s.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from detectors.catalogue.layer import Layer
from detectors.catalogue.records import Finding
from detectors.catalogue.role import Role
from tests.detectors.catalogue.building import Watching, context, records

CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus"
"""Beside the checkout; other people's text, read where it lies."""

FAULTS = ("crash", "hang", "straggler")
_ORDER = {Role.ROOT: 0, Role.CANDIDATE: 1, Role.CONFIRM: 2, Role.SECONDARY: 3}


@dataclass(frozen=True)
class Score:
    """One snippet. `None`: the question does not apply. A layer `user` counts as `application`, its domain."""

    name: str
    kind: str
    detected: bool
    layer: bool | None
    root_line: bool | None
    root_line_anywhere: bool | None
    said: str


def scores(file: str) -> list[Score]:
    """Every snippet of one file of the corpus."""
    rows = (json.loads(line) for line in (CORPUS / file).read_text(encoding="utf-8").splitlines())
    return [score(row) for row in rows]


def score(row: dict[str, Any]) -> Score:
    """One snippet: fed as it stands; where it ends in silence, the silence is fed too."""
    expected, lines = row["expected"], row["snippet"].split("\n")
    watching = Watching(context(nodes=sorted(set(re.findall(r"\bnode\d{3}\b", row["snippet"])))))
    watching.see(records(lines))
    if expected["kind"] == "hang" and expected["root_line"] is None:
        watching.see([], seconds=timedelta(hours=2).total_seconds())
    found = strongest(watching)
    is_fault = expected["kind"] in FAULTS
    named = expected["root_line"] is not None
    return Score(
        name=f"{row['id']} {row['failure']}",
        kind=expected["kind"],
        detected=_detected(expected["kind"], watching, found),
        layer=_same_layer(found, expected["layer"]) if is_fault else None,
        root_line=_has_line(found, expected["root_line"]) if named else None,
        root_line_anywhere=any(_has_line(f, expected["root_line"]) for f in watching.findings.values())
        if named
        else None,
        said=f"{found.signature} {found.layer} {found.role}" if found else "nothing",
    )


def strongest(watching: Watching) -> Finding | None:
    """The finding a reader would name first: by role, then by the place of its first line."""
    return min(watching.findings.values(), key=lambda f: (_ORDER[f.role], _place(f)), default=None)


def _place(found: Finding) -> int:
    return found.evidence[0].offset if found.evidence else 0


def _detected(kind: str, watching: Watching, found: Finding | None) -> bool:
    progress = watching.outcome.progress
    cause = found is not None and found.role in (Role.ROOT, Role.CANDIDATE)
    if kind == "none":
        return not cause
    if kind == "progress":
        return progress.last_step is not None and not cause
    if kind == "checkpoint":
        return (bool(watching.saved) or progress.phase == "saving") and not cause
    return found is not None


def _same_layer(found: Finding | None, layer: str) -> bool:
    if found is None:
        return False
    said = Layer.APPLICATION if found.layer is Layer.USER else found.layer
    return said.value == layer


def _has_line(found: Finding | None, line: str) -> bool:
    return found is not None and any(quoted.line == line[: len(quoted.line)] for quoted in found.evidence)


def shares(some: list[Score]) -> Iterator[tuple[str, int, int]]:
    """Name, hits and cases of each question."""
    questions: list[tuple[str, Callable[[Score], bool | None]]] = [
        ("faults found", lambda s: s.detected if s.kind in FAULTS else None),
        ("healthy text left alone", lambda s: s.detected if s.kind == "none" else None),
        ("steps and checkpoints read", lambda s: s.detected if s.kind in ("progress", "checkpoint") else None),
        ("layer of the strongest line", lambda s: s.layer),
        ("labelled line is the strongest", lambda s: s.root_line),
        ("labelled line is evidence of any finding", lambda s: s.root_line_anywhere),
    ]
    for name, ask in questions:
        answers = [answer for one in some if (answer := ask(one)) is not None]
        yield name, sum(answers), len(answers)


def table(title: str, some: list[Score]) -> str:
    """The scores as lines of Markdown, and what was missed."""
    lines = [f"{title} (n = {len(some)})", ""]
    lines += [f"| {name} | {hits} of {cases} |" for name, hits, cases in shares(some)]
    missed = [f"{s.name}: {s.said}" for s in some if not s.detected or s.layer is False or s.root_line is False]
    return "\n".join([*lines, "", "not as labelled:", *missed])

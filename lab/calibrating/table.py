"""How is what was measured of confidence written down? JSON that verdicts name, and a section of the score card.

`detectors/attribution/tables/calibration.json`: `name`, `engine` and `catalogue` that were measured, `method`,
`bins` (what verdicts tell; a share of null: not measured), `error` of the fit on the set to report on and on cases
that had no part in it, and `sets`, each with what it is of, its reliability and how many verdicts of each seed were
right.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lab.calibrating.reliability import (
    FOLDS,
    Verdict,
    error_of,
    error_on_others,
    fitted,
    joined,
    reliability,
)
from lab.score.calibration import ENOUGH
from lab.score.markdown import plain, rows

FILE = "detectors/attribution/tables/calibration.json"
METHOD = (
    "Isotonic regression of the share right on the confidence claimed, over bins; fitted on the first set, "
    "reported on the others. The seeds of the second set are others than those of the first, its cases are the "
    "same. Verdicts on one case are alike, so what counts is the effective n: so many independent verdicts would "
    f"tell as much. Neighbouring bins of the first set are joined until it is {ENOUGH}; a bin with less is not "
    "measured. Bounds are Wilson's of 95 % over the effective n. What a verdict claims, and what is done about it, "
    "stays what its rules say: the share stands beside it."
)
TITLES = (("by_confidence", "confidence"), ("by_status", "evidence"), ("by_rule", "rule that named the cause"))


@dataclass(frozen=True, slots=True)
class Measured:
    """One set of verdicts. `of`: what it is, in words."""

    of: str
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class Versions:
    """Of what was measured, and when."""

    date: str
    engine: str
    catalogue: str


def table(of: Versions, sets: Sequence[Measured]) -> dict[str, Any]:
    """The table as JSON values; the first set is the one to fit on, the second one the one to report on."""
    before, after = sets[0].verdicts, sets[1].verdicts
    edges = joined(before)
    bins = fitted(before, edges)
    told: dict[str, Any] = {
        "engine": of.engine,
        "catalogue": of.catalogue,
        "method": METHOD,
        "bins": [asdict(one) for one in bins],
        "error": {"reported": error_of(bins, after), "other_cases": error_on_others(before, after, edges)},
        "sets": [
            {"of": one.of, **asdict(reliability(one.verdicts, edges)), "by_seed": by_seed(one.verdicts)}
            for one in sets
        ],
    }
    digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:8]
    return {"name": f"{of.date}-{digest}", **told}


def by_seed(verdicts: Sequence[Verdict]) -> list[list[int | float]]:
    """Seed, verdicts, how many of them were right, and the sum of what they claimed, for another run to compare."""
    seeds: dict[int, list[Verdict]] = defaultdict(list)
    for one in verdicts:
        seeds[one.seed].append(one)
    return [
        [seed, len(some), sum(one.right for one in some), round(sum(one.confidence for one in some), 4)]
        for seed, some in sorted(seeds.items())
        if seed
    ]


def write(told: Mapping[str, Any], root: Path) -> None:
    """Keep it where verdicts and the score card find it."""
    (root / FILE).write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")


def read(root: Path) -> dict[str, Any] | None:
    """What was kept, if anything was."""
    path = root / FILE
    return json.loads(path.read_text()) if path.exists() else None


def section(told: Mapping[str, Any]) -> list[str]:
    """Lines of Markdown."""
    lines = [
        "## Calibration of confidence",
        "",
        f"Table `{plain(told['name'])}`, of search {plain(told['engine'])} and catalogue "
        f"`{plain(told['catalogue'])}`. {told['method']}",
        "",
        "What verdicts tell (`root_cause.calibration`):",
        "",
        *rows(
            ("confidence", "verdicts", "cases", "effective n", "right", "95 % within"),
            [_fit(one) for one in told["bins"]],
        ),
        "",
        _errors(told["error"]),
        "",
    ]
    for one in told["sets"]:
        error = (
            f"{one['error']:.3f}" if one["error"] is not None else f"not measured, which needs {ENOUGH} verdicts"
        )
        lines += [
            f"### {plain(one['of'])}",
            "",
            f"{one['n']} verdicts on {one['cases']} cases, those on one case alike by {one['alike']:.2f}; expected "
            f"calibration error of what is claimed: {error}.{_whole(one['whole'])}",
            "",
        ]
        for key, head in TITLES:
            body = [_cells(row) for row in one[key]]
            if body and not (key == "by_confidence" and not one["n"]):
                heads = (head, "verdicts", "cases", "effective n", "claimed", "right", "95 % within")
                lines += [*rows(heads, body), ""]
    return lines


def _errors(told: Mapping[str, Any]) -> str:
    reported, others = (
        f"{one:.3f}" if one is not None else "not measured" for one in (told["reported"], told["other_cases"])
    )
    return (
        f"Mean error of these shares: {reported} on the second set, {others} on cases that had no part in the fit "
        f"({FOLDS} times fitted without a part of the cases, and asked for those)."
    )


def _whole(row: Mapping[str, Any] | None) -> str:
    if row is None or row["observed"] is None:
        return ""
    return (
        f" Of all of them together {row['observed']:.2f} are right ({row['low']:.2f}–{row['high']:.2f}), "
        f"{row['claimed']:.2f} is claimed."
    )


def _fit(one: Mapping[str, Any]) -> list[str]:
    name = f"{one['low']:.2f}–{one['high']:.2f}"
    counted = [name, str(one["n"]), str(one["cases"]), f"{one['effective']:.1f}"]
    return [*counted, *_right(one["share"], one["at_least"], one["at_most"])]


def _cells(row: Mapping[str, Any]) -> list[str]:
    counted = [plain(row["name"]), str(row["n"]), str(row["cases"]), f"{row['effective']:.1f}"]
    return [*counted, f"{row['claimed']:.2f}", *_right(row["observed"], row["low"], row["high"])]


def _right(share: float | None, low: float | None, high: float | None) -> list[str]:
    known = share is not None and low is not None and high is not None
    return [f"{share:.2f}", f"{low:.2f}–{high:.2f}"] if known else ["not measured", "–"]

"""How is what was measured of confidence written down? JSON that verdicts name, and a section of the score card.

`detectors/attribution/tables/calibration.json`: `name`, `method`, `fitted` (pairs; empty: nothing was fitted, what
the rules claim is said), `why_not`, and `sets`, each with what it is of and its reliability.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lab.calibrating.reliability import Verdict, fitted, reliability
from lab.score.calibration import ENOUGH
from lab.score.markdown import plain, rows

FILE = "detectors/attribution/tables/calibration.json"
METHOD = (
    "Isotonic regression of the share right on the confidence claimed, over bins of confidence with at least "
    f"{ENOUGH} different cases, never above the claim; fitted on the first set, reported on the others. A bin with "
    f"fewer than {ENOUGH} verdicts is not measured. Verdicts on one case are not independent: the bounds (Wilson, "
    "95 %) are over different cases."
)
TITLES = (("by_confidence", "confidence"), ("by_status", "evidence"), ("by_rule", "rule that named the cause"))


@dataclass(frozen=True, slots=True)
class Measured:
    """One set of verdicts. `of`: what it is, in words."""

    of: str
    verdicts: tuple[Verdict, ...]


def table(date: str, sets: Sequence[Measured]) -> dict[str, Any]:
    """The table as JSON values; the first set is the one to fit on."""
    points = fitted(sets[0].verdicts)
    bins = reliability(sets[0].verdicts).by_confidence
    most = max((row.cases for row in bins), default=0)
    why_not = "" if points else f"no bin of the first set holds {ENOUGH} different cases, the fullest {most}"
    return {
        "name": f"{'fitted' if points else 'measured'}-{date}",
        "method": METHOD,
        "fitted": [list(pair) for pair in points],
        "why_not": why_not,
        "sets": [{"of": one.of, **asdict(reliability(one.verdicts))} for one in sets],
    }


def write(told: Mapping[str, Any], root: Path) -> None:
    """Keep it where verdicts and the score card find it."""
    (root / FILE).write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")


def read(root: Path) -> dict[str, Any] | None:
    """What was kept, if anything was."""
    path = root / FILE
    return json.loads(path.read_text()) if path.exists() else None


def section(told: Mapping[str, Any]) -> list[str]:
    """Lines of Markdown."""
    how = (
        "The fit is applied to every verdict."
        if told["fitted"]
        else f"**Not fitted**: {told['why_not']}. Verdicts say what their rules claim, and name this table."
    )
    lines = ["## Calibration of confidence", "", f"Table `{told['name']}`. {told['method']}", "", how, ""]
    for one in told["sets"]:
        error = (
            f"{one['error']:.3f}" if one["error"] is not None else f"not measured, which needs {ENOUGH} verdicts"
        )
        lines += [
            f"### {plain(one['of'])}",
            "",
            f"{one['n']} verdicts on {one['cases']} cases; expected calibration error: {error}.",
            "",
        ]
        for key, head in TITLES:
            body = [_cells(row) for row in one[key]]
            if body and not (key == "by_confidence" and not one["n"]):
                lines += [*rows((head, "verdicts", "cases", "claimed", "right", "95 % within"), body), ""]
    return lines


def _cells(row: Mapping[str, Any]) -> list[str]:
    known = row["observed"] is not None
    right = f"{row['observed']:.2f}" if known else "not measured"
    within = f"{row['low']:.2f}–{row['high']:.2f}" if known else "–"
    return [plain(row["name"]), str(row["n"]), str(row["cases"]), f"{row['claimed']:.2f}", right, within]

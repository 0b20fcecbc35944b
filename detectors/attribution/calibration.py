"""How often are verdicts right that claim the same? What was measured stands beside the claim, and changes nothing.

`tables/calibration.json` is written by `./run lab --calibrate N --write`, never by hand. Its name is part of the
engine's version: with another table equal facts give another verdict.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_TABLE: dict[str, Any] = json.loads((Path(__file__).parent / "tables" / "calibration.json").read_text())
NAME: str = _TABLE["name"]
"""The day on which it was measured, and the beginning of the hash of what came of it."""
HIGHEST = 1.0


def measured_at(confidence: float, bins: list[dict[str, Any]] = _TABLE["bins"]) -> dict[str, Any]:
    """How many verdicts that claim about as much are right, as `root_cause.calibration` tells it.

    `share` between `at_least` and `at_most` (95 %), of `n` verdicts on `cases` different failures, which tell as
    much as `effective_n` independent ones. Where that is too few, share and bounds are `None`: not measured.
    """
    for one in bins:
        if one["low"] <= confidence and (confidence < one["high"] or one["high"] == HIGHEST):
            shares = {name: one[name] for name in ("share", "at_least", "at_most", "n", "cases")}
            return {"table": NAME, **shares, "effective_n": one["effective"]}
    nothing = dict.fromkeys(("share", "at_least", "at_most"))
    return {"table": NAME, **nothing, "n": 0, "cases": 0, "effective_n": 0.0}


def in_words(told: Any) -> str:
    """`in the lab 94 % of those that claim as much were right (85 to 97 %)`, or `""` where nothing was measured.

    `told`: `root_cause.calibration` of a stored verdict, of whatever version.
    """
    names = ("share", "at_least", "at_most")
    shares: list[Any] = [told.get(name) for name in names] if isinstance(told, Mapping) else []
    if not shares or not all(isinstance(one, float | int) and 0 <= one <= 1 for one in shares):
        return ""
    share, low, high = (f"{100 * float(one):.0f}" for one in shares)
    return f"in the lab {share} % of those that claim as much were right ({low} to {high} %)"

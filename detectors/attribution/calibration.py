"""How often are verdicts right that claim the same? The table that every verdict names, and what it changes.

`tables/calibration.json` is written by `./run lab --calibrate`, never by hand; with another table the engine is
another one. A bin without a fit stays as the rules claim it, and no fit raises a claim.
"""

import json
from pathlib import Path
from typing import Any

_TABLE: dict[str, Any] = json.loads((Path(__file__).parent / "tables" / "calibration.json").read_text())
NAME: str = _TABLE["name"]
"""`measured-DATE` where the data support no fit, else `fitted-DATE`."""
FITTED: tuple[tuple[float, float, float], ...] = tuple((low, high, value) for low, high, value in _TABLE["fitted"])
"""Bins from `low` to below `high`, and the share that was right."""


def calibrated(confidence: float, fitted: tuple[tuple[float, float, float], ...] = FITTED) -> float:
    """The confidence to claim: at most that of the rules, and at most what its bin was measured at."""
    return next((min(confidence, value) for low, high, value in fitted if low <= confidence < high), confidence)

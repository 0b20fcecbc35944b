"""What is kept of a stored verdict, so that a process without a database can compute it again?

A line of JSON: which one it is, when it was judged, the columns of its row that the search gives, and its body.
Everything in the order in which it is stored: the same to the byte means that order, too.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from detectors.attribution.judgement import Judgement
from detectors.attribution.replaying import judged_again

COLUMNS = (
    "kind",
    "layer",
    "signature",
    "fingerprint",
    "sentence",
    "evidence_status",
    "confidence",
    "action",
    "implicated",
    "input_hash",
    "happened_at",
)
"""Of the row; all others say who asked, when, and what it supersedes."""
FOLDER = "verdicts"  # in that of a process of the lab: a file for each case
SENTENCE_LIMIT = 1000  # characters of the column


@dataclass(frozen=True, slots=True)
class Kept:
    """One stored verdict. `name` tells people which one."""

    name: str
    judged_at: datetime
    columns: Mapping[str, Any]
    body: Mapping[str, Any]

    def line(self) -> str:
        """As JSON without a line break."""
        return json.dumps({**asdict(self), "judged_at": self.judged_at.isoformat()}, default=_plain)


def read(line: str) -> Kept:
    """What `Kept.line` wrote; `KeyError`, `TypeError` or `ValueError` when it did not."""
    told = json.loads(line)
    return Kept(**{**told, "judged_at": datetime.fromisoformat(told["judged_at"])})


def difference(kept: Kept) -> str:
    """Where the verdict that is computed from its own inputs differs from the stored one; empty: nowhere."""
    try:
        judgement = judged_again(kept.body, kept.judged_at)
    except (KeyError, TypeError, ValueError) as error:
        return f"its inputs cannot be read: {type(error).__name__}: {error}"
    pairs = [*_pairs(kept.columns, columns_of(judgement), ""), *_pairs(kept.body, judgement.body, "body.")]
    return ", ".join(name for name, before, after in pairs if before != after)


def columns_of(judgement: Judgement) -> dict[str, Any]:
    """The columns that are stored of a judgement."""
    told = {name: getattr(judgement, name) for name in COLUMNS}
    implicated = [{**asdict(one), "evidence": list(one.evidence)} for one in judgement.implicated]
    return {**told, "sentence": judgement.sentence[:SENTENCE_LIMIT], "implicated": implicated}


def _pairs(before: Mapping[str, Any], after: Mapping[str, Any], where: str) -> list[tuple[str, str, str]]:
    """Name, and both values as text. The order of the names counts, too."""
    names = dict.fromkeys((*before, *after))
    rows = [(f"{where}{name}", _text(before.get(name)), _text(after.get(name))) for name in names]
    return [*rows, (f"order of {where or 'columns'}", _text(list(before)), _text(list(after)))]


def _text(value: object) -> str:
    return json.dumps(value, default=_plain)


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} cannot be kept")

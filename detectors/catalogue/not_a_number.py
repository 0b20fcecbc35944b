"""Has the loss stopped being a number? One point proves nothing, three in a row do (reference, section 9)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.detector import Known, State, Step, quote, quote_from, stored_quote
from detectors.catalogue.fingerprints import fingerprint
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.readings import Reading
from detectors.catalogue.records import Context, Evidence, Finding
from detectors.catalogue.role import Role

NAME = "not_a_number"
SIGNATURE = "num.loss_nan_value"
POINTS = (SIGNATURE, "num.loss_nan_plain")
"""Signatures of a line with such a loss: of one that names it like a value, and of one that does not."""
IN_A_ROW = 3


def fold(state: State, readings: Sequence[Reading], known: Known, context: Context, now: datetime) -> Step:
    """A symptom at the third point in a row; the next finite loss ends it and arms the detector again."""
    row: list[Any] = list(state.get("row", []))
    step_before = state.get("step")
    key = state.get("key")
    findings: list[Finding] = []
    ended: list[str] = []
    for index, reading in enumerate(readings):
        nan, step = _verdict(reading, known.losses[index]), known.at[index][0]
        if nan is None or (nan and row and step is not None and step == step_before):
            continue
        step_before = step
        if not nan:
            row = []
            if key is not None:
                ended.append(key)
                key = None
            continue
        row = [*row, [*stored_quote(quote(reading)), reading.moment.isoformat(), step]][:IN_A_ROW]
        if key is None and len(row) == IN_A_ROW:
            found = _finding(row)
            key = found.key
            findings.append(found)
    return Step({"row": row, "step": step_before, "key": key}, known, tuple(findings), tuple(ended))


def _verdict(reading: Reading, told: bool | None) -> bool | None:
    """Whether the line reports a loss that is not a number, `None` when it reports none."""
    if reading.fault is not None and reading.fault.signature.id in POINTS:
        return True
    return told


def _finding(row: Sequence[Sequence[Any]]) -> Finding:
    evidence: list[Evidence] = [quote_from(one) for one in row]
    first, step = datetime.fromisoformat(row[0][6]), row[0][7]
    signature = catalogue().signature(SIGNATURE)
    at_step = f" from step {step}" if step is not None else ""
    return Finding(
        key=f"nan:{step if step is not None else evidence[0].offset}",
        kind=AnomalyKind.NAN,
        sentence=f"The loss is not a number{at_step}, {IN_A_ROW} times in a row.",
        happened_at=first,
        basis="line" if evidence[0].at is not None else "file",
        signature=SIGNATURE,
        layer=Layer.APPLICATION,
        role=Role.CANDIDATE,
        fingerprint=fingerprint(Layer.APPLICATION, SIGNATURE, ""),
        step=step,
        evidence=tuple(evidence),
        confidence=signature.confidence,
        count=IN_A_ROW,
    )

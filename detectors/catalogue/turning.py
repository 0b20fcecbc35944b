"""What is new about an attempt after these records? One turn of all detectors."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from detectors.catalogue import DETECTORS
from detectors.catalogue.detector import Known
from detectors.catalogue.readings import Reader
from detectors.catalogue.records import Context, Finding, Outcome, Record
from detectors.catalogue.texts import spoke_at

READER = "reader"
"""Key of the state that belongs to no detector: who runs where, zones, open tracebacks, unfinished lines."""
FORMAT = 3
"""Version of the states. A state of another version is dropped, and the detector begins anew."""


def turn(
    states: Mapping[str, Mapping[str, Any]], records: Sequence[Record], context: Context, now: datetime
) -> Outcome:
    """Fold `records` (in reading order, possibly none) into `states` (JSON, as given by the turn before).

    Each record is looked at once, or not at all where its text shows that it says nothing. Findings are given
    again, with the same key and a higher count, whenever new lines belong to them; `Outcome.ended` names
    findings that the records refuted. The result does not depend on how records are cut into turns, except for
    hangs, which depend on `now`. A few megabytes a turn keep memory small.
    """
    reader = Reader(_usable(states.get(READER)), context)
    readings = reader.read(records)
    known = Known(line_at=spoke_at(records))
    made: dict[str, Mapping[str, Any]] = {READER: {**reader.state(), "v": FORMAT}}
    findings: list[Finding] = []
    ended: list[str] = []
    for detector in DETECTORS:
        step = detector.fold(_usable(states.get(detector.name)), readings, known, context, now)
        made[detector.name] = {**step.state, "v": FORMAT}
        findings += step.findings
        ended += step.ended
        known = step.known
    return Outcome(
        states=made,
        findings=tuple(findings),
        progress=known.progress,
        points=known.points,
        rank_hosts=dict(reader.places.hosts),
        checkpoints_saved=known.saved,
        checkpoints_loaded=known.loaded,
        checkpoints=known.checkpoints,
        ended=tuple(ended),
        witnesses=known.witnesses,
    )


def _usable(state: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return state if state is not None and state.get("v") == FORMAT else {}

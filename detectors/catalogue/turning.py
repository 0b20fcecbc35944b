"""What is new about an attempt after these records? One turn of all detectors."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

from detectors.catalogue import DETECTORS
from detectors.catalogue.detector import Known
from detectors.catalogue.noticed import TOPIC as NOTICED
from detectors.catalogue.readings import Reader
from detectors.catalogue.records import Context, Finding, Outcome, Record
from detectors.catalogue.texts import spoke_at
from schedulers.states import JobState

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
    hangs, which depend on `now`. A few megabytes a turn keep memory small. A state that says no more than none is
    left out, also where there was one before: most detectors of a healthy attempt know nothing.
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
        states={name: state for name, state in made.items() if state != _blank().get(name)},
        findings=tuple(findings),
        progress=known.progress,
        points=known.points,
        rank_hosts=dict(reader.places.hosts),
        checkpoints_saved=known.saved,
        checkpoints_loaded=known.loaded,
        checkpoints=known.checkpoints,
        ended=tuple(ended),
        witnesses={**known.witnesses, **({NOTICED: reader.noticed.rows()} if reader.noticed.changed else {})},
    )


@cache
def _blank() -> Mapping[str, Mapping[str, Any]]:
    """The states that say no more than none: what is known of an attempt without a line."""
    context = Context(JobState.RUNNING, (), None, None, None, None, "", limits=defaultdict(float))
    now, known = datetime.min.replace(tzinfo=UTC), Known()
    made = {one.name: one.fold({}, (), known, context, now).state for one in DETECTORS}
    return {name: {**state, "v": FORMAT} for name, state in {READER: Reader({}, context).state(), **made}.items()}


def _usable(state: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return state if state is not None and state.get("v") == FORMAT else {}

"""Does the attempt train on without saving what it has learnt?

Only an attempt whose saves can be read is judged, by the distance in steps between its own last ones: whoever never
said that a checkpoint is complete may well have saved it in silence.
"""

import statistics
from collections.abc import Sequence
from datetime import datetime

from detectors.catalogue.detector import Known, Rhythm, State, Step
from detectors.catalogue.fingerprints import fingerprint
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.readings import Reading
from detectors.catalogue.records import Context, Finding
from detectors.catalogue.role import Role
from schedulers.states import JobState

NAME = "saves"
SIGNATURE = "checkpoint.none_new"
KNOWN = 2  # distances between saves without which the own rhythm is a guess
KEPT = 16
CONFIDENCE = 0.9  # not measured


def fold(state: State, readings: Sequence[Reading], known: Known, context: Context, now: datetime) -> Step:
    """A finding when several of the usual distances have passed without a save; its key again at the next save."""
    last, key, gaps = state.get("last"), state.get("key", ""), list(state.get("gaps", []))
    ended: list[str] = []
    for loaded in known.loaded:
        last = loaded if last is None else last
    for saved in known.saved:
        if last is not None and saved > last:
            gaps = [*gaps, saved - last][-KEPT:]
        last = saved
        if key:
            ended.append(key)
            key = ""
    step, findings = known.rhythm.step, []
    if step is not None and last is not None and not key and len(gaps) >= KNOWN and _trains(known, context):
        usual = statistics.median(gaps)
        if step - last > context.limits["checkpoint_factor"] * usual:
            key = f"saves:{last}"
            findings.append(_finding(key, (last, step), usual, known.rhythm, now))
    return Step({"last": last, "key": key, "gaps": gaps}, known, tuple(findings), tuple(ended))


def _trains(known: Known, context: Context) -> bool:
    return context.state is JobState.RUNNING and known.rhythm.phase == "training"


def _finding(key: str, steps: tuple[int, int], usual: float, rhythm: Rhythm, now: datetime) -> Finding:
    last, step = steps
    return Finding(
        key=key,
        kind=AnomalyKind.NO_CHECKPOINT,
        sentence=f"No checkpoint since step {last}, {step - last} steps ago; one every {usual:.0f} steps is usual.",
        happened_at=rhythm.step_at or now,
        basis="step",
        signature=SIGNATURE,
        layer=Layer.UNKNOWN,
        role=Role.CANDIDATE,
        fingerprint=fingerprint(Layer.UNKNOWN, SIGNATURE, ""),
        step=step,
        evidence=(rhythm.last,) if rhythm.last is not None else (),
        confidence=CONFIDENCE,
    )

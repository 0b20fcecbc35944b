"""How far is the attempt, at which rhythm does it move, and what is it doing?"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from detectors.catalogue.counters import SURE
from detectors.catalogue.course import Course
from detectors.catalogue.detector import Known, Rhythm, State, Step
from detectors.catalogue.dialects import told
from detectors.catalogue.moments import Moment, moment_of
from detectors.catalogue.readings import Reading
from detectors.catalogue.records import Checkpoint, Context, Progress, ProgressPoint

NAME = "progress"
WARM_UP = 2  # first intervals, which hold compilation, and are never "the longest"


@dataclass
class Notes:
    """What the readings of one turn told, in their order; `arrived`: step lines by the read that brought them."""

    points: list[ProgressPoint] = field(default_factory=list)
    losses: list[bool | None] = field(default_factory=list)
    rates: list[float | None] = field(default_factory=list)
    at: list[tuple[int | None, str]] = field(default_factory=list)
    saved: list[int] = field(default_factory=list)
    loaded: list[int] = field(default_factory=list)
    checkpoints: list[Checkpoint] = field(default_factory=list)
    arrived: dict[datetime, int] = field(default_factory=dict)

    def take(self, course: Course, reading: Reading) -> None:
        """One reading moves the course."""
        nan, rate = None, None
        hits, fault = reading.others, reading.fault
        if fault is not None and fault.signature.moments:  # a fault may tell that the job restarts itself
            hits = (*hits, fault)
        for hit in hits:
            if hit.signature.kind == "progress":
                heard, before = told(hit, reading.text), course.step
                nan = heard.nan if nan is None else nan
                rate = heard.rate if rate is None else rate
                if (point := course.hear(heard, reading)) is not None:
                    self.points.append(point)
                if course.step != before:
                    read_at = reading.record.read_at
                    self.arrived[read_at] = self.arrived.get(read_at, 0) + 1
            elif (happened := moment_of(hit, reading.text)) is not None:
                self._follow(course, happened, reading)
        self.losses.append(nan)
        self.rates.append(rate)
        self.at.append((course.step, course.phase))

    def _follow(self, course: Course, happened: Moment, reading: Reading) -> None:
        """A line about a checkpoint or a phase. Only a line that says so proves that a checkpoint is complete."""
        step = happened.step if happened.step is not None else course.step
        course.place = happened.place or course.place
        if happened.what in _ENTERED:
            course.enter(_ENTERED[happened.what], reading)
        elif happened.what == "setup" and course.phase == "ended":
            course.enter("starting", reading)  # one training is done, the next one of the same job begins
        else:
            course.leave(reading)
        if happened.what not in ("saved", "loaded") or step is None:
            return
        if happened.what == "saved":
            course.saved = max(course.saved or 0, step)
            self.saved.append(step)
        else:
            course.loaded = step
            self.loaded.append(step)
        self.checkpoints.append(Checkpoint(reading.moment, step, happened.what, course.place))
        course.place = ""


def fold(state: State, readings: Sequence[Reading], known: Known, context: Context, now: datetime) -> Step:
    """Progress, rhythm, phase and checkpoints after these readings."""
    course, notes = Course.of(state), Notes()
    course.no_later_than(now)
    course.line_at = _later(course.line_at, known.line_at)
    course.watched_at = course.watched_at or now
    for reading in readings:
        notes.take(course, reading)
    for read_at, steps in sorted(notes.arrived.items()):
        course.arrive(steps, read_at)
    known = replace(
        known,
        progress=_progress(course),
        rhythm=_rhythm(course),
        at=tuple(notes.at),
        losses=tuple(notes.losses),
        rates=tuple(notes.rates),
        points=tuple(notes.points),
        saved=tuple(notes.saved),
        loaded=tuple(notes.loaded),
        checkpoints=tuple(notes.checkpoints),
    )
    return Step(course.state(), known)


_ENTERED = {
    "saving": "saving",
    "loading": "loading",
    "evaluating": "evaluating",
    "restarting": "starting",
    "ended": "ended",
}


def _progress(course: Course) -> Progress:
    counter = course.counter
    seconds = counter.seconds if counter else []
    return Progress(
        first_step=counter.first if counter else None,
        last_step=counter.top if counter else None,
        last_step_at=course.step_at,
        last_checkpoint_step=course.saved,
        loaded_checkpoint_step=course.loaded,
        baseline_step_seconds=statistics.median(seconds) if len(seconds) >= SURE else None,
        phase=course.phase,
    )


def _rhythm(course: Course) -> Rhythm:
    counter = course.counter
    gaps = counter.gaps if counter else []
    gap = statistics.median(gaps) if gaps else None
    warm = gaps[max(0, WARM_UP - (counter.rising - 1 - len(gaps))) :] if counter else []
    return Rhythm(
        gap=gap,
        spread=statistics.median(abs(one - gap) for one in gaps) if gap is not None else None,
        longest=max(warm) if warm else None,
        lines=counter.rising if counter else 0,
        step=course.step,
        step_at=course.step_at,
        total=counter.total if counter else None,
        quiet_at=course.quiet_at,
        line_at=course.line_at,
        phase=course.phase,
        worst=dict(course.worst),
        last=course.last_quote(),
        burst=max(course.bursts, default=0.0),
        done_at=course.done_at,
    )


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    known: list[datetime] = [at for at in (one, other) if at is not None]
    return max(known, default=None)

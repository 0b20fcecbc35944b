"""How far is the attempt, at which rhythm does it move, and what is it doing?"""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from detectors.catalogue.counters import SURE, Counter
from detectors.catalogue.detector import Known, Rhythm, State, Step, moment, quote, quote_from, stored, stored_quote
from detectors.catalogue.dialects import Told, told
from detectors.catalogue.matching import Hit
from detectors.catalogue.moments import PAUSES, Moment, moment_of
from detectors.catalogue.readings import Reading
from detectors.catalogue.records import Context, Evidence, Progress, ProgressPoint

NAME = "progress"
DIALECTS_KEPT = 8
WARM_UP = 2  # first intervals, which hold compilation, and are never "the longest"
POINT_SECONDS = 1.0  # at most one point per second is reported
TOGETHER = 3  # steps in one read: fewer may be chance
BURSTS_KEPT = 8  # reads with steps after which a burst is forgotten


@dataclass
class Course:
    """Everything known about the movement of one attempt; JSON as its state."""

    counters: dict[str, Counter] = field(default_factory=dict)
    active: str = ""
    phase: str = "starting"
    phase_at: datetime | None = None
    quiet_at: datetime | None = None
    line_at: datetime | None = None
    step_at: datetime | None = None
    saved: int | None = None
    loaded: int | None = None
    worst: dict[str, float] = field(default_factory=dict)
    last: Evidence | None = None  # the line of the last step, of an earlier turn
    newest: Reading | None = None  # the same, of this turn
    point_at: datetime | None = None
    watched_at: datetime | None = None  # since when somebody looks: what was written before came not late
    moved_at: datetime | None = None  # the last read that brought steps
    bursts: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, state: State) -> "Course":
        """From its JSON."""
        if not state:
            return cls()
        times: dict[str, Any] = {name: moment(state[name]) for name in _TIMES}
        counters = {name: Counter(**row) for name, row in state["counters"].items()}
        last = quote_from(state["last"]) if state["last"] else None
        plain = {name: state[name] for name in ("active", "phase", "saved", "loaded")}
        worst, bursts = dict(state["worst"]), list(state["bursts"])
        return cls(counters=counters, last=last, worst=worst, bursts=bursts, **plain, **times)

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "counters": {name: dict(vars(counter)) for name, counter in self.counters.items()},
            "active": self.active,
            "phase": self.phase,
            "saved": self.saved,
            "loaded": self.loaded,
            "worst": self.worst,
            "bursts": self.bursts,
            "last": stored_quote(last) if (last := self.last_quote()) else None,
            **{name: stored(getattr(self, name)) for name in _TIMES},
        }

    def last_quote(self) -> Evidence | None:
        """The line of the last step."""
        return quote(self.newest) if self.newest is not None else self.last

    @property
    def counter(self) -> Counter | None:
        """The dialect that is believed."""
        return self.counters.get(self.active)

    @property
    def step(self) -> int | None:
        """The step that the attempt is at now."""
        counter = self.counter
        return counter.last if counter else None

    def hear(self, heard: Told, reading: Reading) -> ProgressPoint | None:
        """A progress line. Gives a point when the believed counter moved."""
        if heard.step is None or not heard.dialect:
            self._quiet(reading)
            return None
        counter = self.counters.get(heard.dialect)
        if counter is None:
            moved = self._start(heard, heard.step, reading)
        else:
            moved = counter.see(heard, heard.step, reading.moment.timestamp())
        if not moved:
            return None
        self._quiet(reading)
        if heard.step > 0:
            self.enter("training", reading)
        self._choose()
        if heard.dialect != self.active:
            return None
        self.step_at, self.newest = reading.moment, reading
        return self._point(heard, heard.step, reading.moment)

    def enter(self, phase: str, reading: Reading) -> None:
        """A change of phase, or the same one again."""
        if self.phase in PAUSES and self.phase_at is not None and phase != self.phase:
            spent = (reading.moment - self.phase_at).total_seconds()
            self.worst[self.phase] = max(self.worst.get(self.phase, 0.0), spent)
        if phase != self.phase:
            self.phase, self.phase_at = phase, reading.moment
        self._quiet(reading)

    def leave(self, reading: Reading) -> None:
        """The end of a pause: back to training, or to starting when no step was seen yet."""
        if self.phase in PAUSES:
            self.enter("training" if self.counters else "starting", reading)
        self._quiet(reading)

    def _quiet(self, reading: Reading) -> None:
        read_at = reading.record.read_at
        self.quiet_at = max(self.quiet_at or read_at, read_at)

    def arrive(self, steps: int, read_at: datetime) -> None:
        """One read brought so many step lines."""
        since = max((at for at in (self.moved_at, self.watched_at) if at is not None), default=read_at)
        held = (read_at - since).total_seconds() if steps >= TOGETHER else 0.0
        self.bursts = [*self.bursts, max(0.0, round(held, 1))][-BURSTS_KEPT:]
        self.moved_at = read_at

    def _start(self, heard: Told, step: int, reading: Reading) -> bool:
        if len(self.counters) >= DIALECTS_KEPT:
            return False
        at = reading.moment.timestamp()
        self.counters[heard.dialect] = Counter(step, step, step, at, total=heard.total, rank=heard.rank)
        return True

    def _choose(self) -> None:
        """The dialect to believe: sure ones first, step lines before bars before epochs; the first one stays."""
        counter = self.counter
        if counter is not None and counter.rising >= SURE and not counter.rank:
            return
        names = list(self.counters)
        best = min(names, key=lambda n: (self._sure(n), self.counters[n].rank, n != self.active, names.index(n)))
        self.active = best

    def _sure(self, name: str) -> bool:
        """False (which sorts first) for a dialect that is sure."""
        return self.counters[name].rising < SURE

    def _point(self, heard: Told, step: int, at: datetime) -> ProgressPoint | None:
        if self.point_at is not None and abs((at - self.point_at).total_seconds()) < POINT_SECONDS:
            return None
        self.point_at = at
        counter = self.counter
        seconds = heard.seconds or (counter.seconds[-1] if counter and counter.seconds else None)
        return ProgressPoint(at, step, seconds, heard.loss)


_TIMES = ("phase_at", "quiet_at", "line_at", "step_at", "point_at", "watched_at", "moved_at")


@dataclass
class Notes:
    """What the readings of one turn told, in their order; `arrived`: step lines by the read that brought them."""

    points: list[ProgressPoint] = field(default_factory=list)
    losses: list[bool | None] = field(default_factory=list)
    rates: list[float | None] = field(default_factory=list)
    at: list[tuple[int | None, str]] = field(default_factory=list)
    saved: list[int] = field(default_factory=list)
    loaded: list[int] = field(default_factory=list)
    arrived: dict[datetime, int] = field(default_factory=dict)

    def take(self, course: Course, reading: Reading) -> None:
        """One reading moves the course."""
        nan, rate = None, None
        for hit in _telling(reading):
            if hit.signature.kind == "progress":
                heard, before = told(hit, reading.text), course.step
                nan = heard.nan if nan is None else nan
                rate = heard.rate if rate is None else rate
                if (point := course.hear(heard, reading)) is not None:
                    self.points.append(point)
                if course.step != before:
                    self.arrived[reading.record.read_at] = self.arrived.get(reading.record.read_at, 0) + 1
            elif (happened := moment_of(hit, reading.text)) is not None:
                _follow(course, happened, reading, self.saved, self.loaded)
        self.losses.append(nan)
        self.rates.append(rate)
        self.at.append((course.step, course.phase))


def fold(state: State, readings: Sequence[Reading], known: Known, context: Context, now: datetime) -> Step:
    """Progress, rhythm, phase and checkpoints after these readings."""
    course, notes = Course.of(state), Notes()
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
    )
    return Step(course.state(), known)


def _telling(reading: Reading) -> Iterator[Hit]:
    """What tells of steps, checkpoints and phases; a fault may tell that the job restarts itself."""
    yield from reading.others
    if reading.fault is not None and reading.fault.signature.moments:
        yield reading.fault


def _follow(course: Course, happened: Moment, reading: Reading, saved: list[int], loaded: list[int]) -> None:
    """A line about a checkpoint or a phase. Only a line that says so proves that a checkpoint is complete."""
    step = happened.step if happened.step is not None else course.step
    if happened.what in _ENTERED:
        course.enter(_ENTERED[happened.what], reading)
    else:
        course.leave(reading)
    if happened.what == "saved" and step is not None:
        course.saved = max(course.saved or 0, step)
        saved.append(step)
    elif happened.what == "loaded" and step is not None:
        course.loaded = step
        loaded.append(step)


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
    )


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    known: list[datetime] = [at for at in (one, other) if at is not None]
    return max(known, default=None)

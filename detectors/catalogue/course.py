"""How does one attempt move? Its counters, its phase, and the pauses that it made."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from detectors.catalogue.counters import SURE, Counter
from detectors.catalogue.detector import State, moment, quote, quote_from, stored, stored_quote
from detectors.catalogue.dialects import Told
from detectors.catalogue.moments import PAUSES
from detectors.catalogue.readings import Reading
from detectors.catalogue.records import Evidence, ProgressPoint

DIALECTS_KEPT = 8
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
    point_step: int | None = None
    watched_at: datetime | None = None  # since when somebody looks: what was written before came not late
    moved_at: datetime | None = None  # the last read that brought steps
    bursts: list[float] = field(default_factory=list)
    place: str = ""  # of the checkpoint that is being saved or loaded
    done_at: datetime | None = None  # the read that said that training is done, while no step came since

    @classmethod
    def of(cls, state: State) -> "Course":
        """From its JSON."""
        if not state:
            return cls()
        times: dict[str, Any] = {name: moment(state[name]) for name in _TIMES}
        counters = {name: Counter.of(row) for name, row in state["counters"].items()}
        last = quote_from(state["last"]) if state["last"] else None
        plain = {name: state[name] for name in ("active", "phase", "saved", "loaded", "place", "point_step")}
        worst, bursts = dict(state["worst"]), list(state["bursts"])
        return cls(counters=counters, last=last, worst=worst, bursts=bursts, **plain, **times)

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "counters": {name: counter.state() for name, counter in self.counters.items()},
            "active": self.active,
            "phase": self.phase,
            "saved": self.saved,
            "loaded": self.loaded,
            "place": self.place,
            "point_step": self.point_step,
            "worst": self.worst,
            "bursts": self.bursts,
            "last": stored_quote(last) if (last := self.last_quote()) else None,
            **{name: stored(getattr(self, name)) for name in _TIMES},
        }

    def no_later_than(self, now: datetime) -> None:
        """The clock may have been set back: no read was later than now."""
        for name in _READ:
            at = getattr(self, name)
            setattr(self, name, at and min(at, now))

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
        """A progress line. Gives a point when the believed counter moved, or when it tells values of its step."""
        if heard.step is None or not heard.dialect:
            self._quiet(reading)
            return self._beside(heard, reading) if heard.companion and heard.values else None
        counter = self.counters.get(heard.dialect)
        if counter is None:
            moved = self._start(heard, heard.step, reading)
        else:
            moved = counter.see(heard, heard.step, reading.moment.timestamp())
        if not moved:
            return None
        if heard.step > 0:
            self.enter("training", reading)
        else:
            self._quiet(reading)
        self._choose()
        if heard.dialect != self.active:
            return None
        at = reading.moment
        self.step_at, self.newest, self.done_at = at, reading, None
        return self._point(heard, heard.step, at)

    def enter(self, phase: str, reading: Reading) -> None:
        """A change of phase, or the same one again."""
        if phase != self.phase:
            if self.phase in PAUSES and self.phase_at is not None:
                spent = (reading.moment - self.phase_at).total_seconds()
                self.worst[self.phase] = max(self.worst.get(self.phase, 0.0), spent)
            self.phase, self.phase_at = phase, reading.moment
        if phase == "ended":
            self.done_at = self.done_at or reading.record.read_at
        self._quiet(reading)

    def leave(self, reading: Reading) -> None:
        """The end of a pause: back to training, or to starting when no step was seen yet."""
        if self.phase in PAUSES:
            self.enter("training" if self.counters else "starting", reading)
        self._quiet(reading)

    def _quiet(self, reading: Reading) -> None:
        read_at = reading.record.read_at
        if self.quiet_at is None or read_at > self.quiet_at:
            self.quiet_at = read_at

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
        if self._too_soon(at):
            return None
        self.point_at, self.point_step = at, step
        counter = self.counter
        seconds = heard.seconds or (counter.seconds[-1] if counter and counter.seconds else None)
        return ProgressPoint(at, step, seconds, heard.loss, heard.tokens, heard.tflop, heard.nan is True)

    def _beside(self, heard: Told, reading: Reading) -> ProgressPoint | None:
        """The values of the last step, which come on a line of their own: one more point of the same step."""
        step, at = self.step, reading.moment
        if step is None or self.phase != "training" or self.newest is reading:
            return None
        if step != self.point_step and self._too_soon(at):
            return None
        self.point_at, self.point_step = at, step
        return ProgressPoint(at, step, None, heard.loss, heard.tokens, heard.tflop, heard.nan is True)

    def _too_soon(self, at: datetime) -> bool:
        return self.point_at is not None and abs((at - self.point_at).total_seconds()) < POINT_SECONDS


_TIMES = ("phase_at", "quiet_at", "line_at", "step_at", "point_at", "watched_at", "moved_at", "done_at")
_READ = ("quiet_at", "line_at", "watched_at", "moved_at")  # by our own clock

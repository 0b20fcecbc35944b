"""What happens next in one attempt of a job? The play goes on, step by step, until it ends or breaks."""

from collections import deque
from dataclasses import dataclass, field

from lab.dialects.dialect import Dialect, Stage, steady
from lab.dialects.known import DIALECTS
from lab.simulate.effects import Effect, failed
from lab.simulate.faults.blow import Beat, Blow, node_of, place
from lab.simulate.faults.known import AT_START, FAULTS
from lab.simulate.faults.lasting import LASTING, pace, touches
from lab.simulate.play import Fault, Play

ENDING_SECONDS = 0.2  # from the last line to the end of the batch script
NOTHING: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Moment:
    """What one moment of an attempt gave. `wait_seconds` until the next one, `None` when there is none."""

    lines: tuple[str, ...]
    saved_step: int | None = None
    effect: Effect | None = None
    wait_seconds: float | None = None
    strikes: tuple[Blow, ...] = ()


@dataclass(slots=True)
class Run:
    """One attempt on its nodes: the next step to do, and the beats that come before it."""

    play: Play
    stage: Stage
    checkpoint: int  # step it resumes from, 0: from nothing
    step: int = 0  # last step done
    opened: bool = False
    beats: deque[Beat] = field(default_factory=deque)
    coming: list[Fault] = field(default_factory=list)  # those that break one moment, not yet struck
    lasting: dict[str, tuple[Fault, ...]] = field(default_factory=dict)  # by kind, those of this attempt
    unsaid: list[Fault] = field(default_factory=list)  # lasting ones that have struck no step yet
    strikes: list[Blow] = field(default_factory=list)  # since the last moment
    dialect: Dialect = field(init=False)
    taken: tuple[int, float] = (-1, 0.0)  # the step asked for last and its seconds: each is asked for twice

    def __post_init__(self) -> None:
        self.dialect = DIALECTS[self.play.dialect]
        mine = [fault for fault in self.play.faults if node_of(fault, self.stage)]
        self.coming = [fault for fault in mine if fault.kind not in LASTING]
        self.unsaid = [fault for fault in mine if fault.kind in LASTING]
        for fault in self.unsaid:
            self.lasting[fault.kind] = (*self.lasting.get(fault.kind, ()), fault)

    def go_on(self, at: float) -> Moment:
        """What happens now, at `at` (epoch seconds)."""
        if not self.opened:
            return self._open(at)
        if not self.beats and self.coming:
            self._strike(at)
            if self.beats and self.beats[0].wait_seconds:
                return self._waits()
        if self.beats:
            return self._beat(at)
        return self._train(at)

    def _told(self) -> tuple[Blow, ...]:
        told = tuple(self.strikes)
        self.strikes.clear()
        return told

    def _open(self, at: float) -> Moment:
        self.opened, self.step = True, self.checkpoint
        if at_start := next((fault for fault in self.coming if fault.kind in AT_START), None):
            self._blow(at_start, at)
            return self._beat(at) if not self.beats[0].wait_seconds else self._waits()
        startup = self.play.startup_seconds
        if not self.play.steps:
            return Moment((), wait_seconds=startup)
        loaded = tuple(self.dialect.loaded(self.stage, self.checkpoint, at + startup))
        self.beats.append(Beat(0, loaded, begins=True))
        return Moment(tuple(self.dialect.opening(self.stage, self.checkpoint, at)), wait_seconds=startup)

    def _waits(self) -> Moment:
        return Moment((), wait_seconds=self.beats[0].wait_seconds, strikes=self._told())

    def _strike(self, at: float) -> None:
        """Take the first fault whose step has come."""
        for fault in self.coming:
            if fault.step <= self.step + 1 and (fault.until is None or self.step < fault.until):
                self._blow(fault, at)
                return

    def _blow(self, fault: Fault, at: float) -> None:
        self.coming.remove(fault)
        if blow := place(fault, self.stage, self.step + 1, at):
            self.strikes.append(blow)
            self.beats.extend(FAULTS[fault.kind](blow))

    def _beat(self, at: float) -> Moment:
        beat = self.beats.popleft()
        lines = list(beat.lines)
        if beat.reprint and self.step:
            lines += self.dialect.step(self.stage, self.step, self._step_seconds(self.step), at)
        if beat.again:
            self.beats.append(beat)
        wait = self.beats[0].wait_seconds if self.beats else 0.0
        if beat.begins:
            wait = self._begin(self.step + 1, at, lines)
        return Moment(tuple(lines), None, beat.effect, wait, self._told())

    def _train(self, at: float) -> Moment:
        play, stage, dialect = self.play, self.stage, self.dialect
        if self.step >= play.steps:
            return Moment((), effect=failed(0), strikes=self._told())
        self.step += 1
        step = self.step
        nan = any(touches(fault, step) for fault in self.lasting.get("nan", NOTHING))
        lines = dialect.step(stage, step, self._step_seconds(step), at, nan)
        last = step == play.steps
        saves = bool(play.checkpoint_every) and (step % play.checkpoint_every == 0 or last)
        if saves and (fault := self._unsaved(step)):
            lines, saves = [*lines, *fault.lines], False
            self._lasts(fault, step, at)
        elif saves:
            lines = [*lines, *dialect.saved(stage, step, at)]
        if last:
            lines = [*lines, *dialect.ending(stage, at)]
        wait = ENDING_SECONDS if last else self._begin(step + 1, at, lines)
        return Moment(tuple(lines), step if saves else None, None, wait, self._told())

    def _unsaved(self, step: int) -> Fault | None:
        return next((fault for fault in self.lasting.get("no_save", NOTHING) if touches(fault, step)), None)

    def _begin(self, step: int, at: float, lines: list[str]) -> float:
        """A step begins: how long it takes. What lasts from here on strikes now."""
        for fault in self.unsaid[:]:
            if fault.kind != "no_save" and touches(fault, step):
                self._lasts(fault, step, at)
                lines.extend(fault.lines)
        return self._step_seconds(step)

    def _lasts(self, fault: Fault, step: int, at: float) -> None:
        """A lasting fault strikes its first step."""
        if fault in self.unsaid:
            self.unsaid.remove(fault)
            if blow := place(fault, self.stage, step, at):
                self.strikes.append(blow)

    def _step_seconds(self, step: int) -> float:
        """Steps differ by up to 3 %, always in the same way."""
        if self.taken[0] == step:
            return self.taken[1]
        seconds = self.play.step_seconds * (0.97 + 0.06 * steady(self.stage.number, self.stage.attempt, step))
        for fault in self.lasting.get("slow", NOTHING):
            if touches(fault, step):
                seconds *= pace(fault, step)
        self.taken = (step, seconds)
        return seconds

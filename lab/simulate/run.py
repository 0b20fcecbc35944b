"""What happens next in one attempt of a job? The play goes on, step by step, until it ends or breaks."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from lab.dialects.dialect import Dialect, Stage, steady
from lab.dialects.known import DIALECTS
from lab.simulate.faults import FAULTS, Beat, Effect, failed, place
from lab.simulate.play import Play

ENDING_SECONDS = 0.2  # from the last line to the end of the batch script


@dataclass(frozen=True, slots=True)
class Moment:
    """What one moment of an attempt gave. `wait_seconds` until the next one, `None` when there is none."""

    lines: tuple[str, ...]
    saved_step: int | None
    effect: Effect | None
    wait_seconds: float | None


@dataclass(slots=True)
class Run:
    """One attempt on its nodes: the next step to do, and the beats that come before it."""

    play: Play
    stage: Stage
    checkpoint: int  # step it resumes from, 0: from nothing
    step: int = 0  # last step done
    opened: bool = False
    struck: set[int] = field(default_factory=set)
    beats: deque[Beat] = field(default_factory=deque)

    def go_on(self, at: float) -> Moment:
        """What happens now, at `at` (epoch seconds)."""
        if not self.opened:
            return self._open(at)
        if not self.beats:
            self._strike()
        if self.beats:
            return self._beat()
        return self._train(at)

    @property
    def _dialect(self) -> Dialect:
        return DIALECTS[self.play.dialect]

    def _open(self, at: float) -> Moment:
        self.opened, self.step = True, self.checkpoint
        if not self.play.steps:
            return Moment((), None, None, self.play.startup_seconds)
        loaded_at = at + self.play.startup_seconds
        self.beats.append(Beat(0, tuple(self._dialect.loaded(self.stage, self.checkpoint, loaded_at))))
        lines = tuple(self._dialect.opening(self.stage, self.checkpoint, at))
        return Moment(lines, None, None, self.play.startup_seconds)

    def _strike(self) -> None:
        """Take the first fault whose step has come."""
        for index, fault in enumerate(self.play.faults):
            if index in self.struck or self.step + 1 < fault.step:
                continue
            self.struck.add(index)
            if blow := place(fault, self.stage):
                self.beats.extend(FAULTS[fault.kind](blow))
                return

    def _beat(self) -> Moment:
        beat = self.beats.popleft()
        if beat.effect is not None:
            return Moment(beat.lines, None, beat.effect, None)
        wait = self.beats[0].wait_seconds if self.beats else self._step_seconds(self.step + 1)
        return Moment(beat.lines, None, None, wait)

    def _train(self, at: float) -> Moment:
        play, stage = self.play, self.stage
        if self.step >= play.steps:
            return Moment((), None, failed(0), None)
        self.step += 1
        lines: Iterable[str] = self._dialect.step(stage, self.step, self._step_seconds(self.step), at)
        last = self.step == play.steps
        saves = bool(play.checkpoint_every) and (self.step % play.checkpoint_every == 0 or last)
        if saves:
            lines = [*lines, *self._dialect.saved(stage, self.step, at)]
        if last:
            lines = [*lines, *self._dialect.ending(stage, at)]
        wait = ENDING_SECONDS if last else self._step_seconds(self.step + 1)
        return Moment(tuple(lines), self.step if saves else None, None, wait)

    def _step_seconds(self, step: int) -> float:
        """Steps differ by up to 3 %, always in the same way."""
        return self.play.step_seconds * (0.97 + 0.06 * steady(self.stage.number, self.stage.attempt, step))

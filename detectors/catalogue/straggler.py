"""Do the steps take longer than they used to, for minutes on end? (reference, section 9)

All ranks wait for the slowest one, so the lines of a job tell that it is slow and not who makes it slow: nobody is
named here. What is compared is the time of a step over stretches of training, each against the job's own; pauses
(checkpoints, evaluations) belong to no stretch. Where the lines tell how much work is done a second (tokens,
TFLOP), longer steps that do more work are not slow.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from detectors.catalogue.detector import Known, State, Step, quote
from detectors.catalogue.fingerprints import fingerprint
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.readings import Reading
from detectors.catalogue.records import Context, Finding
from detectors.catalogue.role import Role
from schedulers.states import JobState

NAME = "straggler"
SIGNATURE = "straggler.steps"
JUDGED = 5  # the last stretches, which together are `straggler_seconds` long
SLOW_ONES = 4  # so many of them must be slow by themselves: one long pause without a line is none
LINES = 4  # step lines that a stretch holds at least
OWN = 5  # stretches before the judged ones without which nothing is known of the job's own pace
KEPT = 60  # stretches remembered: two hours with the default limit
PAUSE = 8.0  # an interval that many times the usual one is a pause that no line tells of
RELIEF = 2 / 3  # of the slow-down: below it the attempt is as fast as before
CONFIDENCE = 0.9  # that it is slow; not measured


@dataclass(frozen=True)
class Stretch:
    """Some minutes of training. Epoch seconds; `rate` is the median work a second, `None` when no line told it."""

    begun: float
    seconds: float
    steps: int
    rate: float | None

    @property
    def pace(self) -> float:
        """Seconds for one step."""
        return self.seconds / self.steps


@dataclass
class Pace:
    """The stretches so far and the one that is open; JSON as its state.

    `rows`: the stretches as JSON; most turns close none and need to know none. `before`: moment and step of the
    last step line, `None` after a pause. `key` and `own`: the open finding and the pace it was measured against.
    """

    rows: list[list[Any]] = field(default_factory=list)
    before: tuple[float, int] | None = None
    begun: float = 0.0
    seconds: float = 0.0
    steps: int = 0
    lines: int = 0
    rates: list[float] = field(default_factory=list)
    key: str = ""
    own: float = 0.0

    @classmethod
    def of(cls, state: State) -> "Pace":
        """From its JSON."""
        if not state:
            return cls()
        plain = {name: state[name] for name in ("begun", "seconds", "steps", "lines", "key", "own")}
        before = (float(state["before"][0]), int(state["before"][1])) if state["before"] else None
        return cls(list(state["stretches"]), before, rates=list(state["rates"]), **plain)

    def state(self) -> dict[str, Any]:
        """As JSON."""
        plain = {
            name: getattr(self, name) for name in ("begun", "seconds", "steps", "lines", "key", "own", "rates")
        }
        return {**plain, "stretches": self.rows, "before": list(self.before) if self.before else None}

    def see(self, step: int, at: float, rate: float | None, usual: float | None) -> None:
        """A step line of training. `usual`: seconds of one step, as far as they are known."""
        before, self.before = self.before, (at, step)
        if before is None or step <= before[1] or at < before[0]:
            if before is not None and step == before[1]:
                self.before = before  # the same step told twice
            return
        passed, steps = at - before[0], step - before[1]
        if usual is not None and passed > PAUSE * usual * steps:
            return
        self.begun = self.begun or before[0]
        self.seconds += passed
        self.steps += steps
        self.lines += 1
        if rate is not None:
            self.rates.append(rate)

    def close(self, least: float) -> bool:
        """Whether the open stretch is long enough; then it is one of the stretches, and a new one begins."""
        if self.seconds < least or self.lines < LINES:
            return False
        rate = statistics.median(self.rates) if len(self.rates) == self.lines else None
        self.rows = [*self.rows, [self.begun, round(self.seconds, 3), self.steps, rate]][-KEPT:]
        self.begun, self.seconds, self.steps, self.lines, self.rates = 0.0, 0.0, 0, 0, []
        return True

    @property
    def judged(self) -> list[Stretch]:
        """The last stretches."""
        return [Stretch(*row) for row in self.rows[-JUDGED:]]

    @property
    def now(self) -> float:
        """Seconds for one step over the last stretches."""
        judged = self.judged
        return sum(one.seconds for one in judged) / sum(one.steps for one in judged)

    def slow_against(self, factor: float) -> float | None:
        """The job's own pace when it is that much slower now; `None` when it is not, or nobody knows."""
        older = [Stretch(*row) for row in self.rows[:-JUDGED]]
        if len(older) < OWN:
            return None
        own = statistics.median(one.pace for one in older)
        slow = [one for one in self.judged if one.pace > factor * own]
        if len(slow) < SLOW_ONES or self.now <= factor * own or _works_as_much(older, self.judged, factor):
            return None
        return own


def fold(state: State, readings: Sequence[Reading], known: Known, context: Context, now: datetime) -> Step:
    """A finding when the attempt has become slow; its key again when it is as fast as before."""
    pace = Pace.of(state)
    factor, least = context.limits["straggler_factor"], context.limits["straggler_seconds"] / JUDGED
    findings: list[Finding] = []
    ended: list[str] = []
    for index, reading in enumerate(readings):
        step, phase = known.at[index]
        if phase != "training":
            pace.before = None
            continue
        if step is None:
            continue
        pace.see(step, reading.moment.timestamp(), known.rates[index], known.progress.baseline_step_seconds)
        if not pace.close(least) or context.state is not JobState.RUNNING:
            continue
        if pace.key and pace.now < (1 + (factor - 1) * RELIEF) * pace.own:
            ended.append(pace.key)
            pace.key = ""
        elif not pace.key and (own := pace.slow_against(factor)) is not None:
            pace.key, pace.own = f"straggler:{step}", own
            findings.append(_finding(pace, step, reading, factor))
    return Step(pace.state(), known, tuple(findings), tuple(ended))


def _works_as_much(older: Sequence[Stretch], judged: Sequence[Stretch], factor: float) -> bool:
    """Whether the lines tell that as much work is done a second as before: the steps are longer, not slower."""
    before = [one.rate for one in older if one.rate is not None]
    since = [one.rate for one in judged if one.rate is not None]
    if len(before) < len(older) or len(since) < len(judged):
        return False
    return statistics.median(since) * factor > statistics.median(before)


def _finding(pace: Pace, step: int, reading: Reading, factor: float) -> Finding:
    slow = next(one for one in pace.judged if one.pace > factor * pace.own)
    minutes = sum(one.seconds for one in pace.judged) / 60
    return Finding(
        key=pace.key,
        kind=AnomalyKind.STRAGGLER,
        sentence=(
            f"A step takes {pace.now:.3g} s instead of {pace.own:.3g} s "
            f"(+{100 * (pace.now / pace.own - 1):.0f} %), for {minutes:.2g} min; the log does not tell who is slow."
        ),
        happened_at=datetime.fromtimestamp(slow.begun, UTC),
        basis="step",
        signature=SIGNATURE,
        layer=Layer.UNKNOWN,
        role=Role.CANDIDATE,
        fingerprint=fingerprint(Layer.UNKNOWN, SIGNATURE, ""),
        step=step,
        evidence=(quote(reading),),
        confidence=CONFIDENCE,
    )

"""Pure: where do attempts and marks stand on one common time axis?

Shares of the axis are percentages, so that the picture stretches with the page while its text keeps its size.
Marks that lie closer together than they are wide are set side by side in order, each with a line down to its true
moment: a recovery happens within seconds of a run that took hours. Many attempts stand with the newest on top, all
others in narrow lanes, and in a narrow lane all marks of one place are one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.job_window import WHOLE, Window
from console.mark_kind import MarkKind
from console.time_axis import SHORTEST, Axis, Tick, axis_of, ticks

MARK_WIDTH = 3.0  # per cent that a mark takes: 20 of the 700 units below which the picture is scrolled
SAME_PLACE = 1.0  # per cent within which marks of one kind are one: nobody could tell them apart
MARKS_PER_LANE = 30  # more do not fit side by side: neighbours become one then
WIDE_LANES = 12  # so many attempts have wide lanes all
WIDE_AMONG_MANY = 4  # of more attempts only the newest
LANES_APART = 40  # attempts with a lane of their own; those before share one, whose name leads to their lanes
LANE_HEIGHT, NARROW_HEIGHT = 58, 24
AXIS_HEIGHT = 26


@dataclass(frozen=True)
class Happening:
    """Something to mark on the lane of one attempt. `anchor` is the id of its line in the event list."""

    attempt_index: int
    at: datetime
    kind: MarkKind
    sentence: str
    anchor: str


@dataclass(frozen=True)
class Saved:
    """A checkpoint that was saved, and what was said of it."""

    at: datetime
    sentence: str = ""


@dataclass(frozen=True)
class Run:
    """One attempt as the picture needs it. `colour` is a theme colour, `ended_at` none while it runs."""

    index: int
    title: str
    colour: str
    waiting_since: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    checkpoints: tuple[Saved, ...] = ()
    steps: str = ""

    @property
    def begun(self) -> datetime | None:
        """The first moment that is known of it."""
        return self.waiting_since or self.started_at or self.ended_at

    @property
    def window(self) -> Window:
        """A stretch that holds all of it, with something on both sides."""
        begun, over = self.started_at or self.begun, self.ended_at
        if begun is None:
            return WHOLE
        margin = max(((over or begun) - begun) / 20, SHORTEST)
        return Window(begun - margin, None if over is None else over + margin)


@dataclass(frozen=True)
class Bar:
    """A stretch of time on a lane: `x` and `width` in per cent."""

    x: float
    width: float
    colour: str
    waiting: bool = False


@dataclass(frozen=True)
class Mark:
    """One mark: shown at `x`, true at `true_x`, both in per cent. Several at one place share it."""

    x: float
    true_x: float
    happenings: tuple[Happening, ...]

    @property
    def first(self) -> Happening:
        """The one that it leads to."""
        return self.happenings[0]

    @property
    def kind(self) -> MarkKind:
        """Of several kinds the one that weighs most."""
        return min((one.kind for one in self.happenings), key=list(MarkKind).index)

    @property
    def words(self) -> str:
        """What happened, in words."""
        more = len(self.happenings) - 1
        sentence = self.first.sentence
        return _("%(first)s (and %(count)s more)") % {"first": sentence, "count": more} if more else sentence


@dataclass(frozen=True)
class Fold:
    """A folded stretch of the axis: `x` and `width` in per cent."""

    x: float
    width: float
    length: timedelta


@dataclass(frozen=True)
class Lane:
    """One attempt, from top to bottom: its marks, its bars, its changes of state. `y`, `height` in pixels."""

    run: Run
    y: int
    height: int
    bars: tuple[Bar, ...]
    checkpoints: tuple[tuple[float, str], ...]
    marks: tuple[Mark, ...]
    turns: tuple[Mark, ...] = ()
    earlier: tuple[Run, ...] = ()  # attempts before `run` that share its lane, the newest first

    @property
    def name(self) -> str:
        """`Attempt 7`, `Attempts 0 to 7`."""
        if not self.earlier:
            return _("Attempt %(index)s") % {"index": self.run.index}
        return _("Attempts %(first)s to %(last)s") % {"first": self.earlier[-1].index, "last": self.run.index}

    @property
    def title(self) -> str:
        """How it ended, or how many share the lane."""
        if not self.earlier:
            return self.run.title
        count = len(self.earlier) + 1
        return ngettext("%(count)s attempt", "%(count)s attempts", count) % {"count": count}

    @property
    def window(self) -> Window:
        """A stretch that holds all of it, with something on both sides."""
        return Window(self.earlier[-1].window.start, self.run.window.end) if self.earlier else self.run.window

    @property
    def narrow(self) -> bool:
        """Whether it has no room for signs."""
        return self.height == NARROW_HEIGHT


@dataclass(frozen=True)
class Timeline:
    """The whole picture. `height` in pixels. `elsewhere`: attempts outside the stretch that is shown."""

    axis: Axis
    lanes: tuple[Lane, ...] = ()
    ticks: tuple[Tick, ...] = ()
    folds: tuple[Fold, ...] = ()
    height: int = field(default=AXIS_HEIGHT)
    elsewhere: int = 0

    @property
    def start(self) -> datetime:
        """The left border."""
        return self.axis.start

    @property
    def end(self) -> datetime:
        """The right border."""
        return self.axis.end


def lay_out(
    runs: Sequence[Run], happenings: Sequence[Happening], now: datetime, window: Window = WHOLE
) -> Timeline | None:
    """The picture of a job at `now`, or of a stretch of it; none when nothing has a time there."""
    axis = axis_of(_busy(runs, happenings, now), window.start, window.end)
    if axis is None:
        return None
    shown = [run for run in runs if run.begun is None or window.meets(run.begun, run.ended_at)] if window else runs
    own: dict[int, list[Happening]] = {run.index: [] for run in shown}
    for happening in sorted(happenings, key=lambda one: one.at):
        if happening.attempt_index in own and window.holds(happening.at):
            own[happening.attempt_index].append(happening)
    lanes, y = [], AXIS_HEIGHT
    many = len(shown) > WIDE_LANES
    ordered = shown[::-1] if many else shown
    apart = len(ordered) if len(ordered) <= LANES_APART + 1 else LANES_APART
    for place, run in enumerate(ordered[:apart]):
        wide = not many or place < WIDE_AMONG_MANY
        lanes.append(_lane(run, own[run.index], axis, (y, LANE_HEIGHT if wide else NARROW_HEIGHT), now))
        y += lanes[-1].height
    if together := ordered[apart:]:
        lanes.append(_shared(together, own, axis, y, now))
        y += NARROW_HEIGHT
    folds = tuple(Fold(x := axis.x(a), round(axis.x(b) - x, 3), b - a) for a, b in axis.folds)
    return Timeline(axis, tuple(lanes), ticks(axis), folds, y, len(runs) - len(shown))


def _busy(runs: Sequence[Run], happenings: Sequence[Happening], now: datetime) -> list[tuple[datetime, datetime]]:
    """Where something is to be seen: attempts that run, and every moment that has a mark."""
    moments = [one.at for one in happenings] + [saved.at for run in runs for saved in run.checkpoints]
    moments += [at for run in runs for at in (run.waiting_since, run.ended_at) if at is not None]
    if any(run.ended_at is None and run.begun is not None for run in runs):
        moments.append(max(now, max(moments, default=now)))
    stretches = [
        (run.started_at, max(run.started_at, run.ended_at or now)) for run in runs if run.started_at is not None
    ]
    return stretches + [(at, at) for at in moments]


def _lane(run: Run, happenings: Sequence[Happening], axis: Axis, place: tuple[int, int], now: datetime) -> Lane:
    y, height = place
    narrow = height == NARROW_HEIGHT
    turns = _set([one for one in happenings if one.kind is MarkKind.STATE], axis, narrow=True)
    marked = [one for one in happenings if one.kind is not MarkKind.STATE]
    checkpoints = tuple((axis.x(min(one.at, run.ended_at or one.at)), one.sentence) for one in run.checkpoints)
    marks = _set(marked, axis, narrow=narrow)
    return Lane(run, y, height, _bars(run, axis, now), checkpoints, marks, () if narrow else turns)


def _shared(runs: Sequence[Run], own: Mapping[int, Sequence[Happening]], axis: Axis, y: int, now: datetime) -> Lane:
    """One lane for many attempts: they do not run at the same time, so that their bars stand side by side."""
    happened = sorted((one for run in runs for one in own[run.index]), key=lambda one: one.at)
    marks = _set([one for one in happened if one.kind is not MarkKind.STATE], axis, narrow=True)
    bars = tuple(bar for run in runs for bar in _bars(run, axis, now) if not bar.waiting)
    return Lane(runs[0], y, NARROW_HEIGHT, bars, (), marks, earlier=tuple(runs[1:]))


def _set(ordered: Sequence[Happening], axis: Axis, *, narrow: bool) -> tuple[Mark, ...]:
    """Marks at their places: spread where they carry signs, all of one place one where they do not."""
    if narrow:
        together = _together(ordered, axis, SAME_PLACE, lambda _one, _other: True)
    else:
        together = _together(ordered, axis, SAME_PLACE, lambda one, other: one.kind is other.kind)
        if len(together) > MARKS_PER_LANE:
            together = _together(ordered, axis, 100 / (MARKS_PER_LANE - 1), lambda _one, _other: True)
    true = [axis.x(group[0].at) for group in together]
    shown = true if narrow else spread(true)
    return tuple(Mark(x, true_x, tuple(g)) for x, true_x, g in zip(shown, true, together, strict=True))


def _together(
    ordered: Sequence[Happening], axis: Axis, within: float, alike: Callable[[Happening, Happening], bool]
) -> list[list[Happening]]:
    """Alike neighbours within so many per cent of the first of them."""
    groups: list[list[Happening]] = []
    begun = 0.0
    for happening in ordered:
        x = axis.x(happening.at)
        if groups and x - begun <= within and alike(groups[-1][0], happening):
            groups[-1].append(happening)
        else:
            groups.append([happening])
            begun = x
    return groups


def _bars(run: Run, axis: Axis, now: datetime) -> tuple[Bar, ...]:
    end = max(now, run.begun or now)
    stretches = []
    if run.waiting_since is not None:
        until = run.started_at or run.ended_at or end
        stretches.append((run.waiting_since, until, "secondary", True))
    if run.started_at is not None:
        stretches.append((run.started_at, run.ended_at or end, run.colour, False))
    bars = []
    for start, until, colour, waiting in stretches:
        x = axis.x(start)
        bars.append(Bar(x, round(max(0.0, axis.x(until) - x), 3), colour, waiting))
    return tuple(bars)


def spread(places: Sequence[float]) -> list[float]:
    """Places at least `MARK_WIDTH` apart, in the same order, as near to the given ones as a sweep finds them."""
    spread_out: list[float] = []
    for place in places:
        least = spread_out[-1] + MARK_WIDTH if spread_out else MARK_WIDTH / 2
        spread_out.append(max(place, least))
    limit = 100 - MARK_WIDTH / 2
    for index in range(len(spread_out) - 1, -1, -1):
        spread_out[index] = round(min(spread_out[index], limit), 3)
        limit = spread_out[index] - MARK_WIDTH
    return spread_out

"""What did the steps of a job's attempts tell: how long they took, and how much work was done a second?

One bounded query for all attempts that are not known yet. What an attempt told up to its last change stays in this
process, so that a job of many attempts, of which one runs, is not read again and again.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from threading import Lock

from django.utils.translation import gettext as _

from console.job_window import Window
from console.series import Point, Told, pieces_of, thinned, told
from schedulers.words import Word
from workloads.models import Attempt
from workloads.progress_models import ProgressPoint

POINTS_READ = 60_000  # of all attempts, the newest; a busy day of a job at a point a second is 86,400
POINTS_OF_ONE = 2_000  # shown of one attempt and measure
POINTS_OF_ALL = 12_000  # shown of one measure; each attempt has `POINTS_AT_LEAST` whatever the others have
POINTS_AT_LEAST = 60
FEW_POINTS = 8  # its least and greatest are among them
KEPT_POINTS = 100_000


class Measure(Word):
    """What a curve shows."""

    SECONDS = "seconds", "Step time", "info"
    TOKENS = "tokens", "Throughput in tokens a second", "success"
    TFLOP = "tflop", "Throughput in TFLOP a second", "success"
    RATE = "rate", "Throughput in steps a minute, from the step time", "success"

    @property
    def unit(self) -> str:
        """As it stands behind a number."""
        return {"seconds": "s", "tokens": "tokens/s", "tflop": "TFLOP/s", "rate": _("steps/min")}[self.value]


@dataclass(frozen=True)
class Curve:
    """One measure of one attempt: its points in pieces, thinned, and all of them in numbers."""

    pieces: tuple[Sequence[Point], ...] = ()
    told: Told | None = None

    @cached_property
    def few(self) -> Sequence[Sequence[Point]]:
        """As much of it as is seen where hundreds of curves stand side by side."""
        return thinned(self.pieces, FEW_POINTS)


@dataclass(frozen=True)
class Curves:
    """The measures of the attempts in their order. `cut`: older points were left out. `work`: of throughput."""

    of: tuple[tuple[Attempt, dict[Measure, Curve]], ...]
    cut: bool = False

    @property
    def work(self) -> Measure:
        """What throughput is told in: as the job's own lines count it, else by its step times."""
        own = (Measure.TOKENS, Measure.TFLOP)
        return next((one for one in own if any(known[one].told for _attempt, known in self.of)), Measure.RATE)


Known = dict[Measure, Curve]
_Key = tuple[int, datetime, Window, int]


class _Kept:
    """What attempts told, the least recently used dropped first."""

    def __init__(self) -> None:
        self._lock, self._size = Lock(), 0
        self._known: OrderedDict[_Key, Known] = OrderedDict()

    def get(self, key: _Key) -> Known | None:
        """What is known; none when it has to be read."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
            return self._known.get(key)

    def keep(self, key: _Key, known: Known) -> None:
        """Keep it instead of an older one."""
        with self._lock:
            if key not in self._known:
                self._size += _size(known)
            self._known[key] = known
            while self._size > KEPT_POINTS and len(self._known) > 1:
                self._size -= _size(self._known.popitem(last=False)[1])

    def forget(self) -> None:
        """Drop everything."""
        with self._lock:
            self._known.clear()
            self._size = 0


kept = _Kept()


def curves_of(attempts: Sequence[Attempt], window: Window) -> Curves:
    """What is shown of the attempts' series within the window. At most one query."""
    most = max(POINTS_AT_LEAST, min(POINTS_OF_ONE, POINTS_OF_ALL // max(1, len(attempts))))
    keys = {one.pk: (one.pk, one.changed_at, window, most) for one in attempts}
    known = {pk: found for pk, key in keys.items() if (found := kept.get(key)) is not None}
    missing = [one for one in attempts if one.pk not in known]
    rows, cut = _rows(missing, window) if missing else ({}, False)
    for attempt in missing:
        known[attempt.pk] = _measured(rows.get(attempt.pk, ()), most)
        if not cut:
            kept.keep(keys[attempt.pk], known[attempt.pk])
    return Curves(tuple((one, known[one.pk]) for one in attempts), cut)


Row = tuple[float, int, float | None, float | None, float | None]


def _rows(attempts: Iterable[Attempt], window: Window) -> tuple[dict[int, list[Row]], bool]:
    rows = ProgressPoint.objects.filter(attempt__in=list(attempts))
    if window.start is not None:
        rows = rows.filter(at__gte=window.start)
    if window.end is not None:
        rows = rows.filter(at__lte=window.end)
    newest = rows.order_by("-attempt_id", "-at").values_list(
        "attempt_id", "at", "step", "step_seconds", "tokens_per_second", "tflop_per_second"
    )
    found: dict[int, list[Row]] = {}
    count = 0
    for attempt, at, step, seconds, tokens, tflop in newest[: POINTS_READ + 1]:
        count += 1
        found.setdefault(attempt, []).append((at.timestamp(), step, seconds, tokens, tflop))
    for some in found.values():
        some.reverse()
    return found, count > POINTS_READ


def _measured(rows: Sequence[Row], most: int) -> Known:
    seconds = [Point(at, step, value) for at, step, value, _tokens, _tflop in rows if value is not None]
    tokens = [Point(at, step, value) for at, step, _seconds, value, _tflop in rows if value is not None]
    tflop = [Point(at, step, value) for at, step, _seconds, _tokens, value in rows if value is not None]
    rate = [Point(at, step, 60 / value) for at, step, value in seconds if value > 0] if not tokens + tflop else []
    series = {Measure.SECONDS: seconds, Measure.TOKENS: tokens, Measure.TFLOP: tflop, Measure.RATE: rate}
    return {measure: Curve(tuple(thinned(pieces_of(some), most)), told(some)) for measure, some in series.items()}


def _size(known: Known) -> int:
    return 1 + sum(len(piece) for curve in known.values() for piece in curve.pieces)


def moment(seconds: float) -> datetime:
    """A time of a point."""
    return datetime.fromtimestamp(seconds, UTC)

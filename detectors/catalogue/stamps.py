"""When was a line written, as far as the line itself tells?

Most stamps name no zone, some no year. They are placed by the moment at which the line was read (`read_at`):

- A zone is a whole or half number of hours within ±14. A line is read at most two minutes after it was written
  while a job is watched live. So the first stamp of a format that, moved by such a number, lies between two minutes
  before `read_at` and five seconds behind it, teaches the zone of that format.
- Once the zone is known every later stamp of the format is moved by it, however old the line is (a backlog).
- A stamp that would then lie in the future shows that the zone was learned from old lines, or that clocks were set
  forward: the zone is learned again at once. Clocks set back show only as lines that are late by a fixed amount:
  three reads in a row that agree on a smaller number teach it.
- What cannot be placed, or lies more than 30 days back, is not used: `None`, and the time of the read counts.

Stamps date symptoms and step times. Whether a job is silent is measured by `read_at` alone, so a stamp that is
placed wrongly can never make a hang.
"""

import functools
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from detectors.catalogue.digits import blind

HALF_HOUR = 1800.0
LATEST_READ_SECONDS = 120.0  # a line watched live is read within this time
AHEAD_SECONDS = 5.0  # clocks of hosts differ
FARTHEST_ZONE_SECONDS = 14 * 3600.0
OLDEST = timedelta(days=30)
WITNESSES = 3
_HALF_A_YEAR = timedelta(days=180)
_AHEAD = timedelta(seconds=AHEAD_SECONDS)

_WITHIN = 200  # characters from the start of a line in which a stamp is looked for
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}
_CLOCK = r"(?P<h>[01]\d|2[0-3]):(?P<m>[0-5]\d):(?P<s>[0-5]\d)(?:[.,](?P<f>\d{1,9}))?"
_FORMATS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "iso",
        re.compile(
            rf"(?<![\d\-/])(?P<iso>20\d\d-[01]\d-[0-3]\d[ T_]{_CLOCK})(?P<z>Z| UTC|[+\-]\d\d:?\d\d)?", re.ASCII
        ),
    ),
    ("glog", re.compile(r"(?:^|[\s\[:])[EWIF](?P<M>1[0-2]|0?[1-9])(?P<D>[0-3]\d) " + _CLOCK, re.ASCII)),
    ("us", re.compile(r"(?:^|[\s\[])(?P<M>0[1-9]|1[0-2])/(?P<D>[0-3]\d)/(?P<Y>20\d\d) " + _CLOCK, re.ASCII)),
    (
        "ctime",
        re.compile(
            r"\[(?:\w{3} )?(?P<B>[A-Z][a-z]{2}) +(?P<D>[ \d]?\d) (?:(?P<Y>20\d\d) )?"
            + _CLOCK
            + r"(?: (?P<Y2>20\d\d))?\]",
            re.ASCII,
        ),
    ),
    ("syslog", re.compile(r"^(?P<B>[A-Z][a-z]{2}) +(?P<D>[ \d]?\d) " + _CLOCK + r" ", re.ASCII)),
)

_AROUND = tuple(re.compile(around.pattern, re.ASCII) for _form, one in _FORMATS if (around := blind(one.pattern)))
"""The same formats, blind to digits."""


_Clock = tuple[int, int, int, int]
"""Hour, minute, second, microsecond."""


class Stamp(NamedTuple):
    """A time that a line shows; a named tuple, as all that is made for each line.

    `wall` is aware when the line names its zone. `form` is the format's name.
    """

    wall: datetime
    form: str


def parse(text: str, read_at: datetime, shape: bytes | None = None) -> Stamp | None:
    """The first stamp near the start of a line, `None` without one. A missing year is the one nearest `read_at`.

    `shape` (`digits.SHAPE`): that of the line, where it is all ASCII: lines of one shape are tried for few formats.
    """
    head = text[:_WITHIN]
    for form, pattern in _FORMATS if shape is None else _formats(shape[:_WITHIN]):
        found = pattern.search(head)
        if found is not None:
            wall = _iso(found["iso"], found["z"]) if form == "iso" else _wall(found.groupdict(), read_at)
            if wall is not None:
                return Stamp(wall, form)
    return None


@functools.lru_cache(maxsize=4096)
def _formats(shape: bytes) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The formats of which a line may hold a stamp that begins like this, digits aside."""
    head = shape.decode("ascii")
    return tuple(one for one, around in zip(_FORMATS, _AROUND, strict=True) if around.search(head) is not None)


class Zones:
    """What is known about the zones of the formats of one attempt: a fold over stamps, JSON as its state."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._offsets: dict[str, float] = {str(k): float(v) for k, v in dict(state.get("offsets", {})).items()}
        self._doubts: dict[str, list[Any]] = {str(k): list(v) for k, v in dict(state.get("doubts", {})).items()}

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return {"offsets": self._offsets, "doubts": self._doubts}

    def place(self, stamp: Stamp, read_at: datetime) -> datetime | None:
        """The stamp in UTC when it is plausible, else `None`."""
        if stamp.wall.tzinfo is not None:
            return _plausible(stamp.wall.astimezone(UTC), read_at)
        wall = stamp.wall.replace(tzinfo=UTC)
        lead = (wall - read_at).total_seconds()
        known = self._offsets.get(stamp.form)
        fresh = _fresh_offset(lead)
        if known is None or lead > known + AHEAD_SECONDS:
            if fresh is None:
                return None
            self._learn(stamp.form, fresh)
        elif fresh is None or fresh >= known:
            self._doubts.pop(stamp.form, None)
        elif self._agreed(stamp.form, fresh, read_at):
            self._learn(stamp.form, fresh)
        offset = self._offsets[stamp.form]
        return _plausible(wall - timedelta(seconds=offset) if offset else wall, read_at)

    def _learn(self, form: str, offset: float) -> None:
        self._offsets[form] = offset
        self._doubts.pop(form, None)

    def _agreed(self, form: str, offset: float, read_at: datetime) -> bool:
        """Whether reads at different times have shown this smaller offset often enough in a row."""
        doubt = self._doubts.get(form)
        if doubt is None or doubt[0] != offset:
            doubt = [offset, 0, ""]
        if doubt[2] != read_at.isoformat():
            doubt = [offset, doubt[1] + 1, read_at.isoformat()]
        self._doubts[form] = doubt
        return bool(doubt[1] >= WITNESSES)


def _fresh_offset(lead: float) -> float | None:
    """The zone, in seconds, under which a stamp `lead` seconds ahead of its reading was written just now."""
    offset = -((AHEAD_SECONDS - lead) // HALF_HOUR) * HALF_HOUR
    if offset - lead > LATEST_READ_SECONDS or abs(offset) > FARTHEST_ZONE_SECONDS:
        return None
    return offset


def _plausible(moment: datetime, read_at: datetime) -> datetime | None:
    return moment if -OLDEST <= moment - read_at <= _AHEAD else None


def _iso(text: str, zone: str | None) -> datetime | None:
    try:
        wall = datetime.fromisoformat(text)
    except ValueError:  # 30 February
        return None
    return wall if zone is None else _zoned(wall.replace(tzinfo=UTC), zone)


def _wall(part: Mapping[str, str | None], read_at: datetime) -> datetime | None:
    month = part.get("M") or _MONTHS.get(part.get("B") or "")
    year = part.get("Y") or part.get("Y2")
    if month is None:
        return None
    micro = int((part["f"] or "0")[:6].ljust(6, "0"))
    clock = (int(part["h"] or 0), int(part["m"] or 0), int(part["s"] or 0), micro)
    near = None if year else _moment(read_at.year, int(month), part, clock)
    if near is not None and abs(near - read_at) < _HALF_A_YEAR:
        return near.replace(tzinfo=None)  # other years are farther away
    years = [int(year)] if year else [read_at.year - 1, read_at.year, read_at.year + 1]
    moments = [made for one in years if (made := _moment(one, int(month), part, clock)) is not None]
    if not moments:
        return None
    nearest = moments[0] if len(moments) == 1 else min(moments, key=lambda moment: abs(moment - read_at))
    return nearest.replace(tzinfo=None)


def _moment(
    year: int, month: int, part: Mapping[str, str | None], clock: tuple[int, int, int, int]
) -> datetime | None:
    """`None` for 29 February of another year, or no date at all."""
    try:
        return datetime(year, month, int(part["D"] or 0), *clock, tzinfo=UTC)
    except ValueError:
        return None


def _zoned(moment: datetime, zone: str) -> datetime:
    """The moment that reads so in the zone that the line names."""
    if zone in ("Z", " UTC"):
        return moment
    digits = zone[1:].replace(":", "")
    away = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return moment - away if zone[0] == "+" else moment + away

"""Which stretch of a job's time is looked at? All of it, or what the address says: `?from=…&to=…` in UTC."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

EARLIEST, LATEST = datetime(1990, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
SHORTEST = timedelta(seconds=1)
TEXT_LIMIT = 40  # characters of one moment in an address


@dataclass(frozen=True)
class Window:
    """From `start` to `end`; none: as far as there is something, and with the clock while the job runs."""

    start: datetime | None = None
    end: datetime | None = None

    def __bool__(self) -> bool:
        return self.start is not None or self.end is not None

    @property
    def query(self) -> str:
        """As an address has it: `?from=…&to=…`, or nothing."""
        ends = (("from", self.start), ("to", self.end))
        told = [(name, f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}Z") for name, at in ends if at is not None]
        return f"?{urlencode(told, safe=':')}" if told else ""

    def holds(self, at: datetime) -> bool:
        """Whether a moment lies in it."""
        return (self.start is None or at >= self.start) and (self.end is None or at <= self.end)

    def meets(self, begun: datetime, over: datetime | None) -> bool:
        """Whether a stretch lies in it, wholly or in part; one without end goes on."""
        return (self.end is None or begun <= self.end) and (
            self.start is None or over is None or over >= self.start
        )


WHOLE = Window()


def around(start: datetime, end: datetime | None) -> Window:
    """From `start` to `end` in whole seconds, a little more rather than less."""
    first = start.replace(microsecond=0)
    if end is None:
        return Window(first)
    last = end.replace(microsecond=0) + timedelta(seconds=1)
    return Window(first, max(last, first + SHORTEST))


def read_window(asked: Mapping[str, str]) -> Window:
    """What an address asks for. What is no moment, and an end before its start, is as if it were not there."""
    start, end = _moment(asked.get("from", "")), _moment(asked.get("to", ""))
    if start is not None and end is not None and end - start < SHORTEST:
        return WHOLE
    return Window(start, end)


def _moment(text: str) -> datetime | None:
    if not text or len(text) > TEXT_LIMIT:
        return None
    try:
        at = datetime.fromisoformat(text.replace(" ", "+"))  # a plus in an address is a space
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    try:
        return at.astimezone(UTC) if EARLIEST <= at <= LATEST else None
    except OverflowError:
        return None

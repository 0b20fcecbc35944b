"""What is there to read of a log of an attempt, and which piece of it stands on the page?

A log is named by a short key of what the detectors call it, and looked up among what is stored of its attempt: no
path ever comes from an address.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from console.log_key import log_key
from console.log_lines import ROWS_SHOWN, SEARCH_LIMIT, Row, around, asked_for, rows_of, searched
from detectors.catalogue.cleaning import clean
from detectors.catalogue.locating import Places
from detectors.catalogue.records import Record
from detectors.excerpts import WHY_EVIDENCE
from detectors.log_windows import PIECE, LogWindow, read_window
from detectors.models import Excerpt, Feed, Observation
from detectors.storing import RANK_HOSTS
from workloads.attempt_logs import log_patterns_of
from workloads.log_paths import Hints, hints_of
from workloads.models import Attempt

LOGS_SHOWN = 1_000
OFFSET_DIGITS = 18
MAY_READ = "workloads.view_job_log"
NOT_YOURS = gettext_lazy(
    "Whole logs are for Operators and Administrators; you may read what was kept around the evidence. An "
    "administrator of this site grants more: the permission “Can read whole logs of jobs”, in the admin."
)


@dataclass(frozen=True)
class Log:
    """One log of an attempt: where it was read, and what was kept of it."""

    attempt: Attempt
    name: str
    feed: Feed | None = None
    copies: tuple[Excerpt, ...] = ()

    @property
    def key(self) -> str:
        """As in addresses."""
        return log_key(self.name)

    @property
    def read_up_to(self) -> int | None:
        """The byte up to which it was read."""
        offset = self.feed.position.get("offset") if self.feed else None
        return offset if isinstance(offset, int) else None


@dataclass(frozen=True)
class Place:
    """Which piece is asked for: around a byte, from one on, up to one, or the end. `copy`: in a stored copy."""

    at: int | None = None
    start: int | None = None
    end: int | None = None
    copy: int | None = None
    wanted: str = ""


@dataclass(frozen=True)
class Piece:
    """What the page shows. `older` and `newer`: where the pieces beside it end and begin; none: there are none."""

    rows: tuple[Row, ...] = ()
    trouble: str = ""
    copy: Excerpt | None = None
    moved_to: str = ""
    older: int | None = None
    newer: int | None = None
    end: int | None = None
    exact: bool = True
    missed: bool = False  # the byte that was asked for is not in it
    hits: tuple[Row, ...] = field(default=())


def logs_of(attempt: Attempt) -> list[Log]:
    """What is known of the logs of an attempt, in the order of their names. Two queries."""
    feeds = Feed.objects.filter(attempt=attempt).order_by("stream")[:LOGS_SHOWN]
    copies: dict[str, list[Excerpt]] = {}
    for copy in Excerpt.objects.filter(attempt=attempt).defer("text").order_by("stream", "offset"):
        copies.setdefault(copy.stream, []).append(copy)
    known: dict[str, Feed | None] = dict.fromkeys(copies)
    known.update({feed.stream: feed for feed in feeds})
    return [Log(attempt, name, feed, tuple(copies.get(name, ()))) for name, feed in sorted(known.items())]


def read_place(asked: Mapping[str, str]) -> Place:
    """From an address; what is no number is as if it were not there."""
    numbers = {name: _number(asked.get(name, "")) for name in ("at", "from", "before", "copy")}
    wanted = asked.get("q", "").replace("\0", "")[:SEARCH_LIMIT]
    return Place(numbers["at"], numbers["from"], numbers["before"], numbers["copy"], wanted)


def piece_of(log: Log, place: Place, now: datetime, *, whole: bool) -> Piece:
    """The log itself where it can be read, else the copy that holds the place; with who speaks in each line.

    Not `whole`: only what was kept of it.
    """
    trouble = ""
    if not whole:
        trouble = str(NOT_YOURS) if place.copy is None else ""
    elif place.copy is None and log.feed is not None:
        window = _window(log, log.feed, place, now)
        if not window.trouble:
            return _finished(log, _live(window, place), place)
        trouble = window.trouble
    elif place.copy is None:
        trouble = _("Where it was read is not known any more, so only what was kept of it can be shown.")
    copy = _chosen(log.copies, place)
    if copy is None:
        return Piece(trouble=trouble)
    return _finished(log, replace(_copied(copy, place), trouble=trouble), place)


def _window(log: Log, feed: Feed, place: Place, now: datetime) -> LogWindow:
    read = log.read_up_to or 0
    half = PIECE // 2
    if place.at is not None:
        return read_window(log.attempt, feed, min(place.at, read) - half, PIECE, now)
    if place.start is not None:
        return read_window(log.attempt, feed, place.start, PIECE, now)
    end = min(read, place.end) if place.end is not None else read
    return read_window(log.attempt, feed, end - PIECE, min(PIECE, end), now)


def _live(window: LogWindow, place: Place) -> Piece:
    rows = rows_of(window.content, window.start, window.shown_from, window.line)
    whole = window.shown_from == 0 or place.start is not None
    if len(rows) > 1 and rows[0].part and not whole:
        rows = rows[1:]  # the piece begins inside a line
    cut = window.content and window.start + len(window.content) < window.end and window.content[-1:] != b"\n"
    if len(rows) > 1 and cut and not rows[-1].part:
        rows = rows[:-1]  # and ends inside one
    shown = _shown(rows, place)
    if not shown:
        return Piece(end=window.end, moved_to=window.moved_to)
    older = shown[0].offset if shown[0].offset > 0 else None
    last = min(shown[-1].end, window.end)
    newer = last if last < window.end else None
    missed = place.at is not None and not any(row.asked for row in shown)
    return Piece(tuple(shown), "", None, window.moved_to, older, newer, window.end, missed=missed)


def _copied(copy: Excerpt, place: Place) -> Piece:
    content = copy.text.encode("utf-8", "surrogatepass")
    rows = rows_of(content, copy.offset, copy.offset, 1 if copy.offset == 0 else None, masked=True)
    if rows and copy.why == WHY_EVIDENCE:  # it begins where a line does
        rows[0] = replace(rows[0], part=False)
    shown = _shown(rows, place)
    if not shown:
        return Piece(copy=copy)
    older = shown[0].offset if shown[0] is not rows[0] and shown[0].offset > copy.offset else None
    newer = shown[-1].end if shown[-1].end < rows[-1].end else None
    missed = place.at is not None and not any(row.asked for row in shown)
    exact = "\N{REPLACEMENT CHARACTER}" not in copy.text
    return Piece(tuple(shown), copy=copy, older=older, newer=newer, end=rows[-1].end, exact=exact, missed=missed)


def _shown(rows: list[Row], place: Place) -> list[Row]:
    """At most `ROWS_SHOWN` of them, as the place asks."""
    if place.at is not None:
        here = asked_for(rows, place.at)
        if here is None:
            return rows[-ROWS_SHOWN:]
        first, last = around(rows, here)
        return [replace(row, asked=number == here) for number, row in enumerate(rows)][first:last]
    if place.start is not None:
        return [row for row in rows if row.end > place.start][:ROWS_SHOWN]
    if place.end is not None:
        return [row for row in rows if row.offset < place.end][-ROWS_SHOWN:]
    return rows[-ROWS_SHOWN:]


def _finished(log: Log, piece: Piece, place: Place) -> Piece:
    places = Places({"hosts": _rank_hosts(log.attempt)}, [str(node) for node in log.attempt.nodes])
    hints = _hints(log)
    rows = []
    for row in piece.rows:
        host, rank = ("", "") if row.part else _speaker(row, log, places, hints)
        rows.append(replace(row, host=host, rank=rank, pieces=searched(row.text, place.wanted)))
    hits = tuple(row for row in rows if row.found) if place.wanted else ()
    return replace(piece, rows=tuple(rows), hits=hits)


def _speaker(row: Row, log: Log, places: Places, hints: Hints) -> tuple[str, str]:
    cleaned = clean(row.text)
    record = Record(log.name, row.offset, row.text, log.attempt.first_seen_at, hints.host, hints.rank)
    speaker = places.speaker(cleaned.text, cleaned.said, record)
    return speaker.host or "", "" if speaker.rank is None else str(speaker.rank)


def _hints(log: Log) -> Hints:
    """What the name of the file tells, by the patterns of its job as they are now."""
    for pattern in log_patterns_of(log.attempt):
        found = hints_of(pattern, [log.name], log.attempt.nodes).get(log.name)
        if found is not None:
            return found
    return Hints()


def _rank_hosts(attempt: Attempt) -> dict[str, str]:
    value = Observation.objects.filter(attempt=attempt, topic=RANK_HOSTS).values_list("value", flat=True).first()
    if not isinstance(value, dict):
        return {}
    return {str(rank): str(host) for rank, host in value.items() if str(rank).isdigit()}


def _chosen(copies: Iterable[Excerpt], place: Place) -> Excerpt | None:
    """The copy that was asked for by its number, the one that holds the place, or the newest."""
    known = list(copies)
    if place.copy is not None:
        return next((copy for copy in known if copy.pk == place.copy), None)
    wanted = next((one for one in (place.at, place.start, place.end) if one is not None), None)
    before = [copy for copy in known if wanted is not None and copy.offset <= wanted]
    return max(before, key=lambda copy: copy.offset, default=known[-1] if known else None)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= OFFSET_DIGITS else None

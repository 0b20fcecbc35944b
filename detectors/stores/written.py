"""When was a line of a store written, by its own word? Only what a line begins with counts.

A store's stamp may be the moment at which a shipper read the line; what a line begins with is the moment at which
it was printed. A time further on in a line may be any: that of a plan, of another log, of an old checkpoint.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from detectors.catalogue import stamps
from detectors.catalogue.cleaning import clean
from detectors.catalogue.records import LINE_LIMIT
from detectors.stores.store import SECOND, Line

_LABEL = r"[\[(]?[A-Za-z_.\-]{0,63}\d[\w.\-]{0,63}(?:[\])]?[:|]|[\])]) {1,8}"  # host or rank: numbered
_LEVEL = r"\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL)\]?"
_STAMP = r"(?:20\d\d-|[EWIF][01]?\d|[01]\d/[0-3]\d/|\[?[A-Z][a-z]{2} )"
_BEGINS = re.compile(rf"(?:{_LABEL})?[\s\[(]{{0,8}}(?:{_LEVEL}[\s:\-\[(]{{0,8}})?(?={_STAMP})", re.ASCII)
_STAMP_LENGTH = 35  # `2026-11-29T10:00:00.000000000+00:00`


def written_at(line: Line, offsets: Mapping[str, float]) -> int | None:
    """Nanoseconds since 1970; `None` where the line begins with no stamp, or with one whose zone is not known.

    `offsets`: the zones, in seconds east of UTC, in which the writer is known to print each form of stamp.
    """
    cleaned = clean(line.text[:LINE_LIMIT].split("\n", 1)[0])
    if cleaned.said.at is not None:  # a container's runtime, at the moment of the writing
        return _ns(cleaned.said.at)
    begins = _BEGINS.match(cleaned.text)
    if begins is None:
        return None
    head = cleaned.text[: begins.end() + _STAMP_LENGTH]
    stamp = stamps.parse(head, datetime.fromtimestamp(line.ns / SECOND, UTC))
    if stamp is None:
        return None
    if stamp.wall.tzinfo is not None:
        return _ns(stamp.wall)
    if stamp.form not in offsets:
        return None
    return _ns(stamp.wall.replace(tzinfo=UTC) - timedelta(seconds=offsets[stamp.form]))


def _ns(moment: datetime) -> int:
    return int((moment - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(microseconds=1)) * 1000

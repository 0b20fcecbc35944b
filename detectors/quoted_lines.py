"""In which line of its file does a quote stand, and how far behind was the log? From what is stored.

A position in a log is an offset in bytes. Lines are counted where the stored copy of a file begins at its first
byte, as that of a log of up to 256 KiB does; of a longer one nobody knows them without reading all of it again, and
after a requeue it is gone.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Max

from detectors.models import Excerpt, Feed, Verdict


def line_numbers(verdict: Verdict) -> dict[tuple[str, int], int]:
    """Line numbers, from 1, by file and offset of the quotes of a verdict, as far as they are known."""
    quotes = list(_quotes(verdict))
    copies = Excerpt.objects.filter(attempt=verdict.attempt_id, offset=0, stream__in={file for file, *_ in quotes})
    whole: dict[str, bytes] = {}
    for copy in copies if quotes else ():
        content = copy.text.encode("utf-8", "surrogatepass")
        if len(content) > len(whole.get(copy.stream, b"")):
            whole[copy.stream] = content
    found = {}
    for file, offset, quote in quotes:
        content = whole.get(file, b"")
        # Text that had to be replaced when it was stored moves what follows: the quote itself tells.
        if quote and content.startswith(quote.encode("utf-8", "surrogatepass"), offset):
            found[file, offset] = content.count(b"\n", 0, offset) + 1
    return found


def log_lag_seconds(verdict: Verdict) -> float | None:
    """From the last time that anything new was read to the end of the attempt, of one that ran to its verdict.

    `None` where nothing was read, or what is known of the reading was forgotten.
    """
    attempt = verdict.attempt
    read_at: datetime | None = Feed.objects.filter(attempt=attempt).aggregate(at=Max("moved_at"))["at"]
    if read_at is None:
        return None
    ended_at = attempt.ended_at
    until = verdict.judged_at if ended_at is None else min(ended_at, verdict.judged_at)
    seconds: float = max(0.0, (until - read_at).total_seconds())
    return round(seconds, 3)


def _quotes(verdict: Verdict) -> Iterable[tuple[str, int, str]]:
    body: Any = verdict.body
    rows = body.get("evidence") if isinstance(body, Mapping) else None
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, Mapping) and isinstance(row.get("offset"), int) and row["offset"] >= 0:
            yield str(row.get("file")), row["offset"], str(row.get("quote") or "")

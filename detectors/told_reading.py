"""What is new of what a job told of itself? One more stream of the attempt, wherever its logs come from.

A job that told of itself and has no log that can be read is not blind once its own rhythm shows (`ENOUGH`
messages). Where a log was ever read, what is told adds to it and replaces nothing: when that log cannot be read any
more the attempt is blind, whatever it tells, as its silence between two messages proves nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from detectors.catalogue.texts import Lines, Text
from detectors.models import Feed
from detectors.sources.source import Asked, Found, Known, Portion, Position, Stream
from detectors.told_models import ToldLine

NAME = "told"
STREAM = Stream("told by the job")
ENOUGH = 20  # messages, as many as step lines of a log after which the own rhythm counts (catalogue.hang)
TOO_FEW = "the job has told too little of itself to go by"


@dataclass
class Told:
    """Stands for a source: the messages of one attempt that nobody has read yet, in their order."""

    attempt: int
    rows: Sequence[ToldLine] = ()
    name: str = field(default=NAME)

    def find(self, asked: Asked) -> Found:
        """Nothing: what is told is there by itself."""
        return Found((), ())

    def read(self, asked: Asked, stream: Stream, known: Known, budget: int, now: datetime) -> Portion:
        """The new messages. `budget` is no matter: few may wait, and they are short."""
        if not self.rows:
            return Portion(stream, None)
        last = self.rows[-1]
        position = {
            "offset": last.offset + len(last.text.encode()) + 1,
            "count": int(known.own.get("count", 0)) + len(self.rows),
        }
        texts = [Text(stream.name, row.offset, row.text.encode(), min(row.told_at, now)) for row in self.rows]
        taken = tuple(row.pk for row in self.rows)
        return Portion(stream, position, Lines(texts), written_at=last.told_at, taken=taken)

    def around(self, asked: Asked, stream: Stream, position: Position, start: int, end: int) -> bytes:
        """What was told between two places, as far as it is still there."""
        rows = ToldLine.objects.filter(attempt=self.attempt, offset__lt=end).order_by("-offset")
        pieces: list[bytes] = []
        for offset, text in rows.values_list("offset", "text").iterator():
            content = f"{text}\n".encode()
            if offset + len(content) <= start:
                break
            pieces.append(content[max(0, start - offset) : end - offset])
        return b"".join(reversed(pieces))


def told_portion(told: Told, feed: Feed | None, asked: Asked, now: datetime, *, other_logs: bool) -> Portion | None:
    """What was told since the turn before; `None` when the attempt never told anything.

    `other_logs`: a log of the attempt can be read, or could be once.
    """
    if feed is None and not told.rows:
        return None
    known = Known(feed.position if feed is not None else {})
    portion = told.read(asked, STREAM, known, 0, now)
    count = int((portion.position or known.own).get("count", 0))
    trouble = TOO_FEW if other_logs or count < ENOUGH else ""
    return Portion(
        portion.stream,
        portion.position,
        portion.records,
        written_at=portion.written_at,
        trouble=trouble,
        taken=portion.taken,
    )

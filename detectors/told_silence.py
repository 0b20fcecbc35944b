"""Does a silence rest on what the job told of itself, and since when did it tell nothing?"""

from collections.abc import Sequence
from datetime import datetime

from detectors.catalogue.hang import SIGNATURE
from detectors.catalogue.records import Outcome
from detectors.gathering import StreamNews
from detectors.told_reading import NAME, STREAM


def by_told_alone(readable: Sequence[StreamNews]) -> bool:
    """Whether nothing but the job's own messages can be read."""
    return bool(readable) and all(news.source.name == NAME for news in readable)


def was_told(outcome: Outcome) -> bool:
    """Whether the last step before the hang that was found came by a message."""
    return any(
        line.stream == STREAM.name
        for found in outcome.findings
        if found.signature == SIGNATURE
        for line in found.evidence
    )


def told_at(streams: Sequence[StreamNews]) -> datetime | None:
    """When the turn took a message last."""
    return next(
        (news.feed.moved_at for news in streams if news.source.name == NAME and news.feed is not None), None
    )

"""Whose hold is it? The mark that we put in front of a job's AdminComment, and how it is read back.

AdminComment survives a requeue and its owner cannot write it (decisions 11). A reason word never proves a hold
(decisions 12); the mark does, when its restart count is the job's. `until` is when the watchdog lets the job go.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

MARK = re.compile(r"rekindle/1 g=(\d{1,18}) r=(\d{1,9}) until=(\d{1,11})(?:\s+|$)", re.ASCII)
KEPT = re.compile(r"rekindle/1 kept r=(\d{1,9})(?:\s+|$)", re.ASCII)


MOST_FOREIGN = 8000  # bytes of foreign text that our mark is put in front of


@dataclass(frozen=True)
class Mark:
    """Our mark: generation of the advice, restart count of the held attempt, end of the hold."""

    generation: int
    restarts: int
    until: datetime

    def __str__(self) -> str:
        return f"rekindle/1 g={self.generation} r={self.restarts} until={int(self.until.timestamp())}"


@dataclass(frozen=True)
class AdminComment:
    """The parts of an AdminComment: our mark or an operator's wish to keep the job, and foreign text behind."""

    mark: Mark | None = None
    kept: int | None = None
    foreign: str = ""


def read_comment(text: str) -> AdminComment:
    """The parts of an AdminComment; text that does not begin with our mark is all foreign."""
    if found := MARK.match(text):
        try:
            until = datetime.fromtimestamp(int(found[3]), UTC)
        except (ValueError, OverflowError, OSError):
            return AdminComment(foreign=text)
        return AdminComment(mark=Mark(int(found[1]), int(found[2]), until), foreign=text[found.end() :].strip())
    if found := KEPT.match(text):
        return AdminComment(kept=int(found[1]), foreign=text[found.end() :].strip())
    return AdminComment(foreign=text.strip())


def with_mark(mark: Mark, foreign: str) -> str:
    """The AdminComment that holds the mark, foreign text behind it."""
    return f"{mark} {foreign}".rstrip()


def with_wish_to_keep(restarts: int, foreign: str) -> str:
    """The AdminComment that says: an operator keeps this attempt held, nobody of ours may release it."""
    return f"rekindle/1 kept r={restarts} {foreign}".rstrip()

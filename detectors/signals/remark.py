"""What is said at one point of a check?"""

from collections.abc import Iterable
from dataclasses import dataclass

from detectors.signals.grade import Grade

TEXT_LIMIT = 600  # characters of one sentence: paths and labels of others stand in it


@dataclass(frozen=True)
class Remark:
    """One point: what was seen, why it matters (to which detector), what to do. The last two may be empty."""

    point: str
    grade: Grade
    sentence: str
    matters: str = ""
    remedy: str = ""


def fine(point: str, sentence: str) -> Remark:
    """Nothing to do."""
    return Remark(point, Grade.FINE, shown(sentence))


def note(point: str, sentence: str, matters: str = "", remedy: str = "") -> Remark:
    """Worth knowing; nothing is wrong."""
    return Remark(point, Grade.NOTE, shown(sentence), matters, remedy)


def wrong(point: str, sentence: str, matters: str, remedy: str) -> Remark:
    """A detector does not get what it needs."""
    return Remark(point, Grade.WRONG, shown(sentence), matters, remedy)


def unknown(point: str, sentence: str, matters: str = "", remedy: str = "") -> Remark:
    """Could not be looked at."""
    return Remark(point, Grade.UNKNOWN, shown(sentence), matters, remedy)


def shown(text: str, limit: int = TEXT_LIMIT) -> str:
    """Text of others as one line without characters that act on a terminal or a page, cut to `limit`."""
    cut = text if len(text) <= limit else f"{text[: limit - 1]}…"
    return "".join(char if char.isprintable() else "\ufffd" for char in cut)


def few(texts: Iterable[str], limit: int = 5, length: int = 200) -> str:
    """`a, b and 3 more`."""
    every = [shown(text, length) for text in texts]
    rest = f" and {len(every) - limit} more" if len(every) > limit else ""
    return ", ".join(every[:limit]) + rest


def span(seconds: float) -> str:
    """`40 s`, `8 min 20 s`, `3 h 5 min`, `2 d 4 h`."""
    whole = int(abs(seconds))
    for large, unit, small, part in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= large:
            rest = whole % large // small
            return f"{whole // large} {unit}" + (f" {rest} {part}" if rest else "")
    return f"{whole} s"

"""What does a line tell about checkpoints and phases? (reference, 4.16 and 4.17)"""

import re
from dataclasses import dataclass

from detectors.catalogue.hits import Hit
from detectors.catalogue.numerals import whole

PAUSES = frozenset({"saving", "loading", "evaluating"})
"""Phases in which no step is expected: each has a limit of its own (trap 7)."""

_STEP_WORDS = ("i", "i2", "j", "k")
_PATH_WORDS = ("p", "p2", "q", "s", "tag")
_PLACES = ("p", "p2", "q", "s")  # words that hold a path, or the seconds of a save
PLACE_LIMIT = 512  # characters
_IN_PATH = re.compile(r"(?:iter(?:ation)?|step|ba|checkpoint|ckpt|batch)[_\-=/]?0*(\d{1,12})", re.ASCII)
_LAST_NUMBER = re.compile(r"/0*(\d{1,12})/?\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Moment:
    """`what` is one of `entries.MOMENTS`; step and place are the checkpoint's, as far as the line tells them."""

    what: str
    step: int | None = None
    place: str = ""


def moment_of(hit: Hit, text: str) -> Moment | None:
    """What a hit that is no step line tells, `None` when nothing follows from it."""
    for what, word in hit.signature.moments:
        if word in text:
            return Moment(what, _step(hit), _place(hit))
    return None


def _place(hit: Hit) -> str:
    for word in _PLACES:
        path = hit.words.get(word, "").strip("'\"`,;")
        if "/" in path:
            return path[:PLACE_LIMIT]
    return ""


def _step(hit: Hit) -> int | None:
    for word in _STEP_WORDS:
        if hit.words.get(word, "").isdecimal():
            return whole(hit.words[word])
    for word in _PATH_WORDS:
        path = hit.words.get(word, "")
        found = _IN_PATH.findall(path) or _LAST_NUMBER.findall(path)
        if found:
            return whole(found[-1])
    return None

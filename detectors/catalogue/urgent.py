"""May one of these lines be a symptom? Asked before anything is read in earnest, when there is too much to read."""

import re

from detectors.catalogue.catalogue import Catalogue
from detectors.catalogue.cleaning import clean, is_plain
from detectors.catalogue.linear import encoded
from detectors.catalogue.looking import MARKS, TRACEBACK
from detectors.catalogue.matching import Matcher, matcher
from detectors.catalogue.texts import text_of

LABEL_LIMIT = 64  # characters within which a host's label of a line ends
_NO_NUMBER = re.compile(rb"loss\b.{0,12}?[:=|' ]-?(?:nan|inf)\b", re.IGNORECASE)


def is_urgent(raw: bytes, known: Catalogue) -> bool:
    """Whether whole lines, newlines between them, may hold a symptom of the catalogue or a loss that is no number.

    What is no symptom may be called one; a symptom is missed only where it shows by other lines alone, as the last
    line of a traceback does. Steps, checkpoints and phases are not urgent.
    """
    asked = matcher(known)
    faults = _faults(known)
    at = 0
    while (found := asked.sieve.find(raw, at)) >= 0:
        start = raw.rfind(b"\n", at, found) + 1 or at
        end = raw.find(b"\n", found)
        end = end if end >= 0 else len(raw)
        if _may_be(raw[start:end], asked, faults):
            return True
        at = end + 1
    return False


def _may_be(line: bytes, asked: Matcher, faults: frozenset[int]) -> bool:
    """One line, as it stands there and without its wrapping and its label."""
    text = text_of(line)
    if not is_plain(text):
        cleaned = clean(text)
        if cleaned.partial:
            return True
        text = cleaned.text
    label = text.find(": ", 1, LABEL_LIMIT)
    for part in (text, text[label + 2 :]) if label > 0 else (text,):
        if not faults.isdisjoint(asked.candidates(encoded(part))):
            return True
    return _NO_NUMBER.search(line) is not None


def _faults(known: Catalogue) -> frozenset[int]:
    """The numbers of the matcher's patterns that are symptoms, and of the mark that begins a traceback."""
    found = _FAULTS.get(known.version)
    if found is None:
        _FAULTS.clear()  # versions come and go with a site's own signatures
        marks = [name for name, _pattern in MARKS]
        symptoms = frozenset(number for number, one in enumerate(known.signatures) if one.is_fault)
        found = _FAULTS[known.version] = symptoms | {len(known.signatures) + marks.index(TRACEBACK)}
    return found


_FAULTS: dict[str, frozenset[int]] = {}

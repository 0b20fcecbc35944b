"""How does one point of a check stand?"""

from schedulers.words import Word


class Grade(Word):
    """What was found at one point. UNKNOWN: it could not be looked at, so nobody knows."""

    FINE = "fine", "Fine", "success"
    NOTE = "note", "Note", "info"
    WRONG = "wrong", "Wrong", "danger"
    UNKNOWN = "unknown", "Cannot be looked at", "warning"

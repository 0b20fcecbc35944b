"""What became of an attempt, seen from one of its nodes?"""

from schedulers.words import Word


class Fate(Word):
    """How a node's part in an attempt ended."""

    UNHARMED = "unharmed", "Unharmed, or harmed by something else", "success"
    UNEXPLAINED = "unexplained", "Died there, nobody knows why", "warning"
    BLAMED = "blamed", "The node is blamed", "danger"

"""Does a job want Rekindle to act on it, in one word?"""

from schedulers.words import Word


class Wish(Word):
    """What a job's comment asks for."""

    ACTION = "action", "Asks for action", "success"
    PEACE = "peace", "Asks to be left alone", "secondary"
    NOTHING = "nothing", "Says nothing", "secondary"
    REFUSED = "refused", "Was not understood", "warning"

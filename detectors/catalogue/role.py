"""What does a signature prove?"""

from schedulers.words import Word


class Role(Word):
    """Role of a matched line in the search for the cause."""

    ROOT = "root", "A cause by itself", "danger"
    CANDIDATE = "candidate", "A cause when nothing stronger or earlier stands", "warning"
    SECONDARY = "secondary", "A victim's message, never a cause", "secondary"
    CONFIRM = "confirm", "Proves or refutes another one", "info"
    NONE = "-", "Tells something else than a fault", "secondary"

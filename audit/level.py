"""How much does an event matter?"""

from schedulers.words import Word


class Level(Word):
    """Level of an audit event."""

    DEBUG = "debug", "Debug", "secondary"
    INFO = "info", "Info", "info"
    WARNING = "warning", "Warning", "warning"
    ERROR = "error", "Error", "danger"

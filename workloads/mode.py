"""What may Rekindle do on a cluster?"""

from schedulers.words import Word


class Mode(Word):
    """Mode of a cluster. `observe` is accepted everywhere and stored as `monitor`."""

    MONITOR = "monitor", "Monitor: says what it would do", "info"
    APPROVE = "approve", "Approve: a person confirms each advice", "warning"
    ACTION = "action", "Action: advice is carried out", "danger"

    @classmethod
    def read(cls, text: str) -> "Mode":
        """The mode a text names; `ValueError` for anything else."""
        return cls.MONITOR if text == "observe" else cls(text)

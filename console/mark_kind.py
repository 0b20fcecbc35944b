"""What kinds of mark stand on a job's timeline, and which events become one?"""

from audit.event_type import EventType
from schedulers.words import Word


class MarkKind(Word):
    """Kind of a mark, what weighs most first; its letter and shape tell it apart without its colour."""

    TROUBLE = "trouble", "What went wrong", "danger"
    SYMPTOM = "symptom", "What was seen", "danger"
    ACTION = "action", "What was done", "warning"
    ADVICE = "advice", "What was advised", "info"
    VERDICT = "verdict", "What was concluded", "primary"
    OUTCOME = "outcome", "What came of it", "success"
    STATE = "state", "What the scheduler showed", "secondary"

    @property
    def letter(self) -> str:
        """The sign inside the mark."""
        return _LETTERS[self.value]


_LETTERS = {
    "trouble": "×",
    "symptom": "!",
    "action": "▸",
    "advice": "A",
    "verdict": "V",
    "outcome": "✓",
    "state": "S",
}

MARKED: dict[EventType, MarkKind] = {
    EventType.ATTEMPT_STATE: MarkKind.STATE,
    EventType.ANOMALY: MarkKind.SYMPTOM,
    EventType.BLIND: MarkKind.SYMPTOM,
    EventType.VERDICT: MarkKind.VERDICT,
    EventType.CORRECTION: MarkKind.VERDICT,
    EventType.ADVICE: MarkKind.ADVICE,
    EventType.NO_ADVICE: MarkKind.ADVICE,
    EventType.ACTION: MarkKind.ACTION,
    EventType.ALLOCATION_RESTARTED: MarkKind.OUTCOME,
    EventType.PROGRESS_RESUMED: MarkKind.OUTCOME,
    EventType.TRAINING_COMPLETED: MarkKind.OUTCOME,
    EventType.RECOVERY_FAILED: MarkKind.TROUBLE,
    EventType.OPT_IN_REFUSED: MarkKind.TROUBLE,
}
"""Events not listed here stand in the event list only."""

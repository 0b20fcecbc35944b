"""Which kinds of symptom are there?"""

from schedulers.words import Word


class AnomalyKind(Word):
    """Kind of one detected symptom (decisions 17)."""

    CRASH = "crash", "Crash", "danger"
    HANG = "hang", "Hang", "danger"
    STRAGGLER = "straggler", "Straggler", "warning"
    NAN = "nan", "Not a number", "warning"
    NO_CHECKPOINT = "no_checkpoint", "No checkpoint", "warning"
    EARLY_WARNING = "early_warning", "Early warning", "warning"
    IDLE = "idle", "Idle", "secondary"
    BLIND = "blind", "Blind", "secondary"


MAY_LEAD_TO_ADVICE_ON_A_LIVE_ATTEMPT = frozenset(
    {
        AnomalyKind.CRASH,
        AnomalyKind.HANG,
        AnomalyKind.STRAGGLER,
        AnomalyKind.NAN,
        AnomalyKind.NO_CHECKPOINT,
    }
)

JUDGED_ALIVE = frozenset(
    {AnomalyKind.HANG, AnomalyKind.STRAGGLER, AnomalyKind.NAN, AnomalyKind.NO_CHECKPOINT},
)
"""Kinds for which a live attempt is judged: what they tell is certain without an end that the scheduler shows."""

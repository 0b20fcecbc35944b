"""What does a verdict suggest?"""

from schedulers.words import Word


class VerdictAction(Word):
    """Suggestion of a verdict; the policy decides (decisions 17)."""

    RESTART = "restart", "Restart", "primary"
    RESTART_EXCLUDE = "restart_exclude", "Restart without the named nodes", "primary"
    STOP = "stop", "Stop", "danger"
    HOLD = "hold", "Wait", "warning"
    ASK = "ask", "Ask a person", "warning"
    NONE = "none", "Nothing to do", "secondary"

"""What became of a message?"""

from schedulers.words import Word


class DeliveryOutcome(Word):
    """Outcome of a message to a route."""

    WAITING = "waiting", "Not sent yet", "warning"
    SENT = "sent", "Sent", "success"
    FAILED = "failed", "Given up", "danger"
    SILENCED = "silenced", "Silenced", "secondary"

"""Of what are people told?"""

from schedulers.words import Word


class NotificationTopic(Word):
    """What a notification speaks of."""

    APPROVAL = "approval", "Somebody is asked", "warning"
    ACTION = "action", "Action taken", "info"
    STOP = "stop", "Stopped", "danger"
    BLIND = "blind", "Blind", "warning"
    INCIDENT = "incident", "Shared cause", "danger"
    FAILED = "failed", "Action failed", "danger"
    TEST = "test", "Test message", "secondary"


TOPICS = tuple(topic for topic in NotificationTopic if topic is not NotificationTopic.TEST)
"""Those that a route can be for."""

"""How does an incident stand, and which does the list show?"""

from schedulers.words import Word


class IncidentState(Word):
    """How an incident stands."""

    OPEN = "open", "Open", "danger"
    ACKNOWLEDGED = "acknowledged", "Acknowledged", "info"
    OVER = "over", "Over", "secondary"


class ShownIncidents(Word):
    """Which incidents the list shows."""

    OPEN = "open", "Open", "danger"
    NEW = "new", "Open, nobody is at it", "danger"
    ACKNOWLEDGED = "acknowledged", "Acknowledged", "info"
    SILENCED = "silenced", "Silenced", "secondary"
    OVER = "over", "Over", "secondary"
    EVERY = "every", "All", "secondary"

"""Who can do something?"""

from schedulers.words import Word


class ActorKind(Word):
    """Kind of the one who did it."""

    RULE = "rule", "A rule"
    PERSON = "person", "A person"
    TOKEN = "token", "An API token"  # a kind of actor, not a secret
    CONTROLLER = "controller", "The controller"
    WATCHDOG = "watchdog", "The watchdog"
    SCHEDULER = "scheduler", "The scheduler"
    DETECTOR = "detector", "A detector"

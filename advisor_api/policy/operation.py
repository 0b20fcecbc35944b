"""What should happen to an attempt?"""

from schedulers.words import Word


class Operation(Word):
    """Operation of an advice. WAIT is shown to people and never served to a controller."""

    RESTART = "restart", "Restart", "primary"
    TERMINATE = "terminate", "Stop", "danger"
    RELEASE = "release", "Release", "info"
    WAIT = "wait", "Ask a person", "warning"

    @property
    def on_the_wire(self) -> str:
        """The enum value of the public API."""
        return f"RECOVERY_OPERATION_{'DAG_RELEASE' if self is Operation.RELEASE else self.name}"

    @property
    def desired_state(self) -> str:
        """What the scheduler should show afterwards (decisions 23)."""
        return {"restart": "RUNNING_AGAIN", "terminate": "STOPPED", "release": "RELEASED", "wait": ""}[self.value]

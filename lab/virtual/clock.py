"""What time is it in the lab? One clock that only the lab moves, for the site and for every controller."""

from datetime import UTC, datetime


class VirtualClock:
    """`controller.clock.Clock`, and what stands in for `django.utils.timezone.now`. Epoch seconds."""

    stopping = False

    def __init__(self, start: float) -> None:
        self.seconds = start

    def now(self) -> datetime:
        """The virtual moment, aware UTC."""
        return datetime.fromtimestamp(self.seconds, UTC)

    def monotonic(self) -> float:
        """The same as seconds: a virtual clock never goes back."""
        return self.seconds

    def sleep(self, seconds: float) -> None:
        """Never: whoever moves the clock decides who is called when."""
        raise AssertionError("nobody sleeps in virtual time")

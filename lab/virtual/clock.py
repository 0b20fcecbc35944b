"""What time is it in the lab? One time that only the lab moves, and clocks that show it more or less rightly."""

from datetime import UTC, datetime


class VirtualClock:
    """`controller.clock.Clock`, and what stands in for `django.utils.timezone.now`. Epoch seconds.

    `seconds` is the true time; `ahead` says by how much this clock is wrong, and may change at any moment.
    """

    stopping = False

    def __init__(self, start: float) -> None:
        self.seconds = start
        self.ahead = 0.0

    def now(self) -> datetime:
        """The virtual moment as this clock shows it, aware UTC."""
        return datetime.fromtimestamp(self.seconds + self.ahead, UTC)

    def monotonic(self) -> float:
        """True seconds, which never go back."""
        return self.seconds

    def sleep(self, seconds: float) -> None:
        """Never: whoever moves the clock decides who is called when."""
        raise AssertionError("nobody sleeps in virtual time")


class OtherClock(VirtualClock):
    """The clock of another machine: the true time of the first one, and a mistake of its own."""

    def __init__(self, first: VirtualClock) -> None:
        self._first = first
        self.ahead = 0.0

    @property
    def seconds(self) -> float:  # type: ignore[override]
        """The true time."""
        return self._first.seconds

"""How does the controller hear of new advice at once? A thread of its own keeps a question waiting at the Advisor.

It only ever wakes the loop earlier: what is to be done is read by the loop itself, so nothing depends on it. Where
the Advisor does not hold the question, or cannot be reached, the loop asks each `poll_seconds` as without it.
"""

import random
import threading
import time
from collections.abc import Callable

from controller.client import Advisor, AdvisorError
from controller.clock import Clock

QUIET_SECONDS = 3.0  # without a change, after which the next one is the first again
HOLD_SECONDS = 25  # below the minute after which proxies give up
LIMIT_SECONDS = HOLD_SECONDS + 10.0
FIRST_BREATH, LONGEST_BREATH = 0.2, 1.0  # seconds after a change, doubled by each that follows at once
NOT_HELD_SECONDS = 30.0  # until a server that does not hold questions is asked again
FIRST_PATIENCE, LONGEST_PATIENCE = 1.0, 30.0  # seconds after an error, doubled each time


class Waiting:
    """Keeps a question waiting at an Advisor of its own, whose limit of a request is `LIMIT_SECONDS`.

    `woken(True)` is called when whatever changes will call `wake`, `woken(False)` when nothing does any more.
    """

    def __init__(
        self, advisor: Advisor, clock: Clock, *, wake: Callable[[], None], woken: Callable[[bool], None]
    ) -> None:
        self._advisor = advisor
        self._clock = clock
        self._wake = wake
        self._woken = woken
        self._seen = ""
        self._patience = FIRST_PATIENCE
        self._breath = FIRST_BREATH
        self._held = False

    def start(self) -> None:
        """Ask for ever, in a thread that keeps no process alive."""
        threading.Thread(target=self._run, name="waiting for advice", daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(self.ask())

    def ask(self) -> float:
        """One question; returns the seconds until the next one."""
        began, first = self._clock.monotonic(), not self._seen
        try:
            seen, changed = self._advisor.watch(self._seen, HOLD_SECONDS)
        except AdvisorError:
            self._patience = min(LONGEST_PATIENCE, self._patience * 2)
            self._hold(False)
            return self._patience * random.uniform(0.5, 1.0)  # noqa: S311  # many controllers must not come at once
        self._patience = FIRST_PATIENCE
        self._seen = seen
        if changed:
            self._wake()
            quiet = self._clock.monotonic() - began > QUIET_SECONDS
            self._breath = FIRST_BREATH if quiet else min(LONGEST_BREATH, self._breath * 2)
            return self._breath
        if not first and self._clock.monotonic() - began < HOLD_SECONDS / 2:
            self._hold(False)
            return NOT_HELD_SECONDS
        self._hold(True)
        return 0.0

    def _hold(self, held: bool) -> None:
        """Tell the loop whether it will be woken; if not, it must not sleep on."""
        if self._held == held:
            return
        self._held = held
        self._woken(held)
        if not held:
            self._wake()

"""How do the watchdog's acts reach the Advisor, when the watchdog must never wait for a network?

A process of its own hands them over, `python -m controller hand-over`, one at a time and for a bounded time.
While the Advisor is away it is tried again with growing pauses and some chance.
"""

import random
import subprocess
import sys

from controller.acts import Acts
from controller.clock import Clock
from controller.config import Settings
from controller.plain import Voice
from controller.starting import BadStart

FIRST_PAUSE, LONGEST_PAUSE = 5.0, 60.0  # seconds
MOST_SECONDS = 60.0  # one process
START_SECONDS = 15.0  # how long the start waits for an Advisor that hangs
BAD_TOKEN = 3


class Courier:
    """Starts the process when something waits, and looks after it. `turn` returns at once."""

    def __init__(self, settings: Settings, acts: Acts, clock: Clock, voice: Voice) -> None:
        self._command = [sys.executable, "-m", "controller", "hand-over", "--config", str(settings.path)]
        self._acts = acts
        self._clock = clock
        self._voice = voice
        self._process: subprocess.Popen[bytes] | None = None
        self._ends = 0.0
        self._due = 0.0
        self._pause = FIRST_PAUSE

    def check_token(self) -> None:
        """Hand over what waits, and raise `BadStart` when the Advisor says that it does not take our token."""
        try:
            done = subprocess.run(
                self._command, capture_output=True, stdin=subprocess.DEVNULL, timeout=START_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return
        if done.returncode == BAD_TOKEN:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise BadStart(said[-1].rstrip(".") if said else "the Advisor does not take the token")

    def turn(self) -> None:
        """Collect the process that ended, end the one that takes too long, start the next one when it is due."""
        now = self._clock.monotonic()
        if self._process is not None:
            if self._process.poll() is None:
                if now > self._ends:
                    self._process.kill()
                return
            self._pause = FIRST_PAUSE if self._process.returncode == 0 else min(LONGEST_PAUSE, self._pause * 2)
            self._process = None
            self._due = now + self._pause * random.SystemRandom().uniform(0.5, 1.0)
        if now < self._due or not self._acts.waiting:
            return
        try:
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL)
            self._ends = now + MOST_SECONDS
        except OSError as error:
            self._voice.once("courier", f"its acts cannot be handed over: {error.strerror}")
            self._due = now + LONGEST_PAUSE

    def close(self) -> None:
        """End the process, if one runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(5)
            self._process = None

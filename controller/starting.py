"""May it start at all? A clock that is off ends the start with one sentence, as a token does that nobody takes.

What cannot be asked is no reason: a scheduler that does not answer is asked for its clock again until it does, for
there is nothing to do without it; where the Advisor does not answer, nobody can say that the token has expired.
"""

import random
from datetime import timedelta

from controller.clock import Clock
from controller.plain import Voice
from schedulers.port import Scheduler, SchedulerError, Unreachable

FARTHEST = timedelta(minutes=1)  # holds, advice and leases are spans of minutes
LONGEST_WAIT = 30.0  # seconds between two questions to a scheduler that is away


class BadStart(Exception):
    """It must not start; the sentence says why."""


def check_clock(scheduler: Scheduler, clock: Clock, voice: Voice, *, wait: bool) -> None:
    """Return when this machine's clock agrees with the scheduler's; raises `BadStart` when it is off.

    A scheduler that does not answer is asked again until it does, if `wait`.
    """
    pause = 1.0
    while not clock.stopping:
        before = clock.now()
        try:
            said = scheduler.now()
        except Unreachable as error:
            voice.once("start", f"the scheduler cannot be seen, its clock is not known yet: {error.reason}")
            if not wait:
                return
            clock.sleep(pause * random.SystemRandom().uniform(0.5, 1.0))
            pause = min(LONGEST_WAIT, pause * 2)
            continue
        except SchedulerError as error:
            voice.once(
                "start", f"the scheduler does not tell its time, so the clocks are not compared: {error.reason}"
            )
            return
        after = clock.now()
        if before - FARTHEST <= said <= after + FARTHEST:
            return
        off = (before - said).total_seconds()
        raise BadStart(
            f"this machine's clock is {abs(off):.0f} s {'ahead of' if off > 0 else 'behind'} the scheduler's "
            f"({said:%Y-%m-%dT%H:%M:%SZ}), more than {FARTHEST.total_seconds():.0f} s: set it right first"
        )

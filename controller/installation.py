"""What does this installation allow, and does it leave enough time? Asked for once an hour."""

from datetime import timedelta

from controller.clock import Clock
from controller.plain import Voice
from schedulers.port import Limits, Scheduler, SchedulerError

ASK_AGAIN_AFTER = 3600.0  # seconds; sites change their configuration while we run
TRY_AGAIN_AFTER = 60.0  # seconds, while it does not answer
LEAST_JOB_AGE = 120  # seconds a finished job must stay known for an approval to make sense (decisions 13)


def too_little_time(limits: Limits) -> str:
    """What an operator is told of a MinJobAge that is too short; "" when it is not."""
    if limits.min_job_age >= LEAST_JOB_AGE:
        return ""
    return (
        f"finished jobs are forgotten after {limits.min_job_age} s (MinJobAge); "
        f"below {LEAST_JOB_AGE} s a decision or an approval may come too late to restart a failed job"
    )


class Installation:
    """The limits as last seen; without an answer everything here is unknown."""

    def __init__(self, scheduler: Scheduler, clock: Clock, voice: Voice) -> None:
        self._scheduler = scheduler
        self._clock = clock
        self._voice = voice
        self._ask_at = clock.monotonic()
        self._limits: Limits | None = None

    @property
    def requeue_wait(self) -> timedelta | None:
        """How long a requeued job waits before it may begin."""
        return None if self._limits is None else timedelta(seconds=self._limits.requeue_wait)

    def refresh(self) -> None:
        """Ask again when it is time, and tell what an operator should know."""
        if self._clock.monotonic() < self._ask_at:
            return
        try:
            self._limits = self._scheduler.limits()
        except SchedulerError:
            self._ask_at = self._clock.monotonic() + TRY_AGAIN_AFTER
            return
        self._ask_at = self._clock.monotonic() + ASK_AGAIN_AFTER
        short = too_little_time(self._limits)
        self._voice.once("MinJobAge", short and f"warning: {short}")

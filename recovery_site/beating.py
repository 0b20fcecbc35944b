"""What does the beat do when its clock is set back? It begins anew, as after a start.

Celery's scheduler keeps the moments of its next and last turns by the wall clock: set back by an hour, it starts
one task again and again and all others an hour later.
"""

import time
from typing import Any

from celery.beat import Scheduler

BACK_SECONDS = 1.0  # less than this is no step of the clock that anybody would notice


class Beat(Scheduler):  # type: ignore[misc]  # Celery has no types
    """The schedule, kept in memory: nothing in it needs to be remembered over a restart."""

    _ticked_at = 0.0

    def tick(self, *given: Any, **named: Any) -> float:
        """One turn; seconds until the next."""
        now = time.time()
        if now < self._ticked_at - BACK_SECONDS:
            self._begin_anew()
        self._ticked_at = now
        until_next: float = super().tick(*given, **named)
        return until_next

    def _begin_anew(self) -> None:
        """No turn was longer ago than now, and the order of the next ones is found again."""
        for entry in self.schedule.values():
            entry.last_run_at = entry.default_now()
        self._heap = None

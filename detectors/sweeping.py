"""What does one sweep over the due logs of a shard do: read them all, or glance at most and read some?

Every growing log is read once in a pause while that can be done. When the first in the queue is late, glances
decide which logs are read now (`detectors.glancing`), so that lateness is spread over all and no fault waits.
"""

from datetime import datetime, timedelta

from django.conf import settings

from detectors.claims import BATCH, EARLY, MOST, claim
from detectors.glancing import may_wait
from detectors.reading import Clock, read_attempts

LATE = 1.5  # pauses by which the first of a shard is late before others are only glanced at


def sweep(shard: int, now: datetime, clock: Clock | None = None) -> int:
    """Claim what is due in a shard and read it; how many attempts were looked at, 0 when none is due.

    `clock`: of the door, by which it is told when something was found.
    """
    pause = timedelta(seconds=settings.REKINDLE["REKINDLE_READ_SECONDS"])

    def is_late(since: datetime) -> bool:
        return now - since > LATE * pause

    claimed = claim(
        shard,
        settings.REKINDLE["REKINDLE_SHARDS"],
        now + EARLY * pause,
        now,
        lambda since: MOST if is_late(since) else BATCH,
    )
    if claimed is None:
        return 0
    due = claimed.due
    waiting = may_wait(due, now, pause) if due and is_late(min(due.values())) else set()
    if waiting:
        claimed.release(waiting, now + pause)
    turns = [key for key in due if key not in waiting]
    if left := turns[BATCH:]:  # more would take longer than a claim lasts: they are the first of the next sweep
        claimed.release(left, min(due[key] for key in left))
    if turns:
        read_attempts(claimed.attempts(turns[:BATCH]), now, clock=clock)
    return len(due)

"""Is a row of the listing the job that we know by this number, and is it a new attempt of it?

Job numbers come round again, and SubmitTime changes at every requeue: identity is cluster, number and epoch,
and the submit time belongs to the attempt (decisions 10).
"""

import enum
import uuid
from dataclasses import dataclass
from datetime import datetime

from schedulers.port import JobRow

HEIMDALL_NAMESPACE = uuid.UUID("6f1d9f0e-35a3-5b0a-9d3b-0f5d1d0c6f21")


class Identity(enum.Enum):
    """What a row is to the newest job stored under its number."""

    SAME_ATTEMPT = "same job, same attempt"
    NEW_ATTEMPT = "same job, new attempt"
    ANOTHER_JOB = "another job: the next epoch"


@dataclass(frozen=True)
class Known:
    """What is stored of a number's newest job and of that job's newest attempt.

    `listed`: whether the scheduler still had it in its listings when it was last asked. `waits`: the attempt has
    not begun yet.
    """

    user: str
    name: str
    index: int
    submitted_at: datetime | None
    listed: bool = True
    waits: bool = False


def identify(known: Known, row: JobRow) -> Identity:
    """Which of the three a row is; names in `row` are in the form in which they are stored.

    What either side does not know (a submit time, or the user and name of a job that a client reported before any
    listing showed it) proves nothing and counts as equal.
    """
    others = _differ(known.user, row.user) or _differ(known.name, row.name)
    if others or row.restarts < known.index:
        return Identity.ANOTHER_JOB
    then, at = known.submitted_at, row.submitted_at
    earlier = then is not None and at is not None and at < then
    later = then is not None and at is not None and at > then
    if row.restarts == known.index:
        # Observed: the restart count rises when the requeue begins, the submit time moves when the old attempt
        # has ended; so a later attempt's submit time may still move while it waits.
        settling = later and known.waits and known.index > 0
        return Identity.ANOTHER_JOB if earlier or (later and not settling) else Identity.SAME_ATTEMPT
    # A job that had left the listings does not come back with more restarts: whoever stands there now is in
    # doubt, and a doubt is a new epoch.
    return Identity.ANOTHER_JOB if earlier or not known.listed else Identity.NEW_ATTEMPT


def _differ(known: str, listed: str) -> bool:
    return bool(known) and known != listed


def heimdall_id(cluster: str, number: int, epoch: int, attempt: int) -> uuid.UUID:
    """The identity of one attempt for every client: UUIDv5 of cluster name, number, epoch and attempt index."""
    return uuid.uuid5(HEIMDALL_NAMESPACE, f"{cluster}/{number}/{epoch}/{attempt}")

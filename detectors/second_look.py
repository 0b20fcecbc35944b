"""When is an attempt judged once more, with what came late? Attribution section 8.2.

The fast verdict is made from what is stored when a cause is known. What arrives after it with a symptom of its own
(a line, a dump, an event) makes a verdict due at once. Late counters of ranks, the map of ranks, metrics and the
states of nodes bring no symptom: one last look takes them all in.
"""

from datetime import datetime, timedelta

from detectors.turned import NO_VERDICT
from schedulers.states import FINAL, JobState
from workloads.models import Attempt

LATEST = timedelta(seconds=60)  # after the end of an attempt, or after the first verdict on one that hangs


def next_look(attempt: Attempt, first: bool, now: datetime, since: datetime | None = None) -> datetime | None:
    """When an attempt that is judged at `now` is due again; `None` when nothing more is waited for.

    `first`: it is its first verdict, and one on a live attempt: the ranks that wait for others speak up to a minute
    later than the first one. `since`: when it was judged first, so that what comes earlier takes away no look.
    """
    state = JobState(attempt.state)
    if state in NO_VERDICT or state is JobState.REQUEUED:
        return None
    if state not in FINAL:
        if first:
            return now + LATEST
        return since + LATEST if since is not None and now < since + LATEST else None
    last = (attempt.ended_at or attempt.changed_at) + LATEST
    return last if now < last else None

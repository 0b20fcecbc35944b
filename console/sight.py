"""Does Rekindle see a cluster's scheduler?"""

from datetime import datetime, timedelta

from schedulers.words import Word
from workloads.models import Cluster

LATE_POLLS = 3  # polls that may be missed before nobody seems to look any more
LATE_GRACE = timedelta(seconds=15)  # a command's usual time and a busy worker


class Sight(Word):
    """What the console can say about its view of a scheduler."""

    SEES = "sees", "Sees the scheduler", "success"
    CANNOT_SEE = "cannot_see", "Cannot see the scheduler", "danger"
    LATE = "late", "Nobody is looking", "danger"
    NEVER = "never", "Not looked yet", "secondary"
    OFF = "off", "Not watched", "secondary"


def sight_of(cluster: Cluster, now: datetime) -> Sight:
    """The state of the view at `now`. LATE means that our own worker does not look, whatever the scheduler does."""
    if not cluster.enabled:
        return Sight.OFF
    if cluster.cannot_see_since is not None:
        return Sight.CANNOT_SEE
    if cluster.seen_at is None:
        return Sight.NEVER
    limit = timedelta(seconds=cluster.poll_seconds * LATE_POLLS) + LATE_GRACE
    return Sight.LATE if now - cluster.seen_at > limit else Sight.SEES

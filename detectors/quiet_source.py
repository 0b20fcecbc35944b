"""Did all jobs of a cluster fall silent at once? Then their lines do not arrive, and nobody can say that they hang.

A collector that stops, a file system that stalls: no file tells of it, and every job looks hung at the same moment
(traps 32 and 34, design rule 2). So before a bare silence is called a hang, the other running jobs are asked: if
none of those that wrote until then has written since, the silence is not this job's own.
"""

from datetime import datetime, timedelta

from django.db.models import Max

from detectors.catalogue.hang import SIGNATURE, SURE
from detectors.catalogue.records import Outcome
from detectors.models import Feed
from schedulers.states import JobState
from workloads.models import Attempt

TOGETHER = timedelta(seconds=60)
"""What holds lines back does not hold back all in the same second: whoever wrote last within this time before or
after the silence began (after it: within half the silence) fell silent with it."""


class Neighbours:
    """When the other jobs of a cluster wrote last: one query for each cluster, and only when there is a doubt."""

    def __init__(self) -> None:
        self._moved: dict[int, dict[int, datetime]] = {}

    def silent_with(self, attempt: Attempt, since: datetime | None, now: datetime) -> int:
        """How many others fell silent with this attempt, which wrote last at `since`; 0 when somebody wrote on."""
        if since is None:
            return 0
        moved = self._of(attempt.job.cluster_id)
        others = [at for key, at in moved.items() if key != attempt.pk]
        if any(at > since + min(TOGETHER, (now - since) / 2) for at in others):
            return 0
        return sum(at >= since - TOGETHER for at in others)

    def _of(self, cluster: int) -> dict[int, datetime]:
        if cluster not in self._moved:
            rows = Feed.objects.filter(cluster=cluster, attempt__state=JobState.RUNNING.value)
            last = rows.values_list("attempt_id").annotate(last=Max("moved_at"))
            self._moved[cluster] = {key: at for key, at in last if key is not None and at is not None}
        return self._moved[cluster]


def is_bare_silence(outcome: Outcome) -> bool:
    """Whether a hang was found for which nothing speaks but that no line came."""
    return any(found.signature == SIGNATURE and found.confidence < SURE for found in outcome.findings)


def reason(count: int, since: datetime) -> str:
    """The sentence for the operator."""
    jobs = "another running job" if count == 1 else f"{count} other running jobs"
    return (
        f"no lines arrive: {jobs} of the cluster fell silent with it at {since:%H:%M:%S} UTC, and none wrote since"
    )

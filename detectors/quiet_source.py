"""Did all jobs of a cluster fall silent at once? Then their lines do not arrive, and nobody can say that they hang.

A collector that stops, a file system that stalls: no file tells of it, and every job looks hung at the same moment
(traps 32 and 34, design rule 2). So before a bare silence is called a hang, the other running jobs are asked: if
none of those that wrote until then has written since, the silence is not this job's own.
"""

from bisect import bisect_left, bisect_right
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
    """When the jobs of a cluster wrote last: one query for each cluster, and only when there is a doubt.

    Sorted, so that a question costs no more when thousands fall silent together.
    """

    def __init__(self) -> None:
        self._moved: dict[int, tuple[list[datetime], frozenset[int]]] = {}

    def silent_with(self, attempt: Attempt, since: datetime | None, now: datetime) -> int:
        """How many others fell silent with this attempt, which wrote last at `since`; 0 when somebody wrote on."""
        if since is None:
            return 0
        moved, keys = self._of(attempt.job.cluster_id)
        if bisect_right(moved, since + min(TOGETHER, (now - since) / 2)) < len(moved):
            return 0
        silent = len(moved) - bisect_left(moved, since - TOGETHER)
        return silent - (attempt.pk in keys and silent > 0)

    def _of(self, cluster: int) -> tuple[list[datetime], frozenset[int]]:
        if cluster not in self._moved:
            rows = Feed.objects.filter(cluster=cluster, attempt__state=JobState.RUNNING.value)
            last = [(key, at) for key, at in rows.values_list("attempt_id").annotate(Max("moved_at")) if at and key]
            self._moved[cluster] = sorted(at for _key, at in last), frozenset(key for key, _at in last)
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

"""Did all jobs of a cluster fall silent at once? Then their lines do not arrive, and nobody can say that they hang.

A collector that stops, a file system that stalls: no file tells of it, and every job looks hung at the same moment
(traps 32 and 34, design rule 2). So before a bare silence is called a hang, the other jobs are asked: if none of
those that wrote until then has written since, or one that began since has no log file, the silence is not its own.

Where lines come through a log store, a job that is alone has no such witness, and its collector may have stopped:
then it takes any line of the cluster that was written since, of a node or of whomever. A file is read by ourselves:
that it was opened and held nothing new is a look of our own, and who is alone there is judged by its rhythm.
What a job tells of itself comes through the network and the site, so its silence needs such a witness, too.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate

from django.db.models import F, Max, Q

from detectors.catalogue.hang import SIGNATURE, SURE
from detectors.catalogue.records import Outcome
from detectors.models import Feed
from detectors.stores import STORES
from detectors.stores.seen import Cursor
from detectors.told_models import ToldLine
from schedulers.states import JobState
from workloads.models import Attempt

TOGETHER = timedelta(seconds=60)
"""What holds lines back does not hold back all in the same second: whoever wrote last within this time before or
after the silence began (after it: within half the silence) fell silent with it."""


ASKED_BACK = timedelta(hours=2)
"""Jobs that ended so long ago are asked as well: twice the longest silence that is allowed by default."""

FILE_SECONDS = timedelta(seconds=10)
"""Slurm opens the log of a job as it begins: where none is found after so long, files do not arrive."""


@dataclass(frozen=True)
class _Heard:
    """When the jobs of a cluster wrote last, sorted. `ends`: for each ended one, the latest end from there on."""

    running: list[datetime]
    keys: frozenset[int]
    ended: list[datetime]
    ends: list[datetime]


class Neighbours:
    """When the jobs of a cluster wrote last: one query for each cluster, and only when there is a doubt.

    Sorted, so that a question costs no more when thousands fall silent together.
    """

    def __init__(self) -> None:
        self._heard: dict[int, _Heard] = {}

    def silent_with(self, attempt: Attempt, since: datetime | None, now: datetime) -> int:
        """How many others fell silent with this attempt, which wrote last at `since`; 0 when somebody wrote on.

        One that has ended meanwhile counts when it ran on in silence before: that it is gone proves no hearing.
        """
        if since is None or self._wrote_on(attempt, since, now):
            return 0
        heard = self._of(attempt.job.cluster_id, now)
        later, before = since + min(TOGETHER, (now - since) / 2), since - TOGETHER
        silent = len(heard.running) - bisect_left(heard.running, before)
        silent -= attempt.pk in heard.keys and silent > 0
        place = bisect_left(heard.ended, before)
        return silent + (place < len(heard.ends) and heard.ends[place] >= later)

    def why_unheard(self, attempt: Attempt, since: datetime | None, now: datetime) -> str:
        """Why the silence of this attempt proves nothing; empty when it does."""
        if since is None:
            return ""
        if others := self.silent_with(attempt, since, now):
            jobs = "another job" if others == 1 else f"{others} other jobs"
            at = f"{since:%H:%M:%S} UTC"
            return f"no lines arrive: {jobs} of the cluster fell silent with it at {at}, and none wrote since"
        if not attempt.job.cluster.log_store and self._begun_without_a_log(attempt, since, now):
            return f"no lines arrive: a job of the cluster that began after {since:%H:%M:%S} UTC has no log file"
        if attempt.job.cluster.log_store and not self._anything(attempt, since, now):
            return (
                f"whether lines arrive is not known: the log store shows none of any job or node since"
                f" {since:%H:%M:%S} UTC"
            )
        return ""

    def why_untold(self, attempt: Attempt, since: datetime | None, now: datetime) -> str:
        """Why it proves nothing that the attempt told no more since `since`; empty when it does.

        The site may not be reached, or not take what is told: it takes a later message of any job of the cluster.
        """
        if since is None:
            return ""
        later = since + min(TOGETHER, (now - since) / 2)
        if ToldLine.objects.filter(told_at__gt=later, attempt__job__cluster=attempt.job.cluster_id).exists():
            return ""
        return (
            f"whether messages arrive is not known: no job of the cluster told anything since {since:%H:%M:%S} UTC"
        )

    def _begun_without_a_log(self, attempt: Attempt, since: datetime, now: datetime) -> bool:
        """Whether a job that began since has no log, while nobody wrote either: files do not come, or not to us."""
        if self._wrote_on(attempt, since, now):
            return False
        begun = Attempt.objects.filter(
            job__cluster=attempt.job.cluster_id,
            state=JobState.RUNNING.value,
            first_seen_at__gt=since,
            looked_at__gte=F("first_seen_at") + FILE_SECONDS,
        )
        return begun.exclude(feeds__moved_at__isnull=False).exists()

    def _wrote_on(self, attempt: Attempt, since: datetime, now: datetime) -> bool:
        heard = self._of(attempt.job.cluster_id, now)
        later = since + min(TOGETHER, (now - since) / 2)
        return any(bisect_right(moved, later) < len(moved) for moved in (heard.running, heard.ended))

    def _anything(self, attempt: Attempt, since: datetime, now: datetime) -> bool:
        """Whether any line of the cluster came later: of a job, or one that the store's cursors remember."""
        if self._wrote_on(attempt, since, now):
            return True
        later = since + min(TOGETHER, (now - since) / 2)
        stores = [store.name for store in STORES]
        rows = Feed.objects.filter(cluster=attempt.job.cluster_id, attempt=None, source__in=stores)
        cursors = (Cursor.read(position) for position in rows.values_list("position", flat=True))
        return any(one is not None and one.newest > later.timestamp() for one in cursors)

    def _of(self, cluster: int, now: datetime) -> _Heard:
        if cluster not in self._heard:
            running = Q(attempt__state=JobState.RUNNING.value)
            rows = Feed.objects.filter(running | Q(attempt__ended_at__gte=now - ASKED_BACK), cluster=cluster)
            columns = ("attempt_id", "attempt__state", "attempt__ended_at")
            last = [row for row in rows.values_list(*columns).annotate(Max("moved_at")) if row[0] and row[3]]
            alive = {key: at for key, state, _end, at in last if state == JobState.RUNNING.value}
            over = sorted((at, end) for key, _state, end, at in last if key not in alive and end is not None)
            ends = list(accumulate((end for _at, end in reversed(over)), max))[::-1]
            self._heard[cluster] = _Heard(sorted(alive.values()), frozenset(alive), [at for at, _end in over], ends)
        return self._heard[cluster]


def is_bare_silence(outcome: Outcome) -> bool:
    """Whether a hang was found for which nothing speaks but that no line came."""
    return any(found.signature == SIGNATURE and found.confidence < SURE for found in outcome.findings)

"""What has changed in the database since one looked, said as topics?

Ids and times are given before the commit, so a row can appear below one that was already seen. Every look
therefore goes back over a short window and remembers what it has seen in it.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Q

from audit.models import AuditEvent
from audit.trail import newest_id
from console.topics import OVERVIEW, SITE, cluster_topic, job_topic, numbers_in, topics_of_event
from workloads.models import Attempt, Cluster

WINDOW_IDS = 200  # how far below the highest id a row may still appear
WINDOW = timedelta(seconds=5)  # how long a change of an attempt may take from its time to its commit
DOUBT = timedelta(seconds=30)  # events younger than this may have been committed after a page was rendered
EVENTS_AT_MOST = 2000  # read in one look; more are found by the next one

_EVENT = ("id", "cluster", "job_number", "job_epoch", "type")


@dataclass(frozen=True)
class Look:
    """What one look found: the topics touched, and the highest event id seen."""

    topics: frozenset[str]
    last_id: int


@dataclass
class Watcher:
    """The memory of a tail. One per process; not for two threads at once.

    `missing` are the ids below `last_id`, within the window, whose rows did not exist yet: rolled back, or not
    committed yet.
    """

    last_id: int = 0
    missing: set[int] = field(default_factory=set)
    seen_attempts: dict[int, datetime] = field(default_factory=dict)
    seen_clusters: dict[int, datetime | None] = field(default_factory=dict)
    started: bool = False

    def look(self, wanted: frozenset[str], now: datetime) -> Look:
        """What is new since the last look; the first one remembers and reports nothing."""
        if not self.started:
            self._remember()
        topics = self._events() | self._clusters() | self._attempts(wanted, now)
        first, self.started = not self.started, True
        return Look(frozenset() if first else frozenset(topics), self.last_id)

    def _remember(self) -> None:
        self.last_id = newest_id()
        floor = max(0, self.last_id - WINDOW_IDS)
        there = set(AuditEvent.objects.filter(id__gt=floor).values_list("id", flat=True))
        self.missing = set(range(floor + 1, self.last_id)) - there

    def _events(self) -> set[str]:
        new = Q(id__gt=self.last_id) | Q(id__in=self.missing)
        topics: set[str] = set()
        for pk, *about in AuditEvent.objects.filter(new).order_by("id").values_list(*_EVENT)[:EVENTS_AT_MOST]:
            topics |= topics_of_event(*about)
            self.missing |= set(range(max(self.last_id + 1, pk - WINDOW_IDS), pk))
            self.missing.discard(pk)
            self.last_id = max(self.last_id, pk)
        self.missing = {pk for pk in self.missing if pk > self.last_id - WINDOW_IDS}
        return topics

    def _clusters(self) -> set[str]:
        topics: set[str] = set()
        for pk, name, changed_at in Cluster.objects.filter(changed_at__isnull=False).values_list(
            "pk", "name", "changed_at"
        ):
            if self.seen_clusters.get(pk) != changed_at:
                topics |= {OVERVIEW, cluster_topic(name)}
                self.seen_clusters[pk] = changed_at
        return topics

    def _attempts(self, wanted: frozenset[str], now: datetime) -> set[str]:
        topics = set()
        seen = {}
        for pk, changed_at, topic in _changed_attempts(wanted, now - WINDOW):
            if self.seen_attempts.get(pk) != changed_at:
                topics.add(topic)
            seen[pk] = changed_at
        self.seen_attempts = seen
        return topics


def catch_up(wanted: frozenset[str], since: int, now: datetime) -> Look:
    """Which of the wanted topics were touched after event `since`, or so lately that nobody may have told.

    A topic too many costs a fetch that is answered with 304; a topic too few would cost the truth.
    """
    late = Q(id__gt=since - WINDOW_IDS, at__gte=now - DOUBT)
    rows = AuditEvent.objects.filter(Q(id__gt=since) | late).order_by("-id").values_list(*_EVENT)[:EVENTS_AT_MOST]
    events = list(rows)
    last_id = max([since, *(event[0] for event in events)])
    if len(events) == EVENTS_AT_MOST:
        return Look(wanted | {SITE}, last_id)  # what is hidden was not among them
    topics: set[str] = set().union(*(topics_of_event(*about) for _, *about in events))
    topics |= {topic for _, _, topic in _changed_attempts(wanted, now - 2 * WINDOW)}
    for name in Cluster.objects.filter(changed_at__gte=now - 2 * WINDOW).values_list("name", flat=True):
        topics |= {OVERVIEW, cluster_topic(name)}
    return Look(wanted & topics, last_id)


def _changed_attempts(wanted: frozenset[str], since: datetime) -> list[tuple[int, datetime, str]]:
    """Attempts of the jobs that somebody looks at, changed at or after `since`: key, time, topic."""
    numbers = numbers_in(wanted)
    if not numbers:
        return []
    rows = Attempt.objects.filter(
        changed_at__gte=since,
        job__number__in={number for _, number, _ in numbers},
    ).values_list("pk", "changed_at", "job__cluster__name", "job__number", "job__epoch")
    topics = ((pk, at, job_topic(cluster, number, epoch)) for pk, at, cluster, number, epoch in rows)
    return [row for row in topics if row[2] in wanted]

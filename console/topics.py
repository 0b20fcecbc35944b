"""Of which topics does a change speak? A page subscribes to topics; a frame of the live feed names them."""

import re
from collections.abc import Collection, Iterable

from audit.event_type import EventType

OVERVIEW = "overview"
SITE = "site"
"""No topic of a page: the overview was touched by what speaks of no cluster."""
PROGRESS = frozenset({EventType.CHECKPOINT_SAVED.value, EventType.CHECKPOINT_LOADED.value})
"""What a job that trains says again and again: lists of events show it where it is asked for."""
QUIET = PROGRESS | {EventType.CLIENT.value, EventType.LEASE.value}
"""Many of these come per job and hour and change nothing that an overview shows: only the job's page hears them."""
GATES = frozenset({EventType.MODE_CHANGED.value, EventType.PAUSE.value, EventType.CONFIGURATION.value})
"""These may change whether advice on any job of the cluster may be acted on."""

_TOPIC = re.compile(
    r"overview|(?:cluster|gates):[a-z0-9][a-z0-9_.-]{0,63}|job:[a-z0-9][a-z0-9_.-]{0,63}/[0-9]{1,18}/[0-9]{1,10}"
)


def cluster_topic(name: str) -> str:
    """Everything that happens on a cluster."""
    return f"cluster:{name}"


def gates_topic(name: str) -> str:
    """What may be done on a cluster."""
    return f"gates:{name}"


def job_topic(cluster: str, number: int, epoch: int) -> str:
    """Everything that happens to one job."""
    return f"job:{cluster}/{number}/{epoch}"


def is_topic(text: str) -> bool:
    """Whether somebody may subscribe to this text."""
    return _TOPIC.fullmatch(text) is not None


def numbers_in(topics: frozenset[str]) -> frozenset[tuple[str, int, int]]:
    """Cluster, number and epoch of the job topics among `topics`."""
    jobs = (topic.removeprefix("job:").split("/") for topic in topics if topic.startswith("job:"))
    return frozenset((cluster, int(number), int(epoch)) for cluster, number, epoch in jobs)


def seen_of(topics: Iterable[str], hidden: Collection[str]) -> frozenset[str]:
    """The topics without those of hidden clusters; the overview stays unless these alone touched it."""
    found = frozenset(topics)
    if not hidden:
        return found
    seen = frozenset(topic for topic in found if _cluster_of(topic) not in hidden)
    of_clusters = {topic for topic in found if topic.startswith("cluster:")}
    theirs_alone = of_clusters and seen.isdisjoint({*of_clusters, SITE})
    return seen - {OVERVIEW} if theirs_alone else seen


def _cluster_of(topic: str) -> str:
    return topic.partition(":")[2].partition("/")[0]


def topics_of_event(cluster: str, job_number: int | None, job_epoch: int | None, event_type: str) -> frozenset[str]:
    """The topics that one audit event touches."""
    topics = set()
    if job_number is not None and job_epoch is not None:
        topics.add(job_topic(cluster, job_number, job_epoch))
    if event_type not in QUIET:
        topics.add(OVERVIEW)
        topics.add(cluster_topic(cluster) if cluster else SITE)
    if event_type in GATES and cluster:
        topics.add(gates_topic(cluster))
    return frozenset(topics)

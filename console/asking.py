"""What does a panel speak of, when is it stale, and which topics touch it?"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db.models import Max
from django.urls import reverse

from advisor_api.models import Pause
from audit.in_sight import hidden_now
from audit.models import AuditEvent
from audit.trail import newest_id
from console.job_wanted import Wanted
from console.job_window import WHOLE, Window
from console.topics import OVERVIEW, cluster_topic, gates_topic, job_topic
from schedulers.words import Word
from workloads.models import Attempt, Cluster, Job

CLOCK = timedelta(seconds=15)  # what changes by the clock alone (an expiry, an age) is at most this old
PAUSES_COMPARED = 20
LOOKED_THROUGH = 20_000
EVENTS_COMPARED = 100  # ids can be committed out of order: the highest one alone does not tell

_Made = TypeVar("_Made")


class Scope(Word):
    """What a panel speaks of."""

    SITE = "site", "All clusters"
    JOBS = "jobs", "A list of jobs"
    CLUSTER = "cluster", "One cluster"
    JOB = "job", "One job"
    NODE = "node", "One node"
    LIST = "list", "A list with filters in its address"


@dataclass(frozen=True)
class Asked:
    """What a panel is asked for. `may`: the permissions of the asking person that change what is shown.

    `standing`: of a cluster's nodes only those in this field (`advisor_api.node_standing`); empty: all.
    `node`: the name of a node of the cluster. `query`: the filters of a list as its address has them, bounded.
    `window`: the stretch of a job's time that is looked at. `made`: what panels of a page have in common (`once`).
    """

    now: datetime
    may: frozenset[str] = frozenset()
    cluster: Cluster | None = None
    job: Job | None = None
    wanted: Wanted = field(default_factory=Wanted)
    standing: str = ""
    node: str = ""
    query: str = ""
    window: Window = WHOLE
    made: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def once(self, name: str, make: Callable[[], _Made]) -> _Made:
        """What `make` gives, made for the first panel that asks for it by that name."""
        if name not in self.made:
            self.made[name] = make()
        made: _Made = self.made[name]
        return made

    @property
    def the_cluster(self) -> Cluster:
        """The cluster; only for panels of scope CLUSTER, NODE or JOB."""
        if self.cluster is None:
            raise LookupError("a panel of this scope speaks of no cluster")
        return self.cluster

    @property
    def page(self) -> str:
        """The address of the job's page; only for panels of scope JOB."""
        return reverse("job", args=[self.the_cluster.name, self.the_job.number, self.the_job.epoch])

    @property
    def the_job(self) -> Job:
        """The job; only for panels of scope JOB."""
        if self.job is None:
            raise LookupError("a panel of this scope speaks of no job")
        return self.job


def key_of(scope: Scope, asked: Asked) -> str:
    """What tells apart two panels of one name."""
    if scope is Scope.JOB:
        return _topic_of_job(asked) + asked.window.query
    if scope is Scope.CLUSTER:
        return f"{cluster_topic(asked.the_cluster.name)} {asked.standing}".rstrip()
    if scope is Scope.NODE:
        return f"{cluster_topic(asked.the_cluster.name)} node {asked.node}"
    if scope is Scope.LIST:
        return asked.query
    return asked.wanted.address(after=asked.wanted.after) if scope is Scope.JOBS else ""


def topics_of(scope: Scope, asked: Asked) -> tuple[str, ...]:
    """The topics whose frames make a panel fetch itself again."""
    if scope is Scope.JOB:
        return _topic_of_job(asked), gates_topic(asked.the_cluster.name)
    return (cluster_topic(asked.the_cluster.name),) if scope in {Scope.CLUSTER, Scope.NODE} else (OVERVIEW,)


def _topic_of_job(asked: Asked) -> str:
    return job_topic(asked.the_cluster.name, asked.the_job.number, asked.the_job.epoch)


def version_of(scope: Scope, asked: Asked) -> str:
    """Changes whenever a panel of this scope may look different. Two or three queries by index."""
    parts = [int(asked.now.timestamp() // CLOCK.total_seconds()), *_VERSIONS[scope](asked)]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _site_version(asked: Asked) -> list[Any]:
    clusters = Cluster.objects.values_list("pk", "changed_at", "seen_at", "mode_version")
    return [_newest_ids(), list(clusters), _pauses()]


def _cluster_version(asked: Asked) -> list[Any]:
    cluster = asked.the_cluster
    gates = [cluster.pk, cluster.changed_at, cluster.seen_at, cluster.mode_version, _pauses(cluster=cluster)]
    return [_newest_ids(cluster=cluster.name), gates]


def _job_version(asked: Asked) -> list[Any]:
    cluster, job = asked.the_cluster, asked.the_job
    ids = _newest_ids(cluster=cluster.name, job_number=job.number, job_epoch=job.epoch)
    changed = Attempt.objects.filter(job=job).aggregate(last=Max("changed_at"))["last"]
    return [job.pk, ids, changed, job.live, cluster.mode_version, _pauses(cluster=cluster)]


def _newest_ids(**about: Any) -> list[int]:
    """Where clusters are hidden, only the newest events of all are looked through: older ones are no change."""
    if hidden_now():
        about["id__gt"] = newest_id() - LOOKED_THROUGH
    rows = AuditEvent.objects.filter(**about).order_by("-id")
    return list(rows.values_list("id", flat=True)[:EVENTS_COMPARED])


def _pauses(**about: Any) -> list[tuple[int, datetime]]:
    return list(Pause.objects.filter(**about).order_by("-id").values_list("id", "until")[:PAUSES_COMPARED])


_VERSIONS: dict[Scope, Callable[[Asked], list[Any]]] = {
    Scope.SITE: _site_version,
    Scope.JOBS: _site_version,
    Scope.CLUSTER: _cluster_version,
    Scope.JOB: _job_version,
    Scope.NODE: _cluster_version,
    Scope.LIST: _site_version,
}

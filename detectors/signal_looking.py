"""Does a cluster give the detectors what they need? One look: nothing is stored, no cursor moves.

The scheduler is asked for its clock, each running job's log or the log store for a bounded sample, and what the
detectors have learnt is taken from their memories. What all that means is judged by `detectors.signals`.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from detectors.catalogue.records import Context
from detectors.gathering import News, Stored, ask, load
from detectors.metrics_looking import metrics_shown
from detectors.sight import Sight
from detectors.signal_bounds import ATTEMPTS, SECONDS, Bounds, Clock, Look
from detectors.signal_files import file_facts
from detectors.signal_keeping import key_of, looks
from detectors.signal_stored_jobs import stored_job_facts
from detectors.signal_stores import AskedStore, StoreSample, store_sample
from detectors.signals.cluster_rules import judge_source
from detectors.signals.facts import ClusterFacts, JobFacts, MetricFacts, SchedulerFacts
from detectors.signals.mapping import RANKS, Known
from detectors.signals.remark import Remark
from detectors.signals.report import Report, judge
from detectors.site_catalogues import site_catalogues
from detectors.store_asking import Ask, asking, place_of
from detectors.store_gathering import names_of
from detectors.turned import context_of
from schedulers.port import SchedulerError
from schedulers.states import FINAL, LIVE, JobState
from workloads.limits import effective_limits
from workloads.models import Attempt, Cluster, Job, Node
from workloads.pushes import PUSH
from workloads.scheduler_ways import scheduler_of

JOBS_KNOWN = 5_000  # newest ones, by whose numbers labels are recognised
NODES_KNOWN = 65_536


class NoSuchJob(LookupError):
    """The cluster has no job of this number, or no attempt of it is known."""


@dataclass(frozen=True)
class Wanted:
    """What is to be looked at: one job's newest attempt, or the newest running attempts."""

    job: int | None = None
    attempts: int = ATTEMPTS


def kept_report(cluster: Cluster, wanted: Wanted, now: datetime, clock: Clock) -> Report:
    """The same for many who ask: at most a few seconds old. Raises `NoSuchJob`, `Busy`."""
    key = key_of(cluster, wanted.job, wanted.attempts)
    return looks.get(key, clock, lambda: look_at_signals(cluster, wanted, now, clock))


def look_at_source(cluster: Cluster, now: datetime, clock: Clock) -> list[Remark]:
    """The remarks on the source alone: log roots, or the log store and its labels."""
    attempts, _left_out = _attempts(cluster, Wanted())
    sample = _store(cluster, attempts, Look(now, Bounds.begin(clock), Stored()), None)
    facts = ClusterFacts(
        name=cluster.name,
        now=now,
        scheduler=SchedulerFacts(),
        limits=effective_limits(cluster.detector_limits),
        rooted=bool(cluster.log_roots),
        roots=_roots(cluster),
        store=sample.facts if sample else None,
    )
    return judge_source(facts)


def look_at_signals(
    cluster: Cluster, wanted: Wanted, now: datetime, clock: Clock, ask_store: Ask | None = None
) -> Report:
    """The report on a cluster's sources. Raises `NoSuchJob`."""
    attempts, left_out = _attempts(cluster, wanted)
    scheduler = _scheduler(cluster, now, clock)
    bounds = Bounds.begin(clock)  # a scheduler that does not answer has a time limit of its own
    limits = effective_limits(cluster.detector_limits)
    look = Look(now, bounds, load(attempts))
    sample = _store(cluster, attempts, look, ask_store)
    jobs = tuple(_job(attempt, limits, sample, look) for attempt in attempts)
    facts = ClusterFacts(
        name=cluster.name,
        now=now,
        scheduler=scheduler,
        limits=limits,
        jobs=jobs,
        left_out=left_out,
        rooted=bool(cluster.log_roots),
        roots=_roots(cluster),
        store=sample.facts if sample else None,
        metrics=_metrics(cluster, bounds),
    )
    return judge(facts)


def _attempts(cluster: Cluster, wanted: Wanted) -> tuple[list[Attempt], int]:
    rows = Attempt.objects.select_related("job__cluster").filter(job__cluster=cluster)
    if wanted.job is not None:
        newest = rows.filter(job__number=wanted.job).order_by("-job__epoch", "-index").first()
        if newest is None:
            raise NoSuchJob(f"{cluster.name} has no job {wanted.job}.")
        return [newest], 0
    live = rows.filter(state__in=[state.value for state in LIVE], job__live=True, started_at__isnull=False)
    some = list(live.order_by("-started_at", "-pk")[: wanted.attempts])
    return some, max(0, live.count() - len(some))


def _scheduler(cluster: Cluster, now: datetime, clock: Clock) -> SchedulerFacts:
    """Whether the scheduler answers, and how its clock stands to ours (one command)."""
    unseen = cluster.cannot_see_reason if cluster.cannot_see_since else ""
    if cluster.scheduler_transport == PUSH:
        told, seen = cluster.pushed_clock_at, cluster.seen_at
        return SchedulerFacts("", (told - seen).total_seconds() if told and seen else None, seen, unseen)
    seconds, begun = min(settings.REKINDLE["REKINDLE_COMMAND_SECONDS"], SECONDS), clock()
    try:
        said = scheduler_of(cluster, seconds).now()
    except (SchedulerError, ValueError) as error:
        return SchedulerFacts(str(error), None, cluster.seen_at, unseen)
    ahead = (said - now).total_seconds() - (clock() - begun)
    return SchedulerFacts("", ahead, cluster.seen_at, unseen)


def _roots(cluster: Cluster) -> tuple[tuple[str, str], ...]:
    """Log roots that cannot be read here, each with the reason."""
    return tuple(
        (root, "cannot be read by this user" if os.path.isdir(root) else "is no folder here")
        for root in cluster.log_roots
        if not os.access(root, os.R_OK | os.X_OK)
    )


def _store(cluster: Cluster, attempts: Sequence[Attempt], look: Look, ask_store: Ask | None) -> StoreSample | None:
    if not cluster.log_store:
        return None
    known = _known(cluster, attempts)
    asked = AskedStore(cluster.name, place_of(cluster), ask_store or asking(cluster))
    return store_sample(asked, known, look.bounds, look.now)


def _metrics(cluster: Cluster, bounds: Bounds) -> MetricFacts | None:
    if not cluster.metrics_address:
        return None
    if bounds.up:
        return MetricFacts("The time of this look was used up before the metrics.", answered=False, whole=False)
    seen = metrics_shown(cluster)
    return MetricFacts(seen.sentence, seen.answered, seen.whole)


def _known(cluster: Cluster, attempts: Sequence[Attempt]) -> Known:
    """The numbers and nodes by which labels are recognised. Two queries."""
    jobs = Job.objects.filter(cluster=cluster).order_by("-pk")
    numbers = jobs.values_list("number", "array_job", "array_task")[:JOBS_KNOWN]
    nodes = Node.objects.filter(cluster=cluster).values_list("name", flat=True)[:NODES_KNOWN]
    running = [attempt for attempt in attempts if JobState(attempt.state) not in FINAL]
    return Known(
        running=frozenset(str(attempt.job.number) for attempt in running),
        jobs=frozenset(name for row in numbers for name in names_of(*row)),
        nodes=frozenset(nodes) | frozenset(node for attempt in attempts for node in attempt.nodes),
        ranks=RANKS * max((len(attempt.nodes) or attempt.job.node_count for attempt in attempts), default=1),
        restarts={str(attempt.job.number): str(attempt.index) for attempt in running},
    )


def _job(attempt: Attempt, limits: Mapping[str, float], sample: StoreSample | None, look: Look) -> JobFacts:
    context = _context(attempt, limits, look)
    if sample is None:
        return file_facts(attempt, context, look)
    return stored_job_facts(attempt, context, sample, place_of(attempt.job.cluster), look)


def _context(attempt: Attempt, limits: Mapping[str, float], look: Look) -> Context:
    news = News(attempt, ask(attempt, look.stored), look.stored.watches[attempt.pk])
    known = site_catalogues().of(attempt.job.cluster_id)
    return context_of(news, Sight("", changed=False), limits, known, look.now)

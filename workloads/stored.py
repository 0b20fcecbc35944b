"""What do we know of a cluster's jobs before a new listing is laid beside it?"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from workloads.models import Attempt, Cluster, Job

IN_LIMIT = 10_000  # numbers in one IN (…): SQLite takes at most 32,766 parameters


@dataclass
class Stored:
    """The newest epoch of each number, and the newest attempt of each of those jobs by the job's key."""

    jobs: dict[int, Job] = field(default_factory=dict)
    attempts: dict[int, Attempt] = field(default_factory=dict)

    def live(self) -> Iterator[Job]:
        """The jobs that the scheduler still listed when it was last asked."""
        return (job for job in self.jobs.values() if job.live)

    def newest(self, number: int) -> tuple[Job, Attempt] | None:
        """The newest job under a number with its newest attempt."""
        job = self.jobs.get(number)
        attempt = self.attempts.get(job.pk) if job else None
        return (job, attempt) if job and attempt else None


def load_live(cluster: Cluster) -> Stored:
    """Every job still listed, in two queries whatever their number."""
    stored = Stored()
    for job in Job.objects.filter(cluster=cluster, live=True).order_by("epoch"):
        _keep(stored, cluster, job)
    for attempt in Attempt.objects.filter(job__cluster=cluster, job__live=True).order_by("index"):
        stored.attempts[attempt.job_id] = attempt
    return _joined(stored)


def load_numbers(cluster: Cluster, stored: Stored, numbers: Iterable[int]) -> Stored:
    """Add what is known of numbers that are not live: two queries for each 10,000 of them, none without any."""
    missing = sorted(set(numbers) - stored.jobs.keys())
    for start in range(0, len(missing), IN_LIMIT):
        some = missing[start : start + IN_LIMIT]
        found = Job.objects.filter(cluster=cluster, number__in=some).order_by("epoch")
        keys = [_keep(stored, cluster, job) for job in found]
        for attempt in Attempt.objects.filter(job__in=keys).order_by("index") if keys else ():
            stored.attempts[attempt.job_id] = attempt
    return _joined(stored)


def _keep(stored: Stored, cluster: Cluster, job: Job) -> int:
    job.cluster = cluster
    stored.jobs[job.number] = job
    return int(job.pk)


def _joined(stored: Stored) -> Stored:
    for job in stored.jobs.values():
        if job.pk in stored.attempts:
            stored.attempts[job.pk].job = job
    return stored

"""What does one observation change, gathered first and written in a few statements?"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from audit.trail import Entry
from schedulers.states import FINAL, JobState
from workloads.models import Attempt, Cluster, Job
from workloads.phase import Phase
from workloads.stored import IN_LIMIT

BATCH = 500  # rows in one statement, where the database takes as many


@dataclass
class Changes:
    """Everything to be written, in memory. Only fields that this room alone writes are in the bulk updates."""

    new_jobs: list[Job] = field(default_factory=list)
    new_attempts: list[Attempt] = field(default_factory=list)
    jobs: dict[int, Job] = field(default_factory=dict)
    job_fields: set[str] = field(default_factory=set)
    attempts: dict[int, Attempt] = field(default_factory=dict)
    attempt_fields: set[str] = field(default_factory=set)
    unread: dict[int, Attempt] = field(default_factory=dict)
    unjudged: set[int] = field(default_factory=set)
    entries: list[Entry] = field(default_factory=list)

    def job(self, job: Job, fields: set[str]) -> None:
        """A stored job changed in these fields."""
        if fields:
            self.jobs[job.pk] = job
            self.job_fields |= fields

    def attempt(self, attempt: Attempt, fields: set[str], now: datetime) -> None:
        """A stored attempt changed in these fields."""
        if fields:
            attempt.changed_at = now
            self.attempts[attempt.pk] = attempt
            self.attempt_fields |= fields | {"changed_at"}

    def read(self, attempt: Attempt) -> None:
        """A stored attempt's log is to be read at once."""
        self.unread[attempt.pk] = attempt

    def judge(self, attempt: Attempt) -> None:
        """What the scheduler says of a stored attempt is a symptom by itself, or is one no more."""
        self.unjudged.add(attempt.pk)

    def save(self, cluster: Cluster, now: datetime) -> None:
        """Write it all, inside the caller's transaction. The entries are the caller's."""
        self._tell_jobs()
        if self.new_jobs:
            Job.objects.bulk_create(self.new_jobs, BATCH)
            _give_keys(cluster, self.new_jobs)
        if self.new_attempts:
            Attempt.objects.bulk_create(self.new_attempts, BATCH)
        if self.jobs:
            Job.objects.bulk_update(self.jobs.values(), sorted(self.job_fields), BATCH)
        if self.attempts:
            Attempt.objects.bulk_update(self.attempts.values(), sorted(self.attempt_fields), BATCH)
        # The due times and `phase` belong to the detectors too: touched only where they must change.
        for some in _some(self.unread):
            Attempt.objects.filter(pk__in=some).update(read_due_at=now)
        for some in _some(self.unjudged):
            Attempt.objects.filter(pk__in=some).update(judge_due_at=now)
        for some in _some(pk for pk, attempt in self.attempts.items() if JobState(attempt.state) in FINAL):
            Attempt.objects.filter(pk__in=some).update(phase=Phase.ENDED.value)

    def _tell_jobs(self) -> None:
        """A job repeats the state of its newest attempt: what changed of an older one tells it nothing."""
        for attempt in (*self.attempts.values(), *self.new_attempts):
            job = attempt.job
            if attempt.index < job.newest_index or (attempt.index, attempt.state) == newest_of(job):
                continue
            job.newest_index, job.newest_state = attempt.index, attempt.state
            if job.pk:
                self.job(job, {"newest_index", "newest_state"})


def newest_of(job: Job) -> tuple[int, str]:
    """Index and state of its newest attempt, as the job repeats them."""
    return job.newest_index, job.newest_state


def _give_keys(cluster: Cluster, jobs: list[Job]) -> None:
    """MySQL does not tell the keys of rows that were inserted together."""
    if all(job.pk for job in jobs):
        return
    found = Job.objects.filter(cluster=cluster, live=True).values_list("number", "epoch", "pk")
    keys = {(number, epoch): pk for number, epoch, pk in found}
    for job in jobs:
        job.pk = keys[job.number, job.epoch]


def _some(keys: Iterable[int]) -> Iterable[list[int]]:
    every = list(keys)
    return (every[start : start + IN_LIMIT] for start in range(0, len(every), IN_LIMIT))

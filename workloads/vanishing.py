"""What became of a job that the listings no longer show?

An empty or short listing from a scheduler that just started is no proof (trap 4): a job counts as vanished when
two good listings, at least one poll apart, miss it. Then the accounting is asked; without one it is GONE, never
failed (decisions 14).
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from schedulers.port import AccountedAttempt, NoAccounting, NotTold, Reading, SchedulerError
from schedulers.states import FINAL, JobState
from workloads import said
from workloads.attempt_states import vanished
from workloads.changes import Changes
from workloads.models import Attempt, Cluster, Job
from workloads.stored import Stored

LISTINGS = 2
SHORTEST_POLL = 0.8  # of the cluster's poll: the jitter is 20 %
ACCOUNTING_LAG = timedelta(seconds=10)  # the record of an end may come that late (observed)
ASKED_PER_TURN = 25  # at most 5 single questions a second are allowed; a turn comes every few seconds
PATIENCE = timedelta(hours=1)  # how long an accounting that does not answer is asked again


def lay_aside(
    stored: Stored,
    scheduler: Reading,
    *,
    cluster: Cluster,
    missing: Iterable[Job],
    lost: Sequence[Attempt],
    now: datetime,
    changes: Changes,
) -> None:
    """Gather what becomes of jobs that the listing misses, and of `lost` attempts whose number was used again."""
    due = [job for job in missing if _missed_again(cluster, job, now, changes)]
    newest = {job.pk: stored.attempts[job.pk] for job in due if job.pk in stored.attempts}
    open_ones = sorted(
        (attempt for attempt in newest.values() if JobState(attempt.state) not in FINAL),
        key=lambda attempt: (attempt.job.missing_since or now, attempt.pk),
    )
    answers = _accounted(scheduler, [*lost, *open_ones])
    for attempt in lost:
        _end(attempt, answers.get(attempt.pk), now, changes)
    unsettled = set()
    for attempt in open_ones:
        if attempt.pk in answers or now - (attempt.job.missing_since or now) > PATIENCE:
            _end(attempt, answers.get(attempt.pk), now, changes)
        else:
            unsettled.add(attempt.job_id)
    for job in due:
        if job.pk not in unsettled:
            job.live = False
            changes.job(job, {"live"})


def _missed_again(cluster: Cluster, job: Job, now: datetime, changes: Changes) -> bool:
    """Count the listing that misses the job; whether there were enough of them by now."""
    job.missing_since = job.missing_since or now
    job.missing_listings = min(job.missing_listings + 1, 1000)
    changes.job(job, {"missing_since", "missing_listings"})
    apart = max(timedelta(seconds=SHORTEST_POLL * cluster.poll_seconds), ACCOUNTING_LAG)
    return job.missing_listings >= LISTINGS and now - job.missing_since >= apart


def _accounted(scheduler: Reading, attempts: Sequence[Attempt]) -> Mapping[int, AccountedAttempt | None]:
    """By attempt key what the accounting says, `None` when it knows nothing; unanswered ones are left out."""
    answers: dict[int, AccountedAttempt | None] = {}
    for attempt in attempts[:ASKED_PER_TURN]:
        try:
            records = scheduler.ended(attempt.job.number)
        except NoAccounting:
            return dict.fromkeys((attempt.pk for attempt in attempts), None)
        except NotTold:
            continue
        except SchedulerError:
            break  # the listing was good; only the accounting is away
        mine = [record for record in records if _is(record, attempt)]
        answers[attempt.pk] = mine[-1] if mine else None
    return answers


def _is(record: AccountedAttempt, attempt: Attempt) -> bool:
    """Number and submit time are the key of an attempt that the accounting shares."""
    same_time = record.submitted_at is not None and record.submitted_at == attempt.submitted_at
    return record.number == attempt.job.number and same_time


def _end(attempt: Attempt, record: AccountedAttempt | None, now: datetime, changes: Changes) -> None:
    before = JobState(attempt.state)
    changes.attempt(attempt, vanished(attempt, record, now), now)
    changes.read(attempt)
    changes.entries.append(said.moved(attempt, before, "no longer listed" if record is None else "by accounting"))

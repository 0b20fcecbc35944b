"""What is new in a listing, compared with what is stored?"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from schedulers.holds import OwnHold, own_hold
from schedulers.port import JobRow
from schedulers.states import FINAL, WAITING, JobState
from workloads import said
from workloads.attempt_states import follow, requeued, wants_reading
from workloads.changes import Changes
from workloads.identity import Identity, Known, heimdall_id, identify
from workloads.models import Attempt, Cluster, Job
from workloads.opt_in import read_comment
from workloads.phase import Phase
from workloads.stored import Stored
from workloads.stored_text import storable
from workloads.wish import Wish

DESCRIBED = (
    "user",
    "user_id",
    "name",
    "array_job",
    "array_task",
    "het_leader",
    "account",
    "partition",
    "node_count",
    "requeue_allowed",
    "work_dir",
    "stdout",
    "stderr",
    "comment",
)


def merge(
    cluster: Cluster, stored: Stored, rows: Mapping[int, JobRow], now: datetime, changes: Changes
) -> list[Attempt]:
    """Gather in `changes` what the rows change; nothing is written.

    Returns the newest attempts of jobs whose number now belongs to another job, and whose end is not known.
    """
    lost = []
    for number, row in rows.items():
        newest = stored.newest(number)
        if newest is None:
            _new_job(cluster, row, 0 if number not in stored.jobs else stored.jobs[number].epoch + 1, now, changes)
            continue
        job, attempt = newest
        identity = identify(_known(job, attempt), row)
        if identity is Identity.ANOTHER_JOB:
            _new_job(cluster, row, job.epoch + 1, now, changes)
            if job.live:
                job.live = False
                changes.job(job, {"live"})
            if JobState(attempt.state) not in FINAL:
                lost.append(attempt)
            continue
        _describe_again(job, row, changes)
        if identity is Identity.NEW_ATTEMPT:
            _end_by_requeue(attempt, row, now, changes)
            _new_attempt(job, row, now, changes)
        else:
            _follow(attempt, row, now, changes)
    return lost


def _known(job: Job, attempt: Attempt) -> Known:
    waits = JobState(attempt.state) in WAITING
    return Known(job.user, job.name, attempt.index, attempt.submitted_at, job.live, waits)


def _new_job(cluster: Cluster, row: JobRow, epoch: int, now: datetime, changes: Changes) -> None:
    job = Job(
        cluster=cluster,
        number=row.number,
        epoch=epoch,
        created_at=row.submitted_at or now,
        seen_at=now,
        **_description(row),
    )
    _read_opt_in(job, changes)
    changes.new_jobs.append(job)
    _new_attempt(job, row, now, changes)


def _description(row: JobRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in DESCRIBED}


def _read_opt_in(job: Job, changes: Changes) -> set[str]:
    opt_in, error = read_comment(job.comment)
    job.opt_in, job.workflow_id = opt_in.stored(), opt_in.workflow_id
    job.opt_in_error = storable(error, 500)
    job.wish = (Wish.REFUSED if error else opt_in.wish).value
    if error:
        changes.entries.append(said.opt_in_refused(job))
    return {"opt_in", "opt_in_error", "workflow_id", "wish"}


def _describe_again(job: Job, row: JobRow, changes: Changes) -> None:
    """What the owner or an administrator may have changed since; a job that is ending shows half of it."""
    fields = set()
    if row.state is not JobState.COMPLETING:
        for name, value in _description(row).items():
            if getattr(job, name) != value:
                setattr(job, name, value)
                fields.add(name)
        if "comment" in fields:
            fields |= _read_opt_in(job, changes)
    if not job.live or job.missing_listings:
        job.live, job.missing_listings, job.missing_since = True, 0, None
        fields |= {"live", "missing_listings", "missing_since"}
    changes.job(job, fields)


def _new_attempt(job: Job, row: JobRow, now: datetime, changes: Changes) -> None:
    attempt = Attempt(
        job=job,
        index=row.restarts,
        heimdall_id=heimdall_id(job.cluster.name, job.number, job.epoch, row.restarts),
        first_seen_at=now,
        changed_at=now,
    )
    follow(attempt, row, now, first=True)
    state = JobState(attempt.state)
    if state in FINAL:
        attempt.phase = Phase.ENDED.value
    if wants_reading(None, state):
        attempt.read_due_at = now
    if _hold(attempt) is not None:
        attempt.judge_due_at = now
    changes.new_attempts.append(attempt)
    changes.entries.append(said.seen(attempt))


def _end_by_requeue(attempt: Attempt, row: JobRow, now: datetime, changes: Changes) -> None:
    """The older attempt: its log gets one read to the end before the new attempt truncates it (decisions 7)."""
    before = JobState(attempt.state)
    fields = requeued(attempt, row, now)
    changes.attempt(attempt, fields, now)
    changes.read(attempt)
    if "state" in fields:
        unseen = row.restarts - attempt.index - 1
        why = f"restart {row.restarts}" + (f", {unseen} between them were not seen" if unseen else "")
        changes.entries.append(said.moved(attempt, before, why))


def _follow(attempt: Attempt, row: JobRow, now: datetime, changes: Changes) -> None:
    before, held = JobState(attempt.state), _hold(attempt)
    fields = follow(attempt, row, now)
    changes.attempt(attempt, fields, now)
    if _hold(attempt) != held:
        changes.judge(attempt)
    after = JobState(attempt.state)
    if after is not before:
        changes.entries.append(said.moved(attempt, before))
    if wants_reading(before, after):
        changes.read(attempt)


def _hold(attempt: Attempt) -> OwnHold | None:
    return own_hold(JobState(attempt.state), attempt.scheduler_word, attempt.reason)

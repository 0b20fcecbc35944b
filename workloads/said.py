"""In which words does the trail tell what an observation changed?"""

from datetime import datetime

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.trail import Actor, Entry
from schedulers.states import FAILURES, FINAL, JobState
from workloads.models import Attempt, Job
from workloads.subjects import subject_of, subject_of_job


def seen(attempt: Attempt) -> Entry:
    """An attempt appeared."""
    job = attempt.job
    state = JobState(attempt.state)
    return Entry(
        type=EventType.ATTEMPT_SEEN,
        subject=subject_of(attempt),
        actor=_scheduler(job),
        sentence=f"Attempt {attempt.label} of {job.user}'s job {job.name} was first seen: {state.label}.",
        scheduler_at=attempt.submitted_at,
        payload={
            "state": state.value,
            "word": attempt.scheduler_word,
            "user": job.user,
            "name": job.name,
            "partition": job.partition,
            "node_count": job.node_count,
        },
    )


def moved(attempt: Attempt, before: JobState, why: str = "") -> Entry:
    """An attempt changed its state; `why` is added when the listing alone does not explain it."""
    after = JobState(attempt.state)
    facts = [attempt.reason] if attempt.reason else []
    facts += [f"exit code {attempt.exit_code}"] if attempt.exit_code else []
    facts += [f"signal {attempt.exit_signal}"] if attempt.exit_signal else []
    facts += [why] if why else []
    told = f" ({', '.join(facts)})" if facts else ""
    return Entry(
        type=EventType.ATTEMPT_STATE,
        subject=subject_of(attempt),
        actor=_scheduler(attempt.job),
        sentence=f"Attempt {attempt.label} went from {before.label} to {after.label}{told}.",
        level=Level.WARNING if after in FAILURES or after is JobState.GONE else Level.INFO,
        scheduler_at=_when(attempt, after),
        payload={
            "before": before.value,
            "after": after.value,
            "word": attempt.scheduler_word,
            "reason": attempt.reason,
            "exit_code": attempt.exit_code,
            "exit_signal": attempt.exit_signal,
        },
    )


def opt_in_refused(job: Job) -> Entry:
    """A comment was not understood."""
    return Entry(
        type=EventType.OPT_IN_REFUSED,
        subject=subject_of_job(job),
        actor=Actor(ActorKind.RULE, "opt-in"),
        sentence=f"Job {job.number} is watched in monitor mode. {job.opt_in_error}",
        level=Level.WARNING,
        payload={"comment": job.comment[:1024]},
    )


def _scheduler(job: Job) -> Actor:
    return Actor(ActorKind.SCHEDULER, job.cluster.scheduler_kind)


def _when(attempt: Attempt, state: JobState) -> datetime | None:
    if state is JobState.GONE:
        return None  # nobody knows when
    return attempt.ended_at if state in FINAL else attempt.started_at

"""Whose progress is told, and may this caller tell it?

A job with its key speaks of itself alone. A token speaks for the jobs of its cluster: it is for programs that the
site trusts, not for jobs.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from advisor_api.authentication import Caller
from advisor_api.finding import attempt_by_uuid, newest_job, one_cluster
from advisor_api.refusals import Bad, Forbidden, NotFound, Stale, TooMany
from detectors.telling import Message, NotRunning, TooMuch, tell
from detectors.told_models import ToldLine
from workloads.models import Attempt, Job


@dataclass(frozen=True)
class Named:
    """Which attempt is meant: by its heimdallJobId, or by job number (and index: else the newest attempt)."""

    heimdall_id: UUID | None = None
    number: int | None = None
    index: int | None = None


def take_progress(
    caller: Caller, named: Named, key: str, message: Message, *, cluster: str, now: datetime
) -> tuple[ToldLine, bool]:
    """Store what is told of a running attempt, once by its key. Raises a `Refusal`."""
    attempt = _attempt(caller, cluster, named)
    try:
        return tell(attempt, key, message, caller.actor.name, now)
    except NotRunning as error:
        raise Stale(str(error)) from None
    except TooMuch as error:
        raise TooMany(str(error), error.wait) from None


def _attempt(caller: Caller, cluster: str, named: Named) -> Attempt:
    if named.heimdall_id is not None:
        attempt = attempt_by_uuid(caller, named.heimdall_id, cluster)
        if named.number not in {None, attempt.job.number} or named.index not in {None, attempt.index}:
            raise Bad(f"heimdallJobId is that of {attempt.label}.")
        _may_speak(caller, attempt.job)
        return attempt
    number = named.number if named.number is not None or caller.job is None else caller.job.number
    if number is None:
        raise Bad("Give jobId, or heimdallJobId.")
    if caller.job is not None and number != caller.job.number:
        raise Forbidden(f"This key is for job {caller.job.number} alone.")
    job = newest_job(one_cluster(caller, cluster), number)
    _may_speak(caller, job)
    attempts = Attempt.objects.select_related("job__cluster").filter(job=job)
    if named.index is not None:
        attempts = attempts.filter(index=named.index)
    found = attempts.order_by("-index").first()
    if found is None:
        raise NotFound(f"Job {number} has no attempt {named.index or 0} yet; tell it again.")
    return found


def _may_speak(caller: Caller, job: Job) -> None:
    if caller.job is not None and not caller.job.belongs_to(job):
        raise Forbidden(
            f"This key is for job {caller.job.number} alone, as it was submitted when the key was made."
        )

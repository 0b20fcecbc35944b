"""How many attempts, jobs and users stand in an incident? Its row keeps it, so that a list of them counts nothing.

Whoever has a verdict come into an incident or leave it holds the incident's row until the transaction ends, and
counts once it has the row: of two at once the second one sees what the first one did.
"""

from collections.abc import Iterable

from django.db.models import Count, QuerySet

from detectors.models import Incident, Verdict

COUNTED = {
    "attempt_count": Count("attempt", distinct=True),
    "job_count": Count("attempt__job", distinct=True),
    "user_count": Count("attempt__job__user", distinct=True),
}
"""What the row has to say, by column, of the verdicts that stand in it."""


def standing_in(incident_id: int) -> QuerySet[Verdict]:
    """The newest verdicts of the attempts that belong to an incident, in no order."""
    return Verdict.objects.filter(incident=incident_id, newer=None).order_by()


def count_anew(incidents: Iterable[int]) -> None:
    """Have the rows of some incidents, by key, say what stands in them. Call it in the transaction of the move."""
    for key in sorted(incidents):
        if _held(key) is not None:
            Incident.objects.filter(pk=key).update(**standing_in(key).aggregate(**COUNTED))


def count_stored(verdict: Verdict, latest: Verdict | None) -> None:
    """Count the attempt of a verdict that was just stored into its incident, and out of the one that it left.

    `latest`: the one that it supersedes. Call it in that transaction. Reads the verdict's attempt and job.
    """
    came, left = verdict.incident_id, None
    if latest is not None:
        # Where a person has put it by now: since it is superseded, it stays where it is.
        left = Verdict.objects.filter(pk=latest.pk).values_list("incident", flat=True).first()
    if came != left:
        for key, step in ((came, 1), (left, -1)):
            if key is not None:
                _step(key, verdict, step)


def _step(incident_id: int, verdict: Verdict, step: int) -> None:
    """One attempt more or less; a job, and a user, only when no other attempt of theirs stands there."""
    row = _held(incident_id)
    if row is None:
        return
    job = verdict.attempt.job
    others = standing_in(incident_id).exclude(attempt=verdict.attempt_id)
    of_job = 0 if others.filter(attempt__job=job).exists() else step
    of_user = of_job if of_job and not others.filter(attempt__job__user=job.user).exists() else 0
    Incident.objects.filter(pk=incident_id).update(
        attempt_count=max(0, row.attempt_count + step),
        job_count=max(0, row.job_count + of_job),
        user_count=max(0, row.user_count + of_user),
    )


def _held(incident_id: int) -> Incident | None:
    """The row, ours until the transaction ends."""
    return Incident.objects.select_for_update().filter(pk=incident_id).first()

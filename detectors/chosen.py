"""Where did a person say that a failure belongs? Asked before the grouping judges by itself.

Four ways to speak of failures, the narrowest first: one attempt; one job with one fingerprint; a fingerprint; the
key of an incident. Of two choices that speak of the same the newer one holds.
"""

from dataclasses import dataclass

from detectors.choice_models import ChosenPlace, IncidentChoice
from workloads.models import Attempt


@dataclass(frozen=True)
class Chosen:
    """The key under which a failure belongs, and the choice that says so. `by_attempt`: it names this attempt."""

    key: str
    choice: IncidentChoice
    by_attempt: bool


def of_attempt(attempt_id: int) -> str:
    """The value that speaks of one attempt."""
    return f"attempt:{attempt_id}"


def of_job(job_id: int, fingerprint: str) -> str:
    """The value that speaks of one job's failures with a fingerprint."""
    return f"job:{job_id}:{fingerprint}"


def of_fingerprint(fingerprint: str) -> str:
    """The value that speaks of a fingerprint on all jobs."""
    return f"fingerprint:{fingerprint}"


def of_key(key: str) -> str:
    """The value that speaks of what the grouping would put under a key."""
    return f"key:{key}"


def chosen_place(attempt: Attempt, fingerprint: str, key: str) -> Chosen | None:
    """What a person chose for a failure of the attempt; `key`: the grouping's own. Reads its job; one query."""
    values = [of_attempt(attempt.pk), of_job(attempt.job_id, fingerprint), of_fingerprint(fingerprint), of_key(key)]
    rows = ChosenPlace.objects.filter(
        cluster_id=attempt.job.cluster_id, value__in=values, choice__undone_at=None
    ).select_related("choice")
    found = sorted(rows, key=lambda row: (values.index(row.value), -row.choice_id))
    if not found:
        return None
    return Chosen(found[0].key, found[0].choice, found[0].value == values[0])


def follow(attempt: Attempt, chosen: Chosen | None) -> None:
    """Remember that an attempt came by a choice: its later verdicts stay, and an undo takes it back."""
    if chosen is None or chosen.by_attempt:
        return
    ChosenPlace.objects.get_or_create(
        choice=chosen.choice,
        value=of_attempt(attempt.pk),
        defaults={
            "cluster_id": attempt.job.cluster_id,
            "key": chosen.key,
            "attempt": attempt,
            "moved": True,
        },
    )


def is_chosen(cluster_id: int, key: str) -> bool:
    """Whether a choice that holds leads to this key."""
    return ChosenPlace.objects.filter(cluster_id=cluster_id, key=key, choice__undone_at=None).exists()

"""Since when does what an attempt shows follow from our own command? Told to the rooms below by a column of it."""

from datetime import datetime

from schedulers.states import LIVE
from workloads.models import Attempt

RUNNING = tuple(state.value for state in LIVE)


def note_command(attempt: Attempt, at: datetime, now: datetime) -> None:
    """A controller is about to end it, or has: from `at` on its log is no evidence against it (design 5.9).

    Only of one that runs: nothing that we do changes what an ended one has shown. The first command counts. A turn
    over its log that began before is dropped and made again. Call it inside the caller's transaction.
    """
    mine = Attempt.objects.filter(pk=attempt.pk, state__in=RUNNING, command_at=None)
    mine.update(command_at=min(at, now), read_due_at=now)


def forget_command(attempt: Attempt) -> None:
    """It runs on, for the advice came to nothing: from now on it speaks for itself again."""
    told = Attempt.objects.filter(job=attempt.job_id, index__gte=attempt.index).values_list("index", "command_at")
    seen = list(told)
    if len(seen) == 1 and seen[0] != (attempt.index, None):
        Attempt.objects.filter(pk=attempt.pk, state__in=RUNNING).update(command_at=None)

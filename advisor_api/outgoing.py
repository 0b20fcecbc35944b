"""How does something that is told outside come to its end: sent once, tried again, given up, sent again?

A row is its own timer (`due_at`). Whoever sends it claims it by moving that time by compare-and-swap; a worker that
dies leaves a row that is due again after its lease. What came of it is written with one event of the trail.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import models, transaction

from audit.masked_fields import MaskedCharField
from audit.trail import Entry, record
from workloads.claim_marks import own_mark
from workloads.stored_text import storable

LEASE = timedelta(seconds=30)
BACK_OFF = tuple(timedelta(seconds=each) for each in (5, 30, 120, 600, 1800))
"""Before each next try; the last one again and again until it is given up."""
SAID = 500  # characters


class Outgoing(models.Model):
    """What every row of this kind holds. It is over when `over_at` is set, and due while it is not."""

    made_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True, blank=True, db_index=True)
    tries = models.PositiveIntegerField(default=0)
    again_at = models.DateTimeField(null=True, blank=True, help_text="When a person had it sent again.")
    outcome = models.CharField(max_length=9, default="waiting")
    over_at = models.DateTimeField(null=True, blank=True)
    said = MaskedCharField(max_length=500, blank=True, default="", help_text="What came, in a sentence.")

    class Meta:
        abstract = True


def mine(row: Outgoing) -> Any:
    """The row, as long as it is as we read it and not over."""
    return type(row)._default_manager.filter(pk=row.pk, due_at=row.due_at, over_at=None)


def claim(row: Outgoing, seconds: float, now: datetime, **columns: Any) -> bool:
    """The row for us alone, for its lease and the `seconds` that one try may take; false: somebody was first."""
    mark = own_mark(now + LEASE + timedelta(seconds=seconds))
    if not mine(row).update(due_at=mark, tries=row.tries + 1, **columns):
        return False
    row.due_at, row.tries = mark, row.tries + 1
    return True


def is_given_up(row: Outgoing, after: timedelta, now: datetime) -> bool:
    """Whether it was tried for as long as it is tried."""
    return now - (row.again_at or row.made_at) > after


def try_later(row: Outgoing, said: str, now: datetime, **columns: Any) -> None:
    """Nothing came, for a reason that may pass: once more after a pause."""
    pause = BACK_OFF[min(max(row.tries, 1), len(BACK_OFF)) - 1]
    mine(row).update(due_at=now + pause, said=storable(said, SAID), **columns)


def close(row: Outgoing, outcome: str, said: str, entry: Entry, now: datetime, **columns: Any) -> bool:
    """It is over, with its event; whether it was still ours."""
    with transaction.atomic():
        ours = mine(row).update(due_at=None, outcome=outcome, said=storable(said, SAID), over_at=now, **columns)
        if ours:
            record([entry], now)
    return bool(ours)


def open_again(row: Outgoing, entry: Entry, now: datetime, **columns: Any) -> bool:
    """A person has what was given up sent once more, with its event; false: it was not given up."""
    with transaction.atomic():
        given_up = type(row)._default_manager.filter(pk=row.pk, outcome="failed")
        again = {"outcome": "waiting", "due_at": now, "over_at": None, "said": "", "again_at": now}
        if not given_up.update(**again, **columns):
            return False
        record([entry], now)
    row.refresh_from_db()
    return True

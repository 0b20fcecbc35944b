"""What did running jobs tell of themselves, beside their logs?"""

from django.db import models

from audit.in_sight import InSight
from workloads.models import Attempt

KEY, BY, TEXT = 128, 128, 2000  # characters


class ToldLine(models.Model):
    """One message of a running attempt, as the lines that a log would show. The newest ones of an attempt stay.

    `offset` counts the bytes told before, so that the lines of an attempt are one stream like a file. `unread`: no
    turn of the detectors has taken it yet.
    """

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="told_lines")
    key = models.CharField(max_length=KEY, help_text="The teller's: the same message is stored once.")
    offset = models.PositiveBigIntegerField()
    text = models.CharField(max_length=TEXT)
    told_at = models.DateTimeField(db_index=True)
    told_by = models.CharField(max_length=BY, help_text="The token's name.")
    unread = models.BooleanField(default=True)

    cluster_at = "attempt__job__cluster"
    objects = InSight()

    class Meta:
        ordering = ("attempt", "offset")
        constraints = (
            models.UniqueConstraint(fields=("attempt", "key"), name="told_once"),
            models.UniqueConstraint(fields=("attempt", "offset"), name="told_in_order"),
        )
        indexes = (models.Index(fields=("attempt", "unread"), name="told_unread"),)

    def __str__(self) -> str:
        return self.text.partition("\n")[0]

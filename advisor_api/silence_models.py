"""Of what is nobody told for a while, by whose word?"""

import uuid

from django.db import models

from audit.in_sight import InSight
from audit.masked_fields import MaskedCharField
from workloads.models import Cluster


class Silence(models.Model):
    """What it names on one cluster is told to nobody until its end. All that it names must fit; something it names.

    It is never changed, only ended early. It hides nothing from the pages and bears on no decision.
    """

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="silences")
    fingerprint = models.CharField(max_length=64, blank=True, default="")
    signature = models.CharField(max_length=128, blank=True, default="")
    node = models.CharField(max_length=255, blank=True, default="")
    partition = models.CharField(max_length=128, blank=True, default="")
    reason = MaskedCharField(max_length=500)
    owner = models.CharField(max_length=150, help_text="Whom to ask about it.")
    since = models.DateTimeField()
    until = models.DateTimeField()
    made_by = models.CharField(max_length=150)
    ended_at = models.DateTimeField(null=True, blank=True, help_text="Ended before its time.")
    ended_by = models.CharField(max_length=150, blank=True, default="")
    end_reason = MaskedCharField(max_length=500, blank=True, default="")

    cluster_at = "cluster"
    objects = InSight()

    class Meta:
        ordering = ("-id",)
        indexes = (models.Index(fields=("cluster", "until"), name="silence_by_end"),)

    def __str__(self) -> str:
        return f"{self.what} on {self.cluster}"

    @property
    def what(self) -> str:
        """What it names, in a few words."""
        named = (
            ("fingerprint", self.fingerprint[:16]),
            ("signature", self.signature),
            ("node", self.node),
            ("partition", self.partition),
        )
        return ", ".join(f"{name} {value}" for name, value in named if value)

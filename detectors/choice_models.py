"""What did people say about incidents? Remarks, and choices of what belongs together that the grouping follows."""

import uuid

from django.db import models

from audit.in_sight import InSight
from audit.masked_fields import MaskedCharField
from schedulers.words import Word
from workloads.models import Attempt, Cluster

NOTE_LIMIT = 2000  # characters of one remark
REASON_LIMIT = 500


class Deed(Word):
    """What a person did to the grouping."""

    SPLIT = "split", "Split off", "info"
    MERGE = "merge", "Joined", "info"


class IncidentNote(models.Model):
    """A remark of a person. Added, never changed."""

    incident = models.ForeignKey("detectors.Incident", on_delete=models.CASCADE, related_name="notes")
    text = MaskedCharField(max_length=NOTE_LIMIT)
    author = models.CharField(max_length=150)
    at = models.DateTimeField()

    cluster_at = "incident__cluster"
    objects = InSight()

    class Meta:
        ordering = ("incident", "id")

    def __str__(self) -> str:
        return f"{self.author}: {self.text[:60]}"


class IncidentChoice(models.Model):
    """A split or a merge by a person, which holds until a person takes it back.

    `source_key` and `target_key` are those under which both incidents were open: what a choice leads to is a key,
    so that it holds after the incident is over and the same fails again.
    """

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="incident_choices")
    deed = models.CharField(max_length=8, choices=Deed.choices())
    source = models.ForeignKey("detectors.Incident", on_delete=models.CASCADE, related_name="choices_from")
    target = models.ForeignKey("detectors.Incident", on_delete=models.CASCADE, related_name="choices_into")
    source_key = models.CharField(max_length=128)
    target_key = models.CharField(max_length=128)
    reason = MaskedCharField(max_length=REASON_LIMIT)
    made_by = models.CharField(max_length=150)
    made_at = models.DateTimeField()
    undone_by = models.CharField(max_length=150, blank=True, default="")
    undone_at = models.DateTimeField(null=True, blank=True)
    undone_because = MaskedCharField(max_length=REASON_LIMIT, blank=True, default="")

    cluster_at = "cluster"
    objects = InSight()

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.deed} by {self.made_by}"


class ChosenPlace(models.Model):
    """Under which key the failures belong that `value` speaks of (`detectors.chosen`), by one choice.

    `moved`: an attempt that the choice took out of its source.
    """

    choice = models.ForeignKey(IncidentChoice, on_delete=models.CASCADE, related_name="places")
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    value = models.CharField(max_length=160)
    key = models.CharField(max_length=128)
    attempt = models.ForeignKey(Attempt, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    moved = models.BooleanField(default=False)

    cluster_at = "cluster"
    objects = InSight()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("choice", "value"), name="chosen_once"),)
        indexes = (models.Index(fields=("cluster", "value"), name="chosen_by_value"),)

    def __str__(self) -> str:
        return f"{self.value} → {self.key}"

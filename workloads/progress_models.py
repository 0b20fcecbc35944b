"""How far did an attempt come? Its steps and its checkpoints."""

from django.db import models

from audit.in_sight import InSight
from audit.masked_fields import MaskedCharField


class ProgressPoint(models.Model):
    """A step that an attempt reported. Thinned with age (`workloads.thinning`).

    Work a second is as the job's own line counts it, of one GPU or of all.
    """

    attempt = models.ForeignKey("workloads.Attempt", on_delete=models.CASCADE, related_name="progress")
    at = models.DateTimeField()
    step = models.BigIntegerField()
    step_seconds = models.FloatField(null=True, blank=True)
    loss = models.FloatField(null=True, blank=True)
    not_a_number = models.BooleanField(default=False, help_text="Whether the loss was no number.")
    tokens_per_second = models.FloatField(null=True, blank=True)
    tflop_per_second = models.FloatField(null=True, blank=True)

    cluster_at = "attempt__job__cluster"
    objects = InSight()

    class Meta:
        ordering = ("attempt", "id")
        indexes = (models.Index(fields=("attempt", "at"), name="progress_by_time"),)

    def __str__(self) -> str:
        return f"step {self.step}"


class Checkpoint(models.Model):
    """A checkpoint that an attempt says it has saved or loaded. `place` is its own word for where, never opened."""

    attempt = models.ForeignKey("workloads.Attempt", on_delete=models.CASCADE, related_name="checkpoints")
    at = models.DateTimeField()
    step = models.BigIntegerField()
    deed = models.CharField(max_length=8, choices=[("saved", "Saved"), ("loaded", "Loaded")])
    place = MaskedCharField(max_length=512, blank=True, default="")

    cluster_at = "attempt__job__cluster"
    objects = InSight()

    class Meta:
        ordering = ("attempt", "id")

    def __str__(self) -> str:
        return f"{self.deed} {self.step}"

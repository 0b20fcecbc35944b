"""What is one line of the trail?"""

import uuid

from django.db import models

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.in_sight import InSightByName
from audit.level import Level
from audit.masked_fields import MaskedCharField, MaskedJSONField

SEARCHED = (
    "type",
    "level",
    "node",
    "user",
    "actor",
    "pattern",
    "action",
)  # each with its cluster and time is an index


class AuditEvent(models.Model):
    """One thing that happened, stored once with the change it speaks of; names and UUIDs, no foreign keys."""

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    at = models.DateTimeField("our time")
    scheduler_at = models.DateTimeField("scheduler's time", null=True, blank=True)
    cluster = models.CharField(max_length=64)
    job_number = models.BigIntegerField(null=True, blank=True)
    job_epoch = models.PositiveIntegerField(null=True, blank=True)
    attempt_index = models.PositiveIntegerField(null=True, blank=True)
    heimdall_job_id = models.UUIDField(null=True, blank=True)
    node = models.CharField(max_length=255, blank=True, default="")
    user = models.CharField("the job's user", max_length=64, blank=True, default="")
    actor_kind = models.CharField(max_length=16, choices=ActorKind.choices())
    actor = models.CharField(max_length=128)
    type = models.CharField(max_length=32, choices=EventType.choices())
    level = models.CharField(max_length=8, choices=Level.choices(), default=Level.INFO.value)
    pattern = MaskedCharField(max_length=128, blank=True, default="")
    action = MaskedCharField(max_length=64, blank=True, default="")
    verdict_id = models.UUIDField(null=True, blank=True)
    advice_generation = models.PositiveIntegerField(null=True, blank=True)
    sentence = MaskedCharField(max_length=1000)
    payload = MaskedJSONField(default=dict)
    payload_version = models.PositiveSmallIntegerField(default=1)
    trace_id = models.CharField(max_length=32, blank=True, default="")
    producer_key = models.CharField(max_length=128, null=True, blank=True, unique=True)

    objects = InSightByName()

    class Meta:
        ordering = ("id",)
        indexes = (
            models.Index(fields=("cluster", "job_number", "job_epoch", "id"), name="audit_by_job"),
            models.Index(fields=("heimdall_job_id", "id"), name="audit_by_attempt"),
            models.Index(fields=("cluster", "at"), name="audit_by_time"),
            *(models.Index(fields=("cluster", one, "at"), name=f"audit_by_{one}") for one in SEARCHED),
        )

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.type}: {self.sentence}"

    @property
    def attempt_label(self) -> str:
        """`12345-0`, or `""` when the event speaks of no attempt."""
        return "" if self.attempt_index is None else f"{self.job_number}-{self.attempt_index}"


class AuditUnsealed(models.Model):
    """An event that no seal covers yet. A trigger writes the row with the event, the sealer takes it away."""

    event = models.BigIntegerField(primary_key=True)
    cluster = models.CharField(max_length=64, db_index=True)

    objects = InSightByName()

    class Meta:
        verbose_name_plural = "unsealed events"

    def __str__(self) -> str:
        return f"event {self.event} waits for its seal"


class AuditSeal(models.Model):
    """One link of a cluster's chain: the digest covers the event's row, its place, and the link before."""

    cluster = models.CharField(max_length=64, help_text="Empty: what speaks of no cluster.")
    seq = models.BigIntegerField()
    event = models.BigIntegerField(unique=True)
    digest = models.CharField(max_length=64)
    sealed_at = models.DateTimeField()

    objects = InSightByName()

    class Meta:
        ordering = ("cluster", "seq")
        constraints = (models.UniqueConstraint(fields=("cluster", "seq"), name="audit_seal_once"),)

    def __str__(self) -> str:
        return f"seal {self.seq} of {self.cluster or 'the site'}"


class AuditChain(models.Model):
    """Where a chain stands: what the sealer goes on from. It proves nothing; the seals do."""

    cluster = models.CharField(max_length=64, primary_key=True)
    seq = models.BigIntegerField(default=0)
    digest = models.CharField(max_length=64)
    checkpoint_seq = models.BigIntegerField(default=0)
    checkpoint_at = models.DateTimeField(null=True, blank=True)

    objects = InSightByName()

    def __str__(self) -> str:
        return f"chain of {self.cluster or 'the site'}"


class AuditCheckpoint(models.Model):
    """A signed word on a chain: at this moment it ended here. The key is no part of the database."""

    cluster = models.CharField(max_length=64)
    seq = models.BigIntegerField()
    digest = models.CharField(max_length=64)
    at = models.DateTimeField()
    key_id = models.CharField(max_length=16)
    signature = models.CharField(max_length=128)

    objects = InSightByName()

    class Meta:
        ordering = ("cluster", "seq")
        constraints = (models.UniqueConstraint(fields=("cluster", "seq"), name="audit_checkpoint_once"),)

    def __str__(self) -> str:
        return f"checkpoint {self.seq} of {self.cluster or 'the site'}"


class AuditArchive(models.Model):
    """A stone where a part of a chain stood: which seals, with their events, are now in which file.

    Signed like a checkpoint: whoever has the database alone can put none in the place of what he removes. `before`
    is the digest of the link before the first seal, `digest` that of the last one.
    """

    cluster = models.CharField(max_length=64)
    first_seq = models.BigIntegerField()
    last_seq = models.BigIntegerField()
    before = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)
    first_at = models.DateTimeField("our time of the earliest event")
    last_at = models.DateTimeField("our time of the latest event")
    file = models.CharField(max_length=512)
    size = models.BigIntegerField(help_text="Bytes of the file.")
    file_digest = models.CharField(max_length=64, help_text="SHA-256 of the file.")
    at = models.DateTimeField("archived at")
    key_id = models.CharField(max_length=16)
    signature = models.CharField(max_length=128)

    objects = InSightByName()

    class Meta:
        ordering = ("cluster", "first_seq")
        constraints = (
            models.UniqueConstraint(fields=("cluster", "first_seq"), name="audit_archive_from_once"),
            models.UniqueConstraint(fields=("cluster", "last_seq"), name="audit_archive_to_once"),
        )

    def __str__(self) -> str:
        return f"seals {self.first_seq} to {self.last_seq} of {self.cluster or 'the site'} in {self.file}"

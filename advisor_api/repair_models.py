"""Which repair systems are told about excluded nodes, what are they told, and what came of it?"""

import re

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_noop

from advisor_api.outgoing import Outgoing
from audit.in_sight import InSight
from audit.masked_fields import MaskedJSONField
from workloads.log_stores import credential_name, readable_by_all, store_address
from workloads.models import Cluster
from workloads.validators import PLAIN_NAME

LONGEST_SECONDS = 60
FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,57}\.jsonl\Z")
KINDS = [("file", "JSON lines, appended to a file"), ("webhook", "Webhook (one POST for each record)")]
DEEDS = [
    ("opened", gettext_noop("Opened")),
    ("renewed", gettext_noop("Renewed")),
    ("lifted", gettext_noop("Lifted")),
]
OUTCOMES = [
    ("waiting", gettext_noop("Not handed over yet")),
    ("busy", gettext_noop("Busy: the node still runs jobs")),
    ("sent", gettext_noop("Handed over")),
    ("overtaken", gettext_noop("Over before it was handed over")),
    ("failed", gettext_noop("Given up")),
]
OPEN = ("waiting", "busy")


def system_name(value: str) -> None:
    """A plain name: it stands in sentences and in the trail."""
    if not PLAIN_NAME.match(value):
        raise ValidationError(f"{value[:40]!r} is not a plain name (letters, digits, '.', '_', '-').")


def file_name(value: str) -> None:
    """A name without a folder: files lie in the site's own hand-off folder, and nowhere else."""
    if value and not FILE_NAME.match(value):
        raise ValidationError(f"{value[:40]!r} is no plain file name that ends in .jsonl.")


class RepairSystem(models.Model):
    """Where the excluded nodes of a cluster are handed over: a file that a script reads, or a webhook."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="repair_systems")
    name = models.CharField(max_length=64, validators=[system_name])
    kind = models.CharField(max_length=8, choices=KINDS)
    file = models.CharField(
        max_length=64,
        blank=True,
        default="",
        validators=[file_name],
        help_text="Of a file: its name in the hand-off folder (REKINDLE_HANDOFF_DIR), e.g. nodes.jsonl",
    )
    address = models.CharField(
        max_length=512,
        blank=True,
        default="",
        validators=[store_address],
        help_text="Of a webhook: the whole address, https:// or http://",
    )
    credential = models.CharField(
        max_length=64,
        blank=True,
        default="",
        validators=[credential_name],
        help_text="Of a webhook, as of the log store: a file in the credentials folder.",
    )
    timeout_seconds = models.PositiveSmallIntegerField(
        default=10,
        validators=[MinValueValidator(1), MaxValueValidator(LONGEST_SECONDS)],
        help_text="How long one try may take, 1 to 60.",
    )
    enabled = models.BooleanField(default=True)

    cluster_at = "cluster"
    objects = InSight()

    class Meta:
        ordering = ("cluster", "name")
        constraints = (models.UniqueConstraint(fields=("cluster", "name"), name="repair_system_once"),)

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """What fits together; each mistake one sentence."""
        mistakes: dict[str, str] = {}
        if self.kind == "file":
            if not self.file:
                mistakes["file"] = "A file needs its name, e.g. nodes.jsonl"
            if self.address or self.credential:
                mistakes["address"] = "A file has neither an address nor a credential."
        elif self.kind == "webhook":
            if not self.address:
                mistakes["address"] = "A webhook needs its address."
            if self.file:
                mistakes["file"] = "A webhook has no file."
            if self.credential and readable_by_all(self.address):
                mistakes["credential"] = "A credential is sent over https only: it would be readable by all."
        if mistakes:
            raise ValidationError(mistakes)


class RepairRecord(Outgoing):
    """One thing that a repair system is told, once: its `key` is unique. Its own timer: `due_at`.

    `system` goes with its row, `name` stays.
    """

    system = models.ForeignKey(
        RepairSystem, null=True, blank=True, on_delete=models.SET_NULL, related_name="records"
    )
    name = models.CharField(max_length=64)
    exclusion = models.ForeignKey("advisor_api.Exclusion", on_delete=models.CASCADE, related_name="records")
    node = models.CharField(max_length=255)
    deed = models.CharField(max_length=8, choices=DEEDS)
    key = models.CharField(max_length=128, unique=True, help_text="The same whenever it is sent again.")
    body = MaskedJSONField(default=dict)
    outcome = models.CharField(max_length=9, choices=OUTCOMES, default="waiting")

    cluster_at = "system__cluster"
    objects = InSight()

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.key

"""Who outside is asked about verdicts, what were they asked, and what came?"""

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_noop

from audit.in_sight import InSight
from audit.masked_fields import MaskedCharField, MaskedJSONField
from detectors.providers import ADAPTERS
from workloads.log_stores import credential_name, readable_by_all, store_address
from workloads.models import Attempt, Cluster
from workloads.validators import PLAIN_NAME

LONGEST_SECONDS = 60
PHASES = [("both", "Fast and slow verdicts"), ("fast", "Fast verdicts"), ("slow", "Slow verdicts")]
OUTCOMES = [
    ("waiting", gettext_noop("Not answered yet")),
    ("answered", gettext_noop("Answered")),
    ("nothing", gettext_noop("Has nothing to say")),
    ("late", gettext_noop("Answered too late")),
    ("failed", gettext_noop("No usable answer")),
]


def provider_name(value: str) -> None:
    """A plain name: it stands in sentences and in the trail."""
    if not PLAIN_NAME.match(value):
        raise ValidationError(f"{value[:40]!r} is not a plain name (letters, digits, '.', '_', '-').")


class AttributionProvider(models.Model):
    """Somebody outside who is asked about the verdicts of a cluster; what is answered may only narrow them."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="providers")
    name = models.CharField(max_length=64, validators=[provider_name], help_text="Stands beside what it answers.")
    kind = models.CharField(max_length=16, choices=[(adapter.name, adapter.title) for adapter in ADAPTERS])
    address = models.CharField(
        max_length=512,
        validators=[store_address],
        help_text="http:// or https://; of an adapter without /v1/attribution, of a webhook the whole address.",
    )
    credential = models.CharField(
        max_length=64,
        blank=True,
        default="",
        validators=[credential_name],
        help_text="As of the log store: a file in the credentials folder.",
    )
    timeout_seconds = models.PositiveSmallIntegerField(
        default=10,
        validators=[MinValueValidator(1), MaxValueValidator(LONGEST_SECONDS)],
        help_text="How long one question may take, 1 to 60.",
    )
    phases = models.CharField(max_length=8, choices=PHASES, default="both")
    enabled = models.BooleanField(default=True)

    cluster_at = "cluster"
    objects = InSight()

    class Meta:
        ordering = ("cluster", "name")
        constraints = (models.UniqueConstraint(fields=("cluster", "name"), name="provider_once"),)

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """What fits together; each mistake one sentence."""
        mistakes: dict[str, str] = {}
        if self.kind == "contract" and self.address.rstrip("/").endswith("/v1/attribution"):
            mistakes["address"] = "Write the address without /v1/attribution: it is added."
        if self.credential and readable_by_all(self.address):
            mistakes["credential"] = "A credential is sent over https only: it would be readable by all."
        if mistakes:
            raise ValidationError(mistakes)


class ProviderQuestion(models.Model):
    """One question about one verdict, and what came of it. Its own timer: `due_at`; nothing when it is over.

    `provider` goes with its row, `name` and `kind` stay. `answer` is kept as it was read, bounded, whatever became
    of it.
    """

    provider = models.ForeignKey(
        AttributionProvider, null=True, blank=True, on_delete=models.SET_NULL, related_name="questions"
    )
    name = models.CharField(max_length=64)
    kind = models.CharField(max_length=16)
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="questions")
    verdict = models.ForeignKey("detectors.Verdict", on_delete=models.CASCADE, related_name="questions")
    phase = models.CharField(max_length=8, choices=[("fast", gettext_noop("Fast")), ("slow", gettext_noop("Slow"))])
    own_hash = models.CharField(
        max_length=64, help_text="Of our own verdict, without any answers: asked about once."
    )
    tries = models.PositiveSmallIntegerField(default=0)
    asked_at = models.DateTimeField(help_text="When the verdict was stored.")
    ends_at = models.DateTimeField(help_text="An answer that comes later changes nothing.")
    due_at = models.DateTimeField(null=True, blank=True, db_index=True)
    answered_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(max_length=8, choices=OUTCOMES, default="waiting")
    said = MaskedCharField(max_length=500, blank=True, default="", help_text="What came, in a sentence.")
    answer = MaskedJSONField(null=True, blank=True)

    cluster_at = "attempt__job__cluster"
    objects = InSight()

    class Meta:
        ordering = ("attempt", "id")
        constraints = (models.UniqueConstraint(fields=("attempt", "name", "own_hash"), name="provider_asked_once"),)

    def __str__(self) -> str:
        return f"{self.name} about {self.attempt_id}"

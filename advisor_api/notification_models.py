"""Which routes are there, what were they told, and how far was the trail read for them?"""

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, validate_email
from django.db import models
from django.utils.translation import gettext_noop

from advisor_api.notifying.outcome import DeliveryOutcome
from advisor_api.notifying.topic import TOPICS, NotificationTopic
from advisor_api.notifying.wording import unknown_names
from advisor_api.outgoing import Outgoing
from advisor_api.repair_models import LONGEST_SECONDS, system_name
from audit.in_sight import InSight, InSightByName
from audit.level import Level
from audit.masked_fields import MaskedCharField, MaskedJSONField, MaskedTextField
from workloads.log_stores import credential_name, readable_by_all, store_address
from workloads.models import Cluster

MOST_RECIPIENTS = 20
KINDS = [
    ("mail", gettext_noop("Mail")),
    ("webhook", gettext_noop("Webhook, signed")),
    ("slack", gettext_noop("Slack, or what takes its webhooks")),
    ("alertmanager", gettext_noop("Alertmanager (its API)")),
    ("receiver", gettext_noop("Receiver of Alertmanager's webhooks")),
]
NEEDS_CREDENTIAL = {"webhook": "secret", "slack": "address"}
"""What the credential of these kinds holds; the others may have one that opens."""
LEVELS = [(level.value, level.label) for level in (Level.INFO, Level.WARNING, Level.ERROR)]


def mail_addresses(value: str) -> None:
    """`a@example.org, b@example.org`"""
    found = recipients_of(value)
    if len(found) > MOST_RECIPIENTS:
        raise ValidationError(f"More than {MOST_RECIPIENTS} addresses: use a mailing list.")
    for one in found:
        try:
            validate_email(one)
        except ValidationError:
            raise ValidationError(f"{one[:60]!r} is no mail address.") from None


def known_topics(value: object) -> None:
    """A list of topics; empty: all of them."""
    if not isinstance(value, list) or not all(isinstance(one, str) and one in set(TOPICS) for one in value):
        raise ValidationError(f"Write a list of these: {', '.join(TOPICS)}.")


def usable_template(value: str) -> None:
    """Only names that are known."""
    mistake = unknown_names(value)
    if mistake:
        raise ValidationError(mistake)


def recipients_of(text: str) -> list[str]:
    """The addresses, split at commas and white space."""
    return text.replace(",", " ").split()


class NotificationRoute(models.Model):
    """Who is told of what happens on a cluster, from which severity on, and how."""

    name = models.CharField(max_length=64, unique=True, validators=[system_name])
    cluster = models.ForeignKey(
        Cluster,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="notification_routes",
        help_text="Empty: all clusters.",
    )
    least_level = models.CharField(
        max_length=8, choices=LEVELS, default=Level.WARNING.value, help_text="What is less severe is not told."
    )
    topics = models.JSONField(
        default=list,
        blank=True,
        validators=[known_topics],
        help_text=f'Of what it is told, e.g. ["approval", "failed"]. Empty: all of {", ".join(TOPICS)}.',
    )
    kind = models.CharField(max_length=12, choices=KINDS)
    recipients = models.CharField(
        max_length=1000, blank=True, default="", validators=[mail_addresses], help_text="Of mail: addresses."
    )
    address = models.CharField(
        max_length=512,
        blank=True,
        default="",
        validators=[store_address],
        help_text="Of a webhook, Alertmanager or receiver: https:// or http://. Slack's stands in its credential.",
    )
    credential = models.CharField(
        max_length=64,
        blank=True,
        default="",
        validators=[credential_name],
        help_text="A file in the credentials folder. Webhook: 'secret TEXT', which signs. Slack: 'address URL'. "
        "Alertmanager, receiver: none, or as of a log store.",
    )
    title = models.CharField(
        max_length=200, blank=True, default="", validators=[usable_template], help_text="Template. Empty: ours."
    )
    text = models.TextField(
        max_length=2000, blank=True, default="", validators=[usable_template], help_text="Template. Empty: ours."
    )
    timeout_seconds = models.PositiveSmallIntegerField(
        default=10,
        validators=[MinValueValidator(1), MaxValueValidator(LONGEST_SECONDS)],
        help_text="How long one try may take, 1 to 60.",
    )
    enabled = models.BooleanField(default=True)
    since = models.DateTimeField(editable=False, help_text="What happened before is not told.")

    cluster_at = "cluster"
    objects = InSight()

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """What fits together; each mistake one sentence."""
        mistakes: dict[str, str] = {}
        if (self.kind == "mail") != bool(recipients_of(self.recipients)):
            mistakes["recipients"] = "Mail needs addresses, and nothing else has any."
        if (self.kind in {"webhook", "alertmanager", "receiver"}) != bool(self.address):
            mistakes["address"] = "A webhook, Alertmanager and a receiver need their address, nothing else has one."
        needed = NEEDS_CREDENTIAL.get(self.kind)
        if needed and not self.credential:
            mistakes["credential"] = f"Name the credential that holds its {needed}."
        elif self.kind == "mail" and self.credential:
            mistakes["credential"] = "Mail has none here: the way to the mail server is REKINDLE_MAIL_URL."
        elif not needed and self.credential and readable_by_all(self.address):
            mistakes["credential"] = "A credential is sent over https only: it would be readable by all."
        if mistakes:
            raise ValidationError(mistakes)

    @property
    def whom(self) -> str:
        """To whom it goes, without anything secret."""
        if self.kind == "slack":
            return f"the address in the credential {self.credential}"
        return ", ".join(recipients_of(self.recipients)) if self.kind == "mail" else self.address


class Delivery(Outgoing):
    """One message to one route: what it says, and what became of it. `route` goes with its row, `name` stays.

    Until it is first tried, more of the same joins it. `unclear`: tries in a row of which nobody wrote what came.
    """

    route = models.ForeignKey(
        NotificationRoute, null=True, blank=True, on_delete=models.SET_NULL, related_name="deliveries"
    )
    name = models.CharField(max_length=64)
    kind = models.CharField(max_length=12, choices=KINDS)
    whom = models.CharField(max_length=1100)
    key = models.CharField(max_length=64, unique=True, help_text="The same whenever it is sent again.")
    topic = models.CharField(max_length=16, choices=NotificationTopic.choices())
    level = models.CharField(max_length=8, choices=Level.choices())
    cluster = models.CharField(max_length=64, blank=True, default="")
    would = models.BooleanField(default=False, help_text="Nothing was done: monitor mode.")
    count = models.PositiveIntegerField(default=1)
    items = MaskedJSONField(default=list)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    path = models.CharField(max_length=300)
    title = MaskedCharField(max_length=200)
    text = MaskedTextField()
    unclear = models.PositiveSmallIntegerField(default=0)
    outcome = models.CharField(max_length=9, choices=DeliveryOutcome.choices(), default="waiting")
    silence = models.ForeignKey(
        "advisor_api.Silence",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="deliveries",
        help_text="For which it was not sent.",
    )

    objects = InSightByName()

    class Meta:
        ordering = ("-id",)
        verbose_name_plural = "deliveries"
        indexes = (models.Index(fields=("route", "topic", "cluster", "id"), name="delivery_by_route"),)

    def __str__(self) -> str:
        return self.title


class ToldSubject(models.Model):
    """That a route was told of a subject: never twice, by the unique key."""

    key = models.CharField(max_length=64, unique=True)
    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="told")
    subject = models.CharField(max_length=200)

    cluster_at = "delivery__cluster"
    objects = InSightByName()

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return self.subject


class TrailPosition(models.Model):
    """How far the chain of a cluster was read for notifications. Moved by compare-and-swap."""

    cluster = models.CharField(max_length=64, primary_key=True)
    seq = models.BigIntegerField(default=0)

    objects = InSightByName()

    def __str__(self) -> str:
        return f"{self.cluster} up to {self.seq}"

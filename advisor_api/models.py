"""What was decided, by which policy, and how far did it come?"""

import uuid
from datetime import datetime

from django.db import models
from django.utils.translation import gettext_noop

import advisor_api.notification_models  # its tables are this room's
import advisor_api.repair_models  # its tables are this room's
import advisor_api.silence_models  # noqa: F401  # its table is this room's
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.operation import Operation
from advisor_api.policy.reconciliation_reason import ReconciliationReason
from advisor_api.policy.scheduler_action import SchedulerAction
from advisor_api.policy.weights import HALF_LIFE_SECONDS, PERSON, weight
from advisor_api.token_role import TokenRole
from advisor_api.validators import policy_values
from audit.in_sight import InSight, InSightOfAll
from audit.masked_fields import MaskedCharField, MaskedJSONField
from detectors.models import Verdict
from workloads.mode import Mode
from workloads.models import Attempt, Cluster


class PolicyVersion(models.Model):
    """Limits and choices of all clusters, a cluster, or a partition or user of one. Insert-only.

    It holds only from its activation on (`PolicyActivation`), and only says what differs from the levels below.
    """

    cluster = models.ForeignKey(
        Cluster,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="policies",
        help_text="Empty: all.",
    )
    partition = models.CharField(max_length=128, blank=True, default="", help_text="Of the cluster. Empty: all.")
    user = models.CharField(
        max_length=64, blank=True, default="", help_text="Whose jobs on the cluster. Empty: all."
    )
    values = models.JSONField(default=dict, blank=True, validators=[policy_values])
    note = MaskedCharField(max_length=500, blank=True, default="")
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=128, blank=True, default="")

    cluster_at = "cluster"
    objects = InSight()

    class Meta:
        ordering = ("-id",)
        permissions = (("activate_policy", "Can activate and withdraw policies"),)

    def __str__(self) -> str:
        parts = (self.partition and f"partition {self.partition}", self.user and f"user {self.user}")
        return f"policy {self.pk} of {' on '.join(filter(None, (*parts, str(self.cluster or 'all clusters'))))}"


class PolicyActivation(models.Model):
    """From when on a version holds at its place, by whose word. Insert-only: the highest number holds.

    `place`: the place's key (`policies.Place.key`). Without a version nothing is said there any more.
    """

    place = models.CharField(max_length=220)
    number = models.PositiveIntegerField()
    cluster = models.ForeignKey(
        Cluster, null=True, blank=True, on_delete=models.CASCADE, related_name="policy_activations"
    )
    version = models.ForeignKey(
        PolicyVersion, null=True, blank=True, on_delete=models.CASCADE, related_name="activations"
    )
    reason = MaskedCharField(max_length=500)
    activated_at = models.DateTimeField()
    activated_by = models.CharField(max_length=128)

    cluster_at = "cluster"
    objects = InSight()

    class Meta:
        ordering = ("-id",)
        constraints = (models.UniqueConstraint(fields=("place", "number"), name="policy_activation_once"),)

    def __str__(self) -> str:
        return f"{self.version or 'nothing'} from {self.activated_at:%Y-%m-%d %H:%M} on"


class Advice(models.Model):
    """The durable decision on one attempt. Insert-only per generation: only its state moves (decisions 19)."""

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="advice")
    generation = models.PositiveIntegerField()
    verdict = models.ForeignKey(Verdict, null=True, blank=True, on_delete=models.RESTRICT, related_name="advice")
    policy = models.ForeignKey(PolicyVersion, null=True, blank=True, on_delete=models.RESTRICT)
    judged_by = models.JSONField(default=dict, help_text="The values that held, and the versions they came from.")
    operation = models.CharField(max_length=16, choices=Operation.choices())
    excluded_nodes = models.JSONField(default=list)
    rule = models.CharField(max_length=64)
    because = MaskedCharField(max_length=1000)
    facts = models.JSONField(default=dict)
    trace = models.JSONField(default=list, help_text="Every rule that was looked at, with what it said.")
    mode_at_decision = models.CharField(max_length=8, choices=Mode.choices())
    not_before = models.DateTimeField()
    hold_until = models.DateTimeField()
    expires_at = models.DateTimeField()
    created_at = models.DateTimeField(db_index=True)
    state = models.CharField(max_length=24, choices=AdviceState.choices(), db_index=True)
    state_reason = models.CharField(
        max_length=32, choices=ReconciliationReason.choices(), default=ReconciliationReason.UNSPECIFIED.value
    )
    state_at = models.DateTimeField()

    cluster_at = "attempt__job__cluster"
    objects = InSight()

    class Meta:
        ordering = ("-id",)
        verbose_name_plural = "advice"
        permissions = (("approve_advice", "Can approve or reject advice"),)
        constraints = (models.UniqueConstraint(fields=("attempt", "generation"), name="advice_generation_once"),)

    def __str__(self) -> str:
        return f"{self.operation} {self.attempt_id} g{self.generation}"


class LeftAlone(models.Model):
    """A decision that led to no advice, with what it was made from, so that it can be made again.

    A guard that postpones is kept once for each verdict and rule (`key`), as in the trail.
    """

    key = models.CharField(max_length=128, unique=True, null=True, editable=False)
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="left_alone")
    policy = models.ForeignKey(PolicyVersion, on_delete=models.RESTRICT)
    judged_by = models.JSONField(default=dict)
    operation = models.CharField(max_length=16, blank=True, choices=[("", "Nothing"), *Operation.choices()])
    excluded_nodes = models.JSONField(default=list)
    rule = models.CharField(max_length=64)
    because = MaskedCharField(max_length=1000)
    facts = models.JSONField(default=dict)
    decided_at = models.DateTimeField(db_index=True)

    cluster_at = "attempt__job__cluster"
    objects = InSight()

    class Meta:
        ordering = ("-id",)
        verbose_name_plural = "left alone"

    def __str__(self) -> str:
        return f"{self.rule} {self.attempt_id}"


class Sequence(models.Model):
    """One recovery, from detection to progress. Its outcomes are computed from workloads rows."""

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    advice = models.OneToOneField(Advice, on_delete=models.CASCADE, related_name="sequence")
    trace_id = models.CharField(max_length=32)
    happened_at = models.DateTimeField(help_text="When the failure happened.")
    detected_at = models.DateTimeField()
    advised_at = models.DateTimeField()
    commanded_at = models.DateTimeField(null=True, blank=True, help_text="Last command acknowledged.")
    restarted_at = models.DateTimeField(null=True, blank=True)
    resumed_at = models.DateTimeField(null=True, blank=True)
    completed_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True, db_index=True)

    cluster_at = "advice__attempt__job__cluster"
    objects = InSight()

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return str(self.uuid)


class Milestone(models.Model):
    """One completed scheduler action of a sequence."""

    sequence = models.ForeignKey(Sequence, on_delete=models.CASCADE, related_name="milestones")
    idempotency_key = models.CharField(max_length=128, unique=True)
    operation = models.CharField(max_length=16, choices=Operation.choices())
    action = models.CharField(max_length=32, choices=SchedulerAction.choices())
    done_at = models.DateTimeField()
    received_at = models.DateTimeField()

    cluster_at = "sequence__advice__attempt__job__cluster"
    objects = InSight()

    class Meta:
        ordering = ("sequence", "done_at", "id")

    def __str__(self) -> str:
        return self.action


class Exclusion(models.Model):
    """A node that new attempts should not use, with its reason and its end.

    One row for each verdict that names the node, or for a person's word: repeated evidence is another row, with a
    new end and its full weight. The node may be used again when none holds any more.
    """

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="exclusions")
    node = models.CharField(max_length=255)
    reason = MaskedCharField(max_length=1000)
    owner = models.CharField(max_length=128)
    verdict_id = models.UUIDField(null=True, blank=True)
    confidence = models.FloatField(default=PERSON, help_text="How sure the verdict is of this node; a person: 1.")
    user = models.CharField(max_length=64, blank=True, default="", help_text="Whose job failed.")
    by_log_alone = models.BooleanField(default=False, help_text="Nothing but the job's own log says so.")
    half_life_seconds = models.PositiveIntegerField(default=HALF_LIFE_SECONDS)
    since = models.DateTimeField()
    until = models.DateTimeField(db_index=True)
    lifted_at = models.DateTimeField(null=True, blank=True)
    lifted_by = models.CharField(max_length=128, blank=True, default="")

    cluster_at = "cluster"
    objects = InSight()

    class Meta:
        ordering = ("cluster", "node", "-since")

    def __str__(self) -> str:
        return f"{self.node} until {self.until:%Y-%m-%d %H:%M}"

    def weight_at(self, now: datetime) -> float:
        """What it weighs at `now`: a verdict's is halved each half-life of the policy, a person's stays."""
        if self.verdict_id is None:
            return PERSON
        return weight(self.confidence, self.since, now, self.half_life_seconds)


class Pause(models.Model):
    """Nothing is done on a job, user, partition or cluster until it ends."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="pauses")
    scope = models.CharField(
        max_length=16,
        choices=[
            ("cluster", gettext_noop("Cluster")),
            ("partition", gettext_noop("Partition")),
            ("user", gettext_noop("User")),
            ("job", gettext_noop("Job number")),
        ],
    )
    value = models.CharField(max_length=128, blank=True, default="")
    reason = MaskedCharField(max_length=1000)
    owner = models.CharField(max_length=128)
    since = models.DateTimeField()
    until = models.DateTimeField(db_index=True)

    cluster_at = "cluster"
    objects = InSight()

    class Meta:
        ordering = ("-since",)

    def __str__(self) -> str:
        return f"pause of {self.scope} {self.value} until {self.until:%Y-%m-%d %H:%M}"


class ControllerLease(models.Model):
    """Which controller may act on a cluster, until when, with which fencing number (decisions 22)."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="lease")
    holder = models.CharField(max_length=128)
    fence = models.PositiveBigIntegerField(default=1)
    until = models.DateTimeField()

    cluster_at = "cluster"
    objects = InSight()

    def __str__(self) -> str:
        return f"{self.holder} until {self.until:%H:%M:%S}"


class ApiToken(models.Model):
    """A bearer token: only its hash is stored."""

    name = models.CharField(max_length=64, unique=True)
    digest = models.CharField(max_length=64, unique=True, editable=False, help_text="SHA-256 of the token.")
    role = models.CharField(max_length=16, choices=TokenRole.choices())
    clusters = models.ManyToManyField(Cluster, related_name="tokens", blank=True)
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=128, blank=True, default="")
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    cluster_at = "clusters"
    objects = InSightOfAll()

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return f"{self.name} ({self.role})"


class JobReport(models.Model):
    """What a client said of an attempt that no listing tells (`POST /v1/jobs`)."""

    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, related_name="report")
    gpu_count_per_node = models.PositiveIntegerField(default=0)
    node_constraints = MaskedJSONField(default=dict)
    additional_properties = MaskedJSONField(default=dict)
    reported_by = models.CharField(max_length=128)
    reported_at = models.DateTimeField()

    cluster_at = "attempt__job__cluster"
    objects = InSight()

    def __str__(self) -> str:
        return f"report on {self.attempt_id}"

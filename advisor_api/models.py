"""What was decided, by which policy, and how far did it come?"""

import uuid

from django.db import models

from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.operation import Operation
from advisor_api.policy.reconciliation_reason import ReconciliationReason
from advisor_api.policy.scheduler_action import SchedulerAction
from advisor_api.token_role import TokenRole
from advisor_api.validators import policy_values
from detectors.models import Verdict
from workloads.mode import Mode
from workloads.models import Attempt, Cluster


class PolicyVersion(models.Model):
    """Limits and choices of one cluster, or of all clusters. Insert-only: the newest one is the active one."""

    cluster = models.ForeignKey(
        Cluster,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="policies",
        help_text="Empty: all.",
    )
    values = models.JSONField(default=dict, blank=True, validators=[policy_values])
    note = models.CharField(max_length=500, blank=True, default="")
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=128, blank=True, default="")

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"policy {self.pk} of {self.cluster or 'all clusters'}"


class Advice(models.Model):
    """The durable decision on one attempt. Insert-only per generation: only its state moves (decisions 19)."""

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="advice")
    generation = models.PositiveIntegerField()
    verdict = models.ForeignKey(Verdict, null=True, blank=True, on_delete=models.RESTRICT, related_name="advice")
    policy = models.ForeignKey(PolicyVersion, null=True, blank=True, on_delete=models.RESTRICT)
    operation = models.CharField(max_length=16, choices=Operation.choices())
    excluded_nodes = models.JSONField(default=list)
    rule = models.CharField(max_length=64)
    because = models.CharField(max_length=1000)
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

    class Meta:
        ordering = ("-id",)
        verbose_name_plural = "advice"
        permissions = (("approve_advice", "Can approve or reject advice"),)
        constraints = (models.UniqueConstraint(fields=("attempt", "generation"), name="advice_generation_once"),)

    def __str__(self) -> str:
        return f"{self.operation} {self.attempt_id} g{self.generation}"


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

    class Meta:
        ordering = ("sequence", "done_at", "id")

    def __str__(self) -> str:
        return self.action


class Exclusion(models.Model):
    """A node that new attempts should not use, with its reason and its end."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="exclusions")
    node = models.CharField(max_length=255)
    reason = models.CharField(max_length=1000)
    owner = models.CharField(max_length=128)
    verdict_id = models.UUIDField(null=True, blank=True)
    since = models.DateTimeField()
    until = models.DateTimeField(db_index=True)
    lifted_at = models.DateTimeField(null=True, blank=True)
    lifted_by = models.CharField(max_length=128, blank=True, default="")

    class Meta:
        ordering = ("cluster", "node", "-since")

    def __str__(self) -> str:
        return f"{self.node} until {self.until:%Y-%m-%d %H:%M}"


class Pause(models.Model):
    """Nothing is done on a job, user, partition or cluster until it ends."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="pauses")
    scope = models.CharField(
        max_length=16,
        choices=[("cluster", "Cluster"), ("partition", "Partition"), ("user", "User"), ("job", "Job number")],
    )
    value = models.CharField(max_length=128, blank=True, default="")
    reason = models.CharField(max_length=1000)
    owner = models.CharField(max_length=128)
    since = models.DateTimeField()
    until = models.DateTimeField(db_index=True)

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

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return f"{self.name} ({self.role})"


class JobReport(models.Model):
    """What a client said of an attempt that no listing tells (`POST /v1/jobs`)."""

    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, related_name="report")
    gpu_count_per_node = models.PositiveIntegerField(default=0)
    node_constraints = models.JSONField(default=dict)
    additional_properties = models.JSONField(default=dict)
    reported_by = models.CharField(max_length=128)
    reported_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"report on {self.attempt_id}"

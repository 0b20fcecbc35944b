"""What did the detectors know, find and conclude?"""

import uuid

from django.db import models
from django.utils.translation import gettext_noop

import detectors.choice_models
import detectors.provider_models
import detectors.told_models  # noqa: F401  # their tables are this room's
from audit.in_sight import InSight
from audit.masked_fields import MaskedCharField
from detectors.attribution.action import VerdictAction
from detectors.attribution.evidence_status import EvidenceStatus
from detectors.catalogue import site
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role
from detectors.fate import Fate
from workloads.models import Attempt, Cluster


class Feed(models.Model):
    """The cursor of one stream of records. Moved only by compare-and-swap on `revision` (decisions 1)."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="feeds")
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="feeds", null=True, blank=True)
    source = models.CharField(max_length=32)
    stream = models.CharField(max_length=4096)
    stream_key = models.CharField(max_length=64, help_text="SHA-256 of the stream: short enough for an index.")
    position = models.JSONField(default=dict)
    revision = models.PositiveBigIntegerField(default=0)
    moved_at = models.DateTimeField(null=True, blank=True)

    cluster_at = "cluster"
    objects = InSight()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("cluster", "attempt", "source", "stream_key"), name="feed_identity"),
        )
        indexes = (models.Index(fields=("stream_key",), name="feed_by_stream"),)

    def __str__(self) -> str:
        return f"{self.source}:{self.stream}"


class Watch(models.Model):
    """A detector's memory of one attempt, as JSON."""

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="watches")
    detector = models.CharField(max_length=32)
    catalogue = models.CharField(max_length=64, help_text="Hash of the catalogue that the state was made with.")
    state = models.JSONField(default=dict)

    cluster_at = "attempt__job__cluster"
    objects = InSight()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("attempt", "detector"), name="watch_identity"),)

    def __str__(self) -> str:
        return self.detector


class Observation(models.Model):
    """A fact that attribution needs to be able to compute a verdict again, e.g. which rank ran on which host."""

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="observations")
    topic = models.CharField(max_length=32)
    key = models.CharField(max_length=128)
    value = models.JSONField(default=dict)
    at = models.DateTimeField()

    cluster_at = "attempt__job__cluster"
    objects = InSight()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("attempt", "topic", "key"), name="observation_identity"),)

    def __str__(self) -> str:
        return f"{self.topic} {self.key}"


class Excerpt(models.Model):
    """Log text kept because a requeue truncates the file: around evidence, and the end of an attempt."""

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="excerpts")
    stream = models.CharField(max_length=4096)
    offset = models.BigIntegerField()
    text = models.TextField()
    why = models.CharField(
        max_length=16,
        choices=[("evidence", gettext_noop("Around evidence")), ("end", gettext_noop("End of the attempt"))],
    )
    kept_at = models.DateTimeField()

    cluster_at = "attempt__job__cluster"
    objects = InSight()

    class Meta:
        ordering = ("attempt", "stream", "offset")

    def __str__(self) -> str:
        return f"{self.stream}@{self.offset}"


class HealthEvent(models.Model):
    """What somebody outside says about a node: broken, or healthy again. `key`: the same one when told twice.

    `node` is a name and no row: what is told of a node that the scheduler does not list is kept, and blames nobody.
    A healthy event stays too: one that broke earlier and is told later was cleared by it.
    """

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="health_events")
    node = models.CharField(max_length=255)
    check_name = models.CharField(max_length=128)
    component = models.CharField(max_length=64, blank=True, default="")
    entity = models.CharField(
        max_length=255, blank=True, default="", help_text="What of the node, e.g. GPU 3; empty: all of it."
    )
    fatal = models.BooleanField(default=False)
    healthy = models.BooleanField(default=False)
    codes = models.JSONField(default=list, help_text="Error codes as told, e.g. 79.")
    message = MaskedCharField(max_length=1000, blank=True, default="")
    advised = models.CharField(max_length=32, blank=True, default="", help_text="What its sender recommends.")
    source = models.CharField(max_length=32, help_text="Its form: nvsentinel, alertmanager or prometheus.")
    agent = models.CharField(max_length=128, blank=True, default="", help_text="Who found it.")
    key = models.CharField(max_length=64, help_text="SHA-256 of what makes two the same.")
    happened_at = models.DateTimeField()
    received_at = models.DateTimeField()
    received_from = models.CharField(max_length=128, help_text="The token's name.")
    cleared_at = models.DateTimeField(null=True, blank=True, help_text="When its node was healthy again.")

    cluster_at = "cluster"
    objects = InSight()

    class Meta:
        ordering = ("cluster", "-happened_at", "-id")
        constraints = (models.UniqueConstraint(fields=("cluster", "key"), name="health_event_once"),)
        indexes = (
            models.Index(fields=("cluster", "happened_at"), name="health_by_time"),
            models.Index(fields=("cluster", "node", "happened_at"), name="health_by_node"),
        )

    def __str__(self) -> str:
        return f"{self.node}: {self.check_name}"


class SiteSignature(models.Model):
    """One version of a signature that the site has added itself. Never changed: a change is the next version.

    The newest version of a name holds. Its cluster is that of the first one: when a cluster goes, no older version
    may come to hold for others.
    """

    name = models.CharField("id", max_length=64)
    version = models.PositiveIntegerField()
    cluster = models.ForeignKey(
        Cluster, on_delete=models.CASCADE, related_name="signatures", null=True, blank=True, help_text="Empty: all."
    )
    kind = models.CharField(max_length=16, choices=[(kind, AnomalyKind(kind).label) for kind in site.KINDS])
    layer = models.CharField(max_length=32, choices=Layer.choices())
    role = models.CharField(max_length=16, choices=[(role.value, role.label) for role in site.ROLES])
    action = models.CharField(max_length=24)
    confidence = models.FloatField(default=0.7)
    says = MaskedCharField(max_length=300)
    pattern = models.TextField()
    unless = models.TextField(blank=True, default="")
    names = models.JSONField(default=list)
    example = models.TextField()
    must_not = models.JSONField(default=list)
    outranks = models.BooleanField(default=False)
    enabled = models.BooleanField(default=True)
    note = MaskedCharField(max_length=500, help_text="Why it was added, changed or disabled.")
    created_at = models.DateTimeField("changed at")
    created_by = models.CharField("by", max_length=150)

    cluster_at = "cluster"
    objects = InSight()

    class Meta:
        ordering = ("name", "-version")
        constraints = (models.UniqueConstraint(fields=("name", "version"), name="site_signature_version"),)

    def __str__(self) -> str:
        return f"{self.name} (version {self.version})"


class Anomaly(models.Model):
    """One detected symptom on one attempt. `key` makes it the same one when it is found twice."""

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="anomalies")
    key = models.CharField(max_length=128)
    kind = models.CharField(max_length=16, choices=AnomalyKind.choices())
    signature = models.CharField(max_length=128, blank=True, default="")
    layer = models.CharField(max_length=32, choices=Layer.choices(), default=Layer.UNKNOWN.value)
    role = models.CharField(max_length=16, choices=Role.choices(), default=Role.ROOT.value)
    sentence = MaskedCharField(max_length=1000)
    fingerprint = models.CharField(max_length=64, blank=True, default="", db_index=True)
    step = models.BigIntegerField(null=True, blank=True)
    nodes = models.JSONField(default=list)
    ranks = models.JSONField(default=list)
    evidence = models.JSONField(default=list, help_text="[{stream, offset, line, at, host, rank}]")
    confidence = models.FloatField(default=0.0)
    count = models.PositiveIntegerField(default=1)
    happened_at = models.DateTimeField(help_text="When it happened, as well as the basis can tell.")
    basis = models.CharField(
        max_length=8, help_text="line, file, state, step or event: what happened_at was read from."
    )
    detected_at = models.DateTimeField()
    refuted_at = models.DateTimeField(
        null=True, blank=True, help_text="When later lines showed that the attempt moved again."
    )

    cluster_at = "attempt__job__cluster"
    objects = InSight()

    class Meta:
        ordering = ("attempt", "happened_at", "id")
        constraints = (models.UniqueConstraint(fields=("attempt", "key"), name="anomaly_once"),)
        verbose_name_plural = "anomalies"

    def __str__(self) -> str:
        return self.sentence


class Incident(models.Model):
    """Failures that belong together: the same cause on several attempts, jobs, users or nodes (section 4.19).

    Its attempts are those whose newest verdict points here; how many, `detectors.incident_counts` keeps here.
    `open_key` is what joins: unique while it is open, and nothing once it has ended.
    """

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="incidents")
    open_key = models.CharField(max_length=128, null=True, blank=True)
    fingerprint = models.CharField(max_length=64, db_index=True)
    layer = models.CharField(max_length=32, choices=Layer.choices())
    sentence = MaskedCharField(max_length=300)
    shared = models.BooleanField(default=False, help_text="One cause for several hosts or jobs: no node is blamed.")
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    merged_into = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="absorbed", help_text="By a person."
    )
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    acknowledged_by = models.CharField(max_length=150, blank=True, default="")
    version = models.PositiveIntegerField(default=1, help_text="Rises with everything that a person does to it.")
    attempt_count = models.PositiveIntegerField(default=0)
    job_count = models.PositiveIntegerField(default=0)
    user_count = models.PositiveIntegerField(default=0, help_text="By name.")

    cluster_at = "cluster"
    objects = InSight()

    class Meta:
        ordering = ("-last_seen_at", "-id")
        constraints = (models.UniqueConstraint(fields=("cluster", "open_key"), name="incident_open_once"),)
        indexes = (
            models.Index(fields=("cluster", "last_seen_at"), name="incident_by_time"),
            models.Index(fields=("ended_at", "last_seen_at"), name="incident_by_end"),
            models.Index(fields=("last_seen_at",), name="incident_by_last"),
        )

    def __str__(self) -> str:
        return self.sentence


class IncidentNode(models.Model):
    """A node that a verdict of an incident names, as a culprit, a suspect or, of a shared cause, a victim."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="nodes")
    node = models.CharField(max_length=255)

    cluster_at = "incident__cluster"
    objects = InSight()

    class Meta:
        ordering = ("incident", "node")
        constraints = (models.UniqueConstraint(fields=("incident", "node"), name="incident_node_once"),)
        indexes = (models.Index(fields=("node",), name="incident_by_node"),)

    def __str__(self) -> str:
        return self.node


class Stay(models.Model):
    """An attempt on one of its nodes, when it was over: how long, and what became of it there."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="stays")
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="stays")
    node = models.CharField(max_length=255)
    ended_at = models.DateTimeField()
    seconds = models.FloatField()
    fate = models.CharField(max_length=16, choices=Fate.choices(), default=Fate.UNHARMED.value)

    cluster_at = "cluster"
    objects = InSight()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("attempt", "node"), name="stay_once"),)
        indexes = (
            models.Index(fields=("cluster", "node", "ended_at"), name="stay_by_node"),
            models.Index(fields=("cluster", "fate", "ended_at"), name="stay_by_fate"),
            models.Index(fields=("cluster", "ended_at"), name="stay_by_time"),
        )

    def __str__(self) -> str:
        return self.node


class Verdict(models.Model):
    """The attribution of one attempt's failure. Never changed; a later one supersedes it."""

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="verdicts")
    supersedes = models.ForeignKey("self", null=True, blank=True, on_delete=models.RESTRICT, related_name="newer")
    speed = models.CharField(max_length=8, default="fast", choices=[("fast", "Fast"), ("slow", "Slow")])
    kind = models.CharField(max_length=16, choices=AnomalyKind.choices())
    layer = models.CharField(max_length=32, choices=Layer.choices())
    signature = models.CharField(max_length=128, blank=True, default="")
    fingerprint = models.CharField(max_length=64, blank=True, default="", db_index=True)
    sentence = MaskedCharField(max_length=1000)
    evidence_status = models.CharField(max_length=16, choices=EvidenceStatus.choices())
    confidence = models.FloatField()
    action = models.CharField(max_length=16, choices=VerdictAction.choices())
    implicated = models.JSONField(default=list, help_text="[{host, rank, role, confidence, excludable, evidence}]")
    body = models.JSONField(default=dict, help_text="The whole verdict (schema 1.0).")
    shared = models.BooleanField(default=False, help_text="One cause for several hosts or jobs: no node is blamed.")
    incident = models.ForeignKey(
        Incident,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="verdicts",
        help_text="Where it belongs.",
    )
    input_hash = models.CharField(max_length=64)
    happened_at = models.DateTimeField()
    judged_at = models.DateTimeField()
    decide_due_at = models.DateTimeField(null=True, blank=True, db_index=True)

    cluster_at = "attempt__job__cluster"
    objects = InSight()

    class Meta:
        ordering = ("attempt", "id")
        constraints = (models.UniqueConstraint(fields=("attempt", "input_hash"), name="verdict_once_per_input"),)
        indexes = (
            models.Index(fields=("happened_at",), name="verdict_by_time"),
            models.Index(fields=("signature",), name="verdict_by_signature"),
            models.Index(fields=("incident", "happened_at"), name="verdict_by_incident"),
        )

    def __str__(self) -> str:
        return self.sentence
